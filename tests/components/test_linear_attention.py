from __future__ import annotations

import math

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

from ablate.base.errors import Invalid
from ablate.components.linear_attention import CHUNK

SHAPES = [{"num_heads": 1}, {"num_heads": 2}, {"num_heads": 4, "d_k": 3, "d_v": 5, "bias": "on"}]


def phi(value):
    return value + 1 if value > 0 else math.exp(value)


def by_formula(mixer, x, real, causal):
    """One pair of positions at a time."""
    q, k, v = (m(x).unflatten(2, (mixer.num_heads, -1)) for m in (mixer.query, mixer.key, mixer.value))
    q, k = q.detach().clone().apply_(phi), k.detach().clone().apply_(phi)
    mixed = torch.zeros_like(v)
    for b in range(x.shape[0]):
        for h in range(mixer.num_heads):
            for i in range(x.shape[1]):
                seen = [j for j in range(x.shape[1]) if real[b, j] and (j <= i or not causal)]
                weights = [(q[b, i, h] @ k[b, j, h]).item() for j in seen]
                for j, weight in zip(seen, weights, strict=True):
                    mixed[b, i, h] += weight / sum(weights) * v[b, j, h]
    return mixer.output(mixed.flatten(2))


@pytest.mark.parametrize("settings", SHAPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_agrees_with_its_formula(settings, causal, padded):
    mixer, x = built("linear_attention", causal, **settings), random(B, T, D)
    real = REAL if padded else torch.ones_like(REAL)
    y = mixer(x, NO_POSITION, MASK if padded else None)
    torch.testing.assert_close(y, by_formula(mixer, x, real, causal))


@pytest.mark.parametrize("length", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_chunks_of_a_causal_sequence_make_no_difference(length):
    mixer, x = built("linear_attention", causal=True, num_heads=2), random(2, length, D)
    q, k, v = mixer._project(x)
    sums = (q @ k.transpose(-2, -1)).tril() @ v
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer._merge(sums))
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))


@pytest.mark.parametrize("causal", [False, True])
def test_padding_adds_nothing(causal):
    mixer, x = built("linear_attention", causal, num_heads=2), random(B, T, D)
    y = mixer(x, NO_POSITION, MASK)
    for example in range(B):
        alone = mixer(x[example : example + 1, REAL[example]], NO_POSITION)
        torch.testing.assert_close(y[example : example + 1, REAL[example]], alone)
    check_padding(mixer)


@pytest.mark.parametrize("causal", [False, True])
def test_nothing_to_read_gives_zeros_and_finite_gradients(causal):
    mixer, x = built("linear_attention", causal, num_heads=2), random(B, T, D).requires_grad_()
    y = mixer(x, NO_POSITION, torch.zeros(B, 1, 1, T, dtype=torch.bool))
    assert torch.equal(y, torch.zeros_like(y))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.isfinite(gradient).all()


def test_permutation_equivariant_unless_causal():
    order, x = torch.tensor([3, 0, 6, 1, 5, 2, 4]), random(B, T, D)
    for causal in (False, True):
        mixer = built("linear_attention", causal, num_heads=2)
        same = torch.allclose(mixer(x[:, order], NO_POSITION), mixer(x, NO_POSITION)[:, order])
        assert same is not causal


@pytest.mark.parametrize("settings", SHAPES)
def test_causal_and_step_by_step_the_same(settings):
    mixer, x = built("linear_attention", causal=True, **settings), random(B, T, D)
    check_causal(mixer)
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))


@pytest.mark.parametrize("causal", [False, True])
def test_stacked(causal):
    check_stacked("linear_attention", MASK, causal=causal, num_heads=2)


def test_heads_divide_the_width_unless_both_widths_are_given():
    with pytest.raises(Invalid) as error:
        built("linear_attention", num_heads=4, d_k=2)
    assert str(error.value) == (
        "num_heads: must divide d_model = 6 unless d_k and d_v are both given; given 4; allowed: 1, 2, 3, 6"
    )
