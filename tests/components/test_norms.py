from __future__ import annotations

import pytest
import torch
from torch import nn

from ablate.components.norms import BatchNorm, LayerNorm, NoNorm, RMSNorm
from ablate.components.sizes import Sizes
from ablate.models.initialise import initialise

SIZES = Sizes(d_model=6, max_len=5)


def built(part, **settings):
    norm = part.Config(**settings).build(SIZES)
    initialise(norm, seed=0)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_(generator=generator)
    return norm.double()


@pytest.fixture
def x() -> torch.Tensor:
    return 3 + 2 * torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_layer_norm_against_torch(x):
    norm, reference = built(LayerNorm, eps=1e-3), nn.LayerNorm(6, eps=1e-3).double()
    reference.load_state_dict(norm.state_dict())
    torch.testing.assert_close(norm(x), reference(x))


def test_layer_norm_uses_the_features_of_one_position(x):
    norm = built(LayerNorm)
    expected = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(norm(x), expected * norm.weight + norm.bias)


def test_rms_norm_against_torch_and_its_formula(x):
    norm, reference = built(RMSNorm), nn.RMSNorm(6, eps=1e-6).double()
    reference.load_state_dict(norm.state_dict())
    torch.testing.assert_close(norm(x), reference(x))
    torch.testing.assert_close(norm(x), x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * norm.weight)


def test_batch_norm_against_torch_in_training_and_evaluation(x):
    norm, reference = built(BatchNorm, momentum=0.3), nn.BatchNorm1d(6, momentum=0.3).double()
    reference.load_state_dict(norm.state_dict(), strict=False)
    for _ in range(3):
        torch.testing.assert_close(norm(x), reference(x.transpose(1, 2)).transpose(1, 2))
        x = x * 1.5 + 1
    norm.eval(), reference.eval()
    torch.testing.assert_close(norm(x), reference(x.transpose(1, 2)).transpose(1, 2))


def test_batch_norm_uses_all_positions_of_the_batch_for_each_feature():
    """FOUNDATIONS §1: for B = 32, T = 3, D = 64, 64 statistics over 96 values each."""
    norm = BatchNorm.Config(eps=1e-12, momentum=1.0).build(Sizes(d_model=64, max_len=3))
    initialise(norm, seed=0)
    x = torch.randn(32, 3, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = norm.double()(x).reshape(96, 64)
    torch.testing.assert_close(y.mean(0), torch.zeros(64, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(y.var(0, correction=0), torch.ones(64, dtype=torch.float64))
    assert norm.running_mean.shape == (64,)
    torch.testing.assert_close(norm.running_var, x.reshape(96, 64).var(0))


def test_batch_norm_in_evaluation_sees_each_example_alone(x):
    norm = built(BatchNorm)
    norm(x)
    norm.eval()
    before = norm.running_mean.clone()
    torch.testing.assert_close(norm(x)[:1], norm(x[:1]))
    assert torch.equal(norm.running_mean, before)


def test_batch_norm_keeps_its_statistics_in_the_state_and_starts_standard():
    norm = BatchNorm.Config().build(SIZES)
    initialise(norm, seed=0)
    state = norm.state_dict()
    assert torch.equal(state["running_mean"], torch.zeros(6))
    assert torch.equal(state["running_var"], torch.ones(6))


def test_none_changes_nothing(x):
    assert NoNorm.Config().build(SIZES)(x) is x
