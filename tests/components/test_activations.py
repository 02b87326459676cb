from __future__ import annotations

import pytest
import torch

from ablate.base.registry import CATALOGUE
from ablate.components import activations
from ablate.components.sizes import Sizes


def normal_cdf(x):
    return torch.distributions.Normal(0.0, 1.0).cdf(x)


REFERENCE = {
    "relu": lambda x: torch.where(x > 0, x, 0),
    "gelu": lambda x: x * normal_cdf(x),
    "silu": lambda x: x / (1 + (-x).exp()),
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "tanh": lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()),
    "identity": lambda x: x,
}
GATED = {
    "geglu": lambda value, gate: value * gate * normal_cdf(gate),
    "swiglu": lambda value, gate: value * gate / (1 + (-gate).exp()),
}


def built(name):
    part = CATALOGUE.get("activation", name)
    return part.Config().build(Sizes(d_model=4, max_len=4))


@pytest.mark.parametrize("name", REFERENCE)
def test_activation_follows_its_formula(name):
    activation, x = built(name), torch.linspace(-4, 4, 81, dtype=torch.float64)
    assert not activation.gated
    torch.testing.assert_close(activation(x), REFERENCE[name](x))


@pytest.mark.parametrize("name", GATED)
def test_gated_activation_multiplies_a_value_by_its_gate(name):
    activation = built(name)
    assert activation.gated
    value, gate = torch.randn(2, 3, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(activation(value, gate), GATED[name](value, gate))


def test_every_activation_has_its_reference():
    built_in = {
        n
        for n in CATALOGUE.names("activation")
        if CATALOGUE.get("activation", n).__module__ == activations.__name__
    }
    assert built_in == set(REFERENCE) | set(GATED)
