from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ablate.base.errors import Invalid
from ablate.components.sizes import Sizes
from ablate.components.values import Full, LowRank, SharedKV
from ablate.models.initialise import initialise

SIZES = Sizes(d_model=6, max_len=5, num_heads=2, d_q=3, d_k=3, d_v=4)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))


def test_full_is_one_projection(x):
    value = Full.Config().build(SIZES)
    initialise(value, seed=0)
    torch.testing.assert_close(value(x), torch.einsum("btd,nd->btn", x, value.projection.weight))


def test_low_rank_is_the_product_of_two_maps(x):
    value = LowRank.Config(rank=2).build(SIZES)
    initialise(value, seed=0)
    product = value.up.weight @ value.down.weight
    assert product.shape == (8, 6)
    assert torch.linalg.matrix_rank(product) == 2
    torch.testing.assert_close(value(x), x @ product.T)


def test_rank_may_equal_the_width_and_not_exceed_it():
    LowRank.Config(rank=6).build(SIZES)
    with pytest.raises(Invalid) as error:
        LowRank.Config(rank=7).build(SIZES)
    assert str(error.value) == "rank: must not exceed d_model = 6; given 7; allowed: 1 to 6"


def test_low_rank_cannot_read_shares():
    with pytest.raises(Invalid, match="split: before"):
        LowRank.Config(rank=2).build(replace(SIZES, splits=2))


def test_shared_kv_hands_over_the_keys_and_owns_nothing(x):
    value = SharedKV.Config().build(SIZES)
    assert SharedKV.reads_keys
    assert not Full.reads_keys
    assert not LowRank.reads_keys
    assert torch.equal(value(x), x)
    assert not list(value.parameters())


def test_low_rank_values_begin_at_the_scale_of_full_ones():
    sizes = Sizes(d_model=256, max_len=4, num_heads=4, d_k=64, d_v=64)
    x_btd = torch.randn(64, 4, 256, generator=torch.Generator().manual_seed(0))
    spreads = []
    for config in (Full.Config(), LowRank.Config(rank=32)):
        value = config.build(sizes)
        initialise(value, seed=0)
        spreads.append(value(x_btd).std().item())
    assert spreads[1] == pytest.approx(spreads[0], rel=0.1)
