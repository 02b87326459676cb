from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from ablate.components import activations
from ablate.components.sizes import Sizes
from ablate.registry import CATALOGUE

REFERENCE = {
    "relu": F.relu,
    "gelu": lambda x: x * torch.distributions.Normal(0.0, 1.0).cdf(x),
    "silu": lambda x: x / (1 + (-x).exp()),
    "tanh": lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()),
    "identity": lambda x: x,
}


@pytest.mark.parametrize("name", REFERENCE)
def test_activation_follows_its_formula(name):
    part = CATALOGUE.get("activation", name)
    assert part.__module__ == activations.__name__
    x = torch.linspace(-4, 4, 81, dtype=torch.float64)
    torch.testing.assert_close(part.Config().build(Sizes(d_model=4, max_len=4))(x), REFERENCE[name](x))


def test_every_activation_has_its_reference():
    built_in = {
        n
        for n in CATALOGUE.names("activation")
        if CATALOGUE.get("activation", n).__module__ == activations.__name__
    }
    assert built_in == set(REFERENCE)
