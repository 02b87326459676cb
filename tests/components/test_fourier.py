from __future__ import annotations

import cmath
import math

import pytest
import torch
from mixer_checks import MASK, NO_POSITION, B, D, T, built, random


@pytest.mark.parametrize(("unitary", "divisor"), [("off", 1), ("on", math.sqrt(T * D))])
def test_agrees_with_its_formula(unitary, divisor):
    x = random(B, T, D)
    y = built("fourier", unitary=unitary)(x, NO_POSITION)
    for t in range(T):
        for d in range(D):
            sums = [
                sum(
                    x[b, i, j].item() * cmath.exp(-2j * math.pi * (t * i / T + d * j / D))
                    for i in range(T)
                    for j in range(D)
                )
                for b in range(B)
            ]
            expected = torch.tensor([value.real / divisor for value in sums], dtype=torch.float64)
            torch.testing.assert_close(y[:, t, d], expected)


def test_it_has_no_parameters_and_any_length():
    mixer = built("fourier")
    assert not list(mixer.parameters())
    assert mixer(random(1, 3 * T, D), NO_POSITION).shape == (1, 3 * T, D)


def test_a_mask_is_refused_with_the_reason():
    with pytest.raises(
        ValueError, match=r"mixer fourier cannot leave out padding: the frequencies depend on .*"
    ):
        built("fourier")(random(B, T, D), NO_POSITION, MASK)
