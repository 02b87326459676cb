import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ablate.base.registry import CATALOGUE
from ablate.components.positions import Learned, NoPosition, SinCos, sinusoids
from ablate.components.sizes import Sizes
from ablate.models.build import initialise

CATALOGUE.load_builtin()


def formula(length: int, width: int) -> Tensor:
    """PE of FOUNDATIONS §1."""
    columns = np.arange(width)
    angles = np.arange(length)[:, None] / 10000 ** (2 * (columns // 2) / width)
    return torch.from_numpy(np.where(columns % 2, np.cos(angles), np.sin(angles)))


def built(part, max_len=8, d_model=6):
    position = part.Config().build(Sizes(d_model=d_model, max_len=max_len))
    initialise(position, seed=0)
    return position


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 40), width=st.integers(1, 17))
def test_sinusoids_follow_the_formula(length, width):
    torch.testing.assert_close(sinusoids(length, width), formula(length, width), rtol=0, atol=1e-12)


def test_far_positions_keep_their_fraction_in_single_precision():
    table = SinCos.Config().build(Sizes(d_model=4, max_len=100_001))
    initialise(table, seed=0)
    assert float(table.encoding[100_000, 0]) == pytest.approx(math.sin(100_000), abs=1e-7)


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("length", [5, 8, 20])
def test_sincos_adds_the_encoding_at_any_length_and_place(length, start):
    x = torch.randn(2, length, 6, generator=torch.Generator().manual_seed(0))
    expected = x + formula(start + length, 6)[start:].float()
    torch.testing.assert_close(built(SinCos).embed(x, start), expected)


def test_learned_adds_its_first_rows_and_ends_at_the_trained_length():
    position = built(Learned)
    x = torch.zeros(2, 5, 6)
    torch.testing.assert_close(position.embed(x), position.weight[:5].expand(2, 5, 6))
    torch.testing.assert_close(position.embed(x, 3), position.weight[3:8].expand(2, 5, 6))
    assert position.embed(torch.zeros(1, 8, 6)).shape == (1, 8, 6)
    for length, start in ((9, 0), (1, 8)):
        with pytest.raises(ValueError, match="max_len = 8; given a sequence of 9"):
            position.embed(torch.zeros(1, length, 6), start)


@pytest.mark.parametrize("part", [NoPosition, SinCos, Learned])
def test_positions_of_the_embedding_leave_attention_alone(part):
    position = built(part)
    assert not position.inside_attention
    q, k = torch.ones(1, 2, 3, 4), torch.ones(1, 2, 5, 4)
    assert position.rotate(q, k) == (q, k)
    assert position.bias(3, 5, q.device) is None
    assert bool(position.state_dict()) == bool(list(position.parameters())) == (part is Learned)
