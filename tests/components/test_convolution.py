from __future__ import annotations

import pytest
import torch
from mixer_checks import (
    MASK,
    NO_POSITION,
    REAL,
    B,
    D,
    T,
    built,
    check_causal,
    check_padding,
    check_stacked,
    random,
    stepped,
)
from torch import nn


def by_formula(mixer, x, kernel_size, centre):
    y = mixer.bias.expand(x.shape).clone()
    for t in range(x.shape[1]):
        for k in range(kernel_size):
            if 0 <= t + k - centre < x.shape[1]:
                y[:, t] += x[:, t + k - centre] @ mixer.weight[:, :, k].T
    return y


@pytest.mark.parametrize("kernel_size", [1, 2, 3, 4, 2 * T + 1])
@pytest.mark.parametrize("causal", [False, True])
def test_agrees_with_its_formula(kernel_size, causal):
    mixer, x = built("conv", causal, kernel_size=kernel_size), random(B, T, D)
    centre = kernel_size - 1 if causal else (kernel_size - 1) // 2
    torch.testing.assert_close(mixer(x, NO_POSITION), by_formula(mixer, x, kernel_size, centre))


@pytest.mark.parametrize("kernel_size", [3, 5])
def test_agrees_with_torch(kernel_size):
    mixer, x = built("conv", kernel_size=kernel_size), random(B, T, D)
    reference = nn.Conv1d(D, D, kernel_size, padding="same").double()
    reference.load_state_dict(mixer.state_dict())
    torch.testing.assert_close(mixer(x, NO_POSITION), reference(x.transpose(1, 2)).transpose(1, 2))


@pytest.mark.parametrize("causal", [False, True])
def test_padding_is_zeros(causal):
    mixer, x = built("conv", causal), random(B, T, D)
    cleared = x * REAL[..., None]
    torch.testing.assert_close(mixer(x, NO_POSITION, MASK)[REAL], mixer(cleared, NO_POSITION)[REAL])
    torch.testing.assert_close(mixer(x, NO_POSITION, MASK)[0, :4], mixer(x[:1, :4], NO_POSITION)[0])
    torch.testing.assert_close(mixer(x, NO_POSITION, MASK)[1, 2:], mixer(x[1:2, 2:], NO_POSITION)[0])
    check_padding(mixer)


@pytest.mark.parametrize("kernel_size", [1, 3, T + 2])
def test_causal_and_step_by_step_the_same(kernel_size):
    mixer, x = built("conv", causal=True, kernel_size=kernel_size), random(B, T, D)
    check_causal(mixer)
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))


@pytest.mark.parametrize("causal", [False, True])
def test_stacked(causal):
    check_stacked("conv", MASK, causal=causal)


def test_without_bias_zeros_stay_zeros():
    mixer = built("conv", bias="off")
    assert mixer.bias is None
    assert torch.equal(mixer(torch.zeros(1, T, D).double(), NO_POSITION), torch.zeros(1, T, D).double())
