import pytest
import torch
from torch import nn

from ablate.components.projection import SplitLinear, projection
from ablate.components.sizes import Sizes
from ablate.models.build import initialise


@pytest.mark.parametrize("bias", [False, True])
def test_split_linear_is_a_block_diagonal_map(bias):
    split = SplitLinear(6, 9, 3, bias)
    initialise(split, seed=0)
    if bias:
        with torch.no_grad():
            split.bias.copy_(torch.arange(9))
    x = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    matrix = torch.block_diag(*split.weight)
    assert matrix.shape == (6, 9)
    torch.testing.assert_close(split(x), x @ matrix + (split.bias if bias else 0))


def test_split_linear_begins_as_linear_maps_of_a_share():
    split = SplitLinear(64, 64, 4, bias=True)
    initialise(split, seed=0)
    bound = 16**-0.5
    assert 0.9 * bound < split.weight.abs().max() <= bound
    assert (split.bias == 0).all()


@pytest.mark.parametrize("bias", [False, True])
def test_projection_of_all_features_and_of_shares(bias):
    sizes = Sizes(d_model=6, max_len=1, bias=bias)
    whole, shares = projection(sizes, 9, 1), projection(sizes, 9, 3)
    assert isinstance(whole, nn.Linear)
    assert whole.weight.shape == (9, 6)
    assert isinstance(shares, SplitLinear)
    assert shares.weight.shape == (3, 2, 3)
    assert (whole.bias is None) == (shares.bias is None) == (not bias)
