from __future__ import annotations

import pytest
import torch

from ablate.components import activations  # noqa: F401  registers the activations
from ablate.components.feedforward import MLP
from ablate.components.sizes import Sizes
from ablate.models.initialise import initialise

SIZES = Sizes(d_model=6, max_len=5)


@pytest.mark.parametrize("bias", ["on", "off"])
def test_follows_its_formula_at_every_position(bias):
    mlp = MLP.Config(activation="tanh", expansion=2, bias=bias).build(SIZES)
    initialise(mlp, seed=0)
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
    for b in range(2):
        for t in range(3):
            hidden = mlp.up.weight @ x[b, t] + (mlp.up.bias if bias == "on" else 0)
            expected = mlp.down.weight @ hidden.tanh() + (mlp.down.bias if bias == "on" else 0)
            torch.testing.assert_close(mlp(x)[b, t], expected)


def test_hidden_layer_of_gpt3_has_49152_neurons():
    """FOUNDATIONS §2, number 4."""
    with torch.device("meta"):
        mlp = MLP.Config().build(Sizes(d_model=12_288, max_len=1))
    assert mlp.up.weight.shape == (49_152, 12_288)


def test_hidden_dropout_comes_after_the_activation():
    mlp = MLP.Config(bias=False).build(Sizes(d_model=6, max_len=5, dropout={"feedforward_hidden": 0.5}))
    initialise(mlp, seed=0)
    x = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0))
    mlp.hidden_dropout.reseed(5)
    y = mlp(x)
    mlp.hidden_dropout.reseed(5)
    factor = mlp.hidden_dropout(torch.ones(2, 3, 24))
    torch.testing.assert_close(y, ((x @ mlp.up.weight.T).relu() * factor) @ mlp.down.weight.T)
    torch.testing.assert_close(mlp.eval()(x), (x @ mlp.up.weight.T).relu() @ mlp.down.weight.T)


def test_a_worked_neuron_is_an_and_gate():
    """FOUNDATIONS §2, number 7: row M + J with bias −1 keeps 1 only where both features are present."""
    mlp = MLP.Config(activation="relu", expansion=1).build(Sizes(d_model=2, max_len=1))
    with torch.no_grad():
        mlp.up.weight.copy_(torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
        mlp.up.bias.copy_(torch.tensor([-1.0, 0.0]))
        mlp.down.weight.copy_(torch.eye(2))
        mlp.down.bias.zero_()
    inputs = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    assert mlp(inputs)[0, :, 0].tolist() == [0, 0, 0, 1]
