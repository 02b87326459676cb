"""Mixers against their formulas, number by number, and against torch."""

from __future__ import annotations

import cmath
import math

import pytest
import torch
from mixer_checks import EACH_WAY, MASK, NO_POSITION, REAL, B, D, T, built, random, stepped
from torch import nn

from ablate.base.registry import CATALOGUE
from ablate.components.linear_attention import CHUNK
from ablate.components.sizes import Sizes
from ablate.models.initialise import initialise


def gelu(value):
    return value * (1 + math.erf(value / math.sqrt(2))) / 2


def phi(value):
    return value + 1 if value > 0 else math.exp(value)


def sigmoid(a):
    return [1 / (1 + math.exp(-value)) for value in a]


def tanh(a):
    return [math.tanh(value) for value in a]


def plus(a, b):
    return [p + q for p, q in zip(a, b, strict=True)]


def times(a, b):
    return [p * q for p, q in zip(a, b, strict=True)]


def mapped(weight, bias, vector):
    """W x + b, as a list of numbers."""
    return [b + sum(times(row, vector)) for row, b in zip(weight.tolist(), bias.tolist(), strict=True)]


def through(up, down, vector):
    """A perceptron with one hidden layer."""
    return mapped(down.weight, down.bias, [gelu(h) for h in mapped(up.weight, up.bias, vector)])


def over_places(tokens, x_tn, causal):
    """y_t = Σ_s A_ts x_s + b_t."""
    y = torch.empty_like(x_tn)
    for t in range(T):
        y[t] = tokens.bias[t] + sum(tokens.weight[t, s] * x_tn[s] for s in range(t + 1 if causal else T))
    return y


def convolution(mixer, x_td, causal):
    size = mixer.weight.shape[2]
    centre = size - 1 if causal else (size - 1) // 2
    y = torch.zeros_like(x_td) if mixer.bias is None else mixer.bias.expand(x_td.shape).clone()
    for t in range(T):
        for k in range(size):
            if 0 <= t + k - centre < T:
                y[t] += x_td[t + k - centre] @ mixer.weight[:, :, k].T
    return y


def fourier(mixer, x_td, causal):
    y = torch.empty_like(x_td)
    for t in range(T):
        for d in range(D):
            turns = ((t * i / T + d * j / D, x_td[i, j].item()) for i in range(T) for j in range(D))
            y[t, d] = sum(value * cmath.exp(-2j * math.pi * turn) for turn, value in turns).real
    return y


def linear_attention(mixer, x_td, causal):
    """One pair of positions at a time."""
    q, k, v = (
        m(x_td).unflatten(1, (mixer.num_heads, -1)).detach() for m in (mixer.query, mixer.key, mixer.value)
    )
    q, k = q.clone().apply_(phi), k.clone().apply_(phi)
    mixed = torch.zeros_like(v)
    for h in range(mixer.num_heads):
        for i in range(len(x_td)):
            weights = [(q[i, h] @ k[j, h]).item() for j in range(i + 1 if causal else len(x_td))]
            for j, weight in enumerate(weights):
                mixed[i, h] += weight / sum(weights) * v[j, h]
    return mixer.output(mixed.flatten(1))


def mlp(mixer, x_td, causal):
    return torch.tensor(through(mixer.up, mixer.down, x_td.flatten().tolist()), dtype=x_td.dtype).view(T, D)


def mlp_mixer(mixer, x_td, causal):
    features = [through(mixer.up, mixer.down, x_td[:, d].tolist()) for d in range(D)]
    return torch.tensor(features, dtype=x_td.dtype).T


def resmlp(mixer, x_td, causal):
    return over_places(mixer.tokens, x_td, causal)


def gmlp(mixer, x_td, causal):
    hidden = x_td @ mixer.up.weight.T + mixer.up.bias
    u, v = hidden.detach().clone().apply_(gelu).chunk(2, -1)
    norm = nn.LayerNorm(v.shape[-1]).double()
    norm.load_state_dict(mixer.norm.state_dict())
    return (u * over_places(mixer.gate, norm(v), causal)) @ mixer.down.weight.T + mixer.down.bias


def recurrent(mixer, x_td, causal):
    """The formulas of the three papers; without causality, the halves of two directions."""
    outputs = read(mixer.name, mixer.forwards, x_td)
    if not causal:
        outputs = torch.cat([outputs, read(mixer.name, mixer.backwards, x_td.flip(0)).flip(0)], 1)
    return mixer.output(outputs)


def read(name, cell, x_td):
    width = cell.weight_hh.shape[1]
    h = c = [0.0] * width
    outputs = []
    for x in x_td.tolist():
        maps = mapped(cell.weight_ih, cell.bias_ih, x), mapped(cell.weight_hh, cell.bias_hh, h)
        from_x, from_h = ([m[i : i + width] for i in range(0, len(m), width)] for m in maps)
        if name == "rnn":
            h = tanh(plus(from_x[0], from_h[0]))
        elif name == "lstm":
            i, f, g, o = (plus(p, q) for p, q in zip(from_x, from_h, strict=True))
            c = plus(times(sigmoid(f), c), times(sigmoid(i), tanh(g)))
            h = times(sigmoid(o), tanh(c))
        else:
            r, z = (sigmoid(plus(p, q)) for p, q in zip(from_x[:2], from_h[:2], strict=True))
            n = tanh(plus(from_x[2], times(r, from_h[2])))
            h = plus(times([1 - v for v in z], n), times(z, h))
        outputs.append(h)
    return torch.tensor(outputs, dtype=torch.float64)


HEADS = [{"num_heads": 1}, {"num_heads": 2}, {"num_heads": 4, "d_k": 3, "d_v": 5, "bias": "on"}]
CASES = [
    *(("conv", convolution, {"kernel_size": size}) for size in (1, 2, 3, 4, 2 * T + 1)),
    ("conv", convolution, {"bias": "off"}),
    ("fourier", fourier, {"unitary": "off"}),
    *(("linear_attention", linear_attention, settings) for settings in HEADS),
    ("mlp", mlp, {}),
    ("mlp_mixer", mlp_mixer, {}),
    ("resmlp", resmlp, {}),
    ("gmlp", gmlp, {}),
    *((name, recurrent, settings) for name in ("rnn", "lstm", "gru") for settings in ({}, {"hidden": 10})),
]


@pytest.mark.parametrize(
    ("name", "formula", "settings", "causal"),
    [(*case, causal) for case in CASES for causal in (False, True) if (case[0], causal) in EACH_WAY],
)
def test_a_mixer_agrees_with_its_formula(name, formula, settings, causal):
    mixer, x = built(name, causal, **settings), random(2, T, D)
    for found, example in zip(mixer(x, NO_POSITION), x, strict=True):
        torch.testing.assert_close(found, formula(mixer, example, causal))


def test_every_mixer_but_attention_has_its_formula():
    ours = {n for n in CATALOGUE.names("mixer") if CATALOGUE.get("mixer", n).__module__.startswith("ablate.")}
    assert {name for name, _, _ in CASES} == ours - {"attention"}


def test_the_unitary_transform_is_the_other_over_its_norm():
    plain, unitary = (built("fourier", unitary=on)(random(B, T, D), NO_POSITION) for on in ("off", "on"))
    torch.testing.assert_close(unitary, plain / math.sqrt(T * D))
    assert not list(built("fourier").parameters())


@pytest.mark.parametrize("kernel_size", [3, 5])
def test_a_convolution_agrees_with_torch(kernel_size):
    mixer, x = built("conv", kernel_size=kernel_size), random(B, T, D)
    reference = nn.Conv1d(D, D, kernel_size, padding="same").double()
    reference.load_state_dict(mixer.state_dict())
    torch.testing.assert_close(mixer(x, NO_POSITION), reference(x.transpose(1, 2)).transpose(1, 2))


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(("causal", "hidden"), [(True, D), (False, D), (True, 10), (False, 10)])
def test_a_recurrent_mixer_agrees_with_torch(name, causal, hidden):
    mixer, x = built(name, causal, hidden=hidden), random(B, T, D)
    assert isinstance(mixer.output, nn.Identity) == (hidden == D)
    kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[name]
    module = kind(D, hidden if causal else hidden // 2, batch_first=True, bidirectional=not causal).double()
    cells = {"": mixer.forwards, "_reverse": mixer.backwards}
    cells = {suffix: cell.state_dict() for suffix, cell in cells.items() if cell is not None}
    state = {f"{key}_l0{suffix}": t for suffix, cell in cells.items() for key, t in cell.items()}
    module.load_state_dict(state)
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer.output(module(x)[0]))


@pytest.mark.parametrize("length", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_chunks_of_a_causal_sequence_make_no_difference(length):
    mixer, x = built("linear_attention", causal=True, num_heads=2), random(2, length, D)
    q, k, v = mixer._project(x)
    sums = (q @ k.transpose(-2, -1)).tril() @ v
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer._merge(sums))
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))


@pytest.mark.parametrize("causal", [False, True])
def test_nothing_to_read_gives_zeros_and_finite_gradients(causal):
    mixer, x = built("linear_attention", causal, num_heads=2), random(B, T, D).requires_grad_()
    y = mixer(x, NO_POSITION, torch.zeros(B, 1, 1, T, dtype=torch.bool))
    assert torch.equal(y, torch.zeros_like(y))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["conv", "mlp", "mlp_mixer", "resmlp"])
def test_padding_is_zeros(name):
    mixer, x = built(name), random(B, T, D)
    cleared = mixer(x * REAL[..., None], NO_POSITION)
    torch.testing.assert_close(mixer(x, NO_POSITION, MASK)[REAL], cleared[REAL])


@pytest.mark.parametrize("name", ["mlp", "mlp_mixer", "resmlp", "gmlp"])
def test_padding_at_the_end_and_missing_places_are_the_same(name):
    mixer, x = built(name), random(B, T, D)
    y = mixer(x, NO_POSITION, MASK)
    torch.testing.assert_close(y[0, :4], mixer(x[:1, :4], NO_POSITION)[0])
    torch.testing.assert_close(y[3], mixer(x, NO_POSITION)[3])


@pytest.mark.parametrize("name", ["linear_attention", "rnn", "lstm", "gru"])
@pytest.mark.parametrize("causal", [False, True])
def test_real_positions_are_read_as_if_nothing_stood_between_them(name, causal):
    mixer, x = built(name, causal), random(B, T, D)
    y = mixer(x, NO_POSITION, MASK)
    for example in range(B):
        real = REAL[example]
        alone = mixer(x[example : example + 1, real], NO_POSITION)
        torch.testing.assert_close(y[example : example + 1, real], alone)


@pytest.mark.parametrize("name", ["gmlp", "mlp", "mlp_mixer"])
def test_hidden_width(name):
    default = {"gmlp": 4 * D, "mlp": D, "mlp_mixer": D // 2}[name]
    assert built(name).up.out_features == default
    assert built(name, hidden=10).up.out_features == 10


def test_the_gate_begins_open():
    mixer = CATALOGUE.get("mixer", "gmlp").Config().build(Sizes(D, T))
    initialise(mixer, seed=0)
    x = random(B, T, D).float()
    u, v = torch.nn.functional.gelu(mixer.up(x)).chunk(2, -1)
    torch.testing.assert_close(mixer.gate(mixer.norm(v)), torch.ones_like(v), rtol=0, atol=5e-3)
    assert mixer.gate.weight.abs().max() > 0
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer.down(u), rtol=0, atol=5e-3)


def test_only_the_forget_gate_starts_with_a_bias():
    mixer = CATALOGUE.get("mixer", "lstm").Config().build(Sizes(D, T))
    initialise(mixer, seed=0)
    for cell in (mixer.forwards, mixer.backwards):
        assert cell.bias_ih.tolist() == [0.0] * 3 + [1.0] * 3 + [0.0] * 6
        assert cell.bias_hh.tolist() == [0.0] * 12
    assert not torch.equal(mixer.forwards.weight_ih, mixer.backwards.weight_ih)
