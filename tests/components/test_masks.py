import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ablate.components.masks import open_empty_rows, real_positions, with_future_masked, zero_padding

CPU = torch.device("cpu")
ANY = torch.rand(3, 1, 4, 5, generator=torch.Generator().manual_seed(0)) < 0.3


@pytest.mark.parametrize("shape", [(3, 1, 4, 5), (3, 1, 1, 5), (4, 5), (5,), (3, 1, 4, 1), (1,)])
def test_a_position_that_no_query_may_attend_to_is_padding(shape):
    mask = ANY[tuple(slice(size) for size in (1,) * (4 - len(shape)) + shape)].reshape(shape)
    real = real_positions(mask, 5).expand(3, 5)
    assert torch.equal(real, mask.expand(3, 1, 4, 5)[:, 0].any(1))


def test_without_a_mask_nothing_is_padding():
    x = torch.ones(2, 3, 4)
    assert real_positions(None, 3) is None
    assert zero_padding(x, None) is x


@given(t_q=st.integers(1, 6), before=st.integers(0, 4), masked=st.booleans())
def test_the_future_is_masked_and_the_last_query_stands_at_the_last_key(t_q, before, masked):
    t_k = t_q + before
    mask = torch.arange(t_k) % 2 == 0 if masked else None
    combined = with_future_masked(mask, t_q, t_k, CPU)
    past = torch.arange(t_k) <= torch.arange(t_q)[:, None] + before
    assert torch.equal(combined, past if mask is None else past & mask)


def test_rows_without_a_key_are_opened_and_named():
    mask, empty = open_empty_rows(ANY)
    assert torch.equal(empty.squeeze(-1), ~ANY.any(-1))
    assert empty.any()
    assert torch.equal(mask, torch.where(empty, True, ANY))


def test_padding_is_zeroed_whatever_stands_there():
    x = torch.full((2, 3, 4), torch.nan)
    x[0, :2] = 1
    real = torch.tensor([[True, True, False], [False, False, False]])
    zeroed = zero_padding(x, real)
    assert zeroed.sum() == 8
    assert (zeroed[~real] == 0).all()
