import pytest
import torch

from ablate.base.registry import CATALOGUE
from ablate.components import activations
from ablate.components.sizes import Sizes


def normal_cdf(x):
    return torch.distributions.Normal(0.0, 1.0).cdf(x)


FORMULAS = {
    "relu": lambda x: torch.where(x > 0, x, 0),
    "gelu": lambda x: x * normal_cdf(x),
    "silu": lambda x: x / (1 + (-x).exp()),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "tanh": lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()),
    "identity": lambda x: x,
    "geglu": lambda value, gate: value * gate * normal_cdf(gate),
    "swiglu": lambda value, gate: value * gate / (1 + (-gate).exp()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMULAS)
def test_an_activation_follows_its_formula(name):
    activation = CATALOGUE.get("activation", name).Config().build(Sizes(d_model=4, max_len=4))
    assert activation.gated == name.endswith("glu")
    x = torch.linspace(-4, 4, 81, dtype=torch.float64)
    inputs = [x, x.flip(0) + 0.5] if activation.gated else [x]
    torch.testing.assert_close(activation(*inputs), FORMULAS[name](*inputs))


def test_every_activation_has_its_reference():
    parts = {name: CATALOGUE.get("activation", name) for name in CATALOGUE.names("activation")}
    built_in = {name for name, part in parts.items() if part.__module__ == activations.__name__}
    assert built_in == set(FORMULAS)
