from __future__ import annotations

import math

import pytest
import torch
from mixer_checks import (
    MASK,
    NO_POSITION,
    REAL,
    B,
    D,
    T,
    built,
    check_causal,
    check_padding,
    check_stacked,
    random,
    stepped,
)
from torch import nn

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.components.sizes import Sizes
from ablate.models.initialise import initialise

NAMES = ["gmlp", "mlp", "mlp_mixer", "resmlp"]
CAUSAL = ["gmlp", "resmlp"]


def gelu(value):
    return value * (1 + math.erf(value / math.sqrt(2))) / 2


def through(up, down, vector):
    """A perceptron with one hidden layer, number by number."""
    hidden = [
        gelu(b + sum(w * v for w, v in zip(row, vector, strict=True)))
        for row, b in zip(up.weight.tolist(), up.bias.tolist(), strict=True)
    ]
    return [
        b + sum(w * v for w, v in zip(row, hidden, strict=True))
        for row, b in zip(down.weight.tolist(), down.bias.tolist(), strict=True)
    ]


def over_places(tokens, x_tn, causal):
    """y_t = Σ_s A_ts x_s + b_t."""
    y = torch.empty_like(x_tn)
    for t in range(T):
        y[t] = tokens.bias[t] + sum(tokens.weight[t, s] * x_tn[s] for s in range(t + 1 if causal else T))
    return y


def by_formula(name, mixer, x_td, causal):
    if name == "mlp":
        return torch.tensor(through(mixer.up, mixer.down, x_td.flatten().tolist()), dtype=x_td.dtype).view(
            T, D
        )
    if name == "mlp_mixer":
        features = [through(mixer.up, mixer.down, x_td[:, d].tolist()) for d in range(D)]
        return torch.tensor(features, dtype=x_td.dtype).T
    if name == "resmlp":
        return over_places(mixer.tokens, x_td, causal)
    hidden = x_td @ mixer.up.weight.T + mixer.up.bias
    u, v = hidden.detach().clone().apply_(gelu).chunk(2, -1)
    norm = nn.LayerNorm(v.shape[-1]).double()
    norm.load_state_dict(mixer.norm.state_dict())
    return (u * over_places(mixer.gate, norm(v), causal)) @ mixer.down.weight.T + mixer.down.bias


@pytest.mark.parametrize(("name", "causal"), [(n, False) for n in NAMES] + [(n, True) for n in CAUSAL])
def test_agrees_with_its_formula(name, causal):
    mixer, x = built(name, causal), random(B, T, D)
    y = mixer(x, NO_POSITION)
    for example in range(B):
        torch.testing.assert_close(y[example], by_formula(name, mixer, x[example], causal))


@pytest.mark.parametrize("name", ["gmlp", "mlp", "mlp_mixer"])
def test_hidden_width(name):
    default = {"gmlp": 4 * D, "mlp": D, "mlp_mixer": D // 2}[name]
    assert built(name).up.out_features == default
    assert built(name, hidden=10).up.out_features == 10


@pytest.mark.parametrize("name", NAMES)
def test_padding_and_missing_places_are_the_same(name):
    mixer, x = built(name), random(B, T, D)
    y = mixer(x, NO_POSITION, MASK)
    torch.testing.assert_close(y[0, :4], mixer(x[:1, :4], NO_POSITION)[0])
    torch.testing.assert_close(y[3], mixer(x, NO_POSITION)[3])
    check_padding(mixer)


@pytest.mark.parametrize("name", ["mlp", "mlp_mixer", "resmlp"])
def test_padding_is_zeros(name):
    mixer, x = built(name), random(B, T, D)
    cleared = mixer(x * REAL[..., None], NO_POSITION)
    torch.testing.assert_close(mixer(x, NO_POSITION, MASK)[REAL], cleared[REAL])


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_sequence_is_refused(name):
    with pytest.raises(
        ValueError, match=f"mixer {name} ends at max_len = 7: .*given a sequence of 8; of any length: a"
    ):
        built(name)(random(B, T + 1, D), NO_POSITION)


@pytest.mark.parametrize("name", NAMES)
def test_a_place_has_weights_of_its_own(name):
    mixer, x = built(name), random(B, T, D)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    assert not torch.allclose(mixer(x[:, order], NO_POSITION), mixer(x, NO_POSITION)[:, order])


@pytest.mark.parametrize("name", CAUSAL)
def test_causal_and_step_by_step_the_same(name):
    mixer, x = built(name, causal=True), random(B, T, D)
    check_causal(mixer)
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))
    check_padding(mixer)


@pytest.mark.parametrize("name", NAMES)
def test_stacked(name):
    check_stacked(name, MASK, causal=name in CAUSAL)


def test_the_gate_begins_open():
    mixer = CATALOGUE.get("mixer", "gmlp").Config().build(Sizes(D, T))
    initialise(mixer, seed=0)
    x = random(B, T, D).float()
    u, v = torch.nn.functional.gelu(mixer.up(x)).chunk(2, -1)
    torch.testing.assert_close(mixer.gate(mixer.norm(v)), torch.ones_like(v), rtol=0, atol=5e-3)
    assert mixer.gate.weight.abs().max() > 0
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer.down(u), rtol=0, atol=5e-3)


def test_an_odd_width_has_no_half_for_the_gate():
    with pytest.raises(Invalid) as error:
        built("gmlp", hidden=5)
    assert str(error.value) == "hidden: must be even, half for the gate; given 5; allowed: 4, 6"
