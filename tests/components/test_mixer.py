"""Mixers against torch's own modules or their formulas as matrix products; what all promise, and what they refuse."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.linear_attention import CHUNK
from ablate.components.mixer import Mixer
from ablate.components.positions import NoPosition
from ablate.components.sizes import Sizes
from ablate.models.build import initialise

CATALOGUE.load_builtin()
B, T, D = 4, 7, 6
NO_POSITION = NoPosition(PartConfig(), Sizes(D, T))
MIXERS: dict[str, Any] = {name: CATALOGUE.get("mixer", name) for name in CATALOGUE.names("mixer")}
REAL = torch.tensor(
    [[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0, 1], [1, 1, 1, 1, 1, 1, 1]],
    dtype=torch.bool,
)
"""(B, T): padding after, before, between, and none."""
MASK = REAL[:, None, None]


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def built(name: str, causal: bool = False, seed: int = 0, max_len: int = T, **settings: Any) -> Mixer:
    """Returns a mixer in float64 whose every parameter is moved from where it starts, biases included."""
    settings = {"num_heads": 2} | settings if name == "linear_attention" else settings
    config = MIXERS[name].Config.model_validate({"name": name} | settings)
    mixer = config.build(Sizes(D, max_len, causal))
    initialise(mixer, seed)
    mixer.double()
    with torch.no_grad():
        for index, parameter in enumerate(mixer.parameters()):
            parameter += 0.3 * random(*parameter.shape, seed=100 * seed + index)
    return mixer.eval()


def stepped(mixer: Mixer, x: Tensor) -> Tensor:
    """Returns what `step` gives position by position."""
    outputs = []
    state = None
    for t in range(x.shape[1]):
        y, state = mixer.step(x[:, t : t + 1], NO_POSITION, state)
        outputs.append(y)
    return torch.cat(outputs, 1)


def through(mixer, x):
    """Returns the perceptron of x, with the hidden layer of a mixer."""
    return F.linear(F.gelu(F.linear(x, mixer.up.weight, mixer.up.bias)), mixer.down.weight, mixer.down.bias)


def over_places(tokens, x_btn, causal):
    """Returns y_t = Σ_s A_ts x_s + b_t."""
    weight = tokens.weight.tril() if causal else tokens.weight
    return torch.einsum("ts,bsn->btn", weight, x_btn) + tokens.bias[:, None]


def convolution(mixer, x, causal):
    size = mixer.weight.shape[2]
    before = size - 1 if causal else (size - 1) // 2
    padded = F.pad(x.transpose(1, 2), (before, size - 1 - before))
    return F.conv1d(padded, mixer.weight, mixer.bias).transpose(1, 2)


def fourier(mixer, x, causal):
    over_positions = fourier_matrix(T)
    return (over_positions @ x.to(over_positions.dtype) @ fourier_matrix(D)).real


def fourier_matrix(size):
    return torch.tensor(np.exp(-2j * np.pi * np.outer(range(size), range(size)) / size))


def linear_attention(mixer, x, causal):
    q, k, v = (
        projection(x).unflatten(2, (mixer.num_heads, -1)).transpose(1, 2)
        for projection in (mixer.query, mixer.key, mixer.value)
    )
    weights = torch.where(q > 0, q + 1, q.exp()) @ torch.where(k > 0, k + 1, k.exp()).mT
    if causal:
        weights = weights.tril()
    return mixer.output((weights / weights.sum(-1, keepdim=True) @ v).transpose(1, 2).flatten(2))


def mlp(mixer, x, causal):
    return through(mixer, x.flatten(1)).view(-1, T, D)


def mlp_mixer(mixer, x, causal):
    return through(mixer, x.mT).mT


def resmlp(mixer, x, causal):
    return over_places(mixer.tokens, x, causal)


def gmlp(mixer, x, causal):
    u, v = F.gelu(F.linear(x, mixer.up.weight, mixer.up.bias)).chunk(2, -1)
    gate = over_places(mixer.gate, F.layer_norm(v, v.shape[-1:], mixer.norm.weight, mixer.norm.bias), causal)
    return F.linear(u * gate, mixer.down.weight, mixer.down.bias)


def recurrent(mixer, x, causal):
    width = mixer.forwards.weight_hh.shape[1]
    kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[mixer.name]
    module = kind(D, width, batch_first=True, bidirectional=not causal).double()
    cells = {"": mixer.forwards} if causal else {"": mixer.forwards, "_reverse": mixer.backwards}
    state = {}
    for suffix, cell in cells.items():
        state |= {f"{name}_l0{suffix}": tensor for name, tensor in cell.state_dict().items()}
    module.load_state_dict(state)
    assert isinstance(mixer.output, nn.Identity) == (width * len(cells) == D)
    return mixer.output(module(x)[0])


HEADS = [{"num_heads": 1}, {"num_heads": 2}, {"num_heads": 4, "d_k": 3, "d_v": 5, "bias": "on"}]
CASES = [
    *(("conv", convolution, {"kernel_size": size}) for size in (1, 2, 3, 4, 2 * T + 1)),
    ("conv", convolution, {"bias": "off"}),
    ("fourier", fourier, {"unitary": "off"}),
    *(("linear_attention", linear_attention, settings) for settings in HEADS),
    *((f.__name__, f, {}) for f in (mlp, mlp_mixer, resmlp, gmlp)),
    *((name, recurrent, settings) for name in ("rnn", "lstm", "gru") for settings in ({}, {"hidden": 10})),
]


@pytest.mark.parametrize(
    ("name", "formula", "settings", "causal"),
    [(*case, False) for case in CASES] + [(*case, True) for case in CASES if MIXERS[case[0]].causal],
)
def test_a_mixer_agrees_with_its_formula(name, formula, settings, causal):
    mixer = built(name, causal, **settings)
    x = random(B, T, D)
    torch.testing.assert_close(mixer(x, NO_POSITION), formula(mixer, x, causal))


def test_every_mixer_but_attention_has_its_formula():
    built_in = {name for name, mixer in MIXERS.items() if mixer.__module__.startswith("ablate.")}
    assert {name for name, _, _ in CASES} == built_in - {"attention"}


def test_the_unitary_transform_is_the_other_over_its_norm():
    x = random(B, T, D)
    plain = built("fourier", unitary="off")(x, NO_POSITION)
    unitary = built("fourier", unitary="on")(x, NO_POSITION)
    torch.testing.assert_close(unitary, plain / math.sqrt(T * D))
    assert not list(built("fourier").parameters())


@pytest.mark.parametrize("length", [CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_chunks_of_a_causal_sequence_make_no_difference(length):
    mixer = built("linear_attention", causal=True, num_heads=2)
    x = random(2, length, D)
    q, k, v = mixer._project(x)
    sums = (q @ k.transpose(-2, -1)).tril() @ v
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer._merge(sums))
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))


@pytest.mark.parametrize("causal", [False, True])
def test_nothing_to_read_gives_zeros_and_finite_gradients(causal):
    mixer = built("linear_attention", causal, num_heads=2)
    x = random(B, T, D).requires_grad_()
    y = mixer(x, NO_POSITION, torch.zeros(B, 1, 1, T, dtype=torch.bool))
    assert torch.equal(y, torch.zeros_like(y))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("name", ["conv", "mlp", "mlp_mixer", "resmlp"])
def test_padding_is_zeros(name):
    mixer = built(name)
    x = random(B, T, D)
    cleared = mixer(x * REAL[..., None], NO_POSITION)
    torch.testing.assert_close(mixer(x, NO_POSITION, MASK)[REAL], cleared[REAL])


@pytest.mark.parametrize("name", ["linear_attention", "rnn", "lstm", "gru"])
@pytest.mark.parametrize("causal", [False, True])
def test_real_positions_are_read_as_if_nothing_stood_between_them(name, causal):
    mixer = built(name, causal)
    x = random(B, T, D)
    y = mixer(x, NO_POSITION, MASK)
    for example in range(B):
        real = REAL[example]
        alone = mixer(x[example : example + 1, real], NO_POSITION)
        torch.testing.assert_close(y[example : example + 1, real], alone)


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


WITHOUT_QUERIES = [name for name in MIXERS if MIXERS[name].padding and not MIXERS[name].attends]


class Mean(Mixer):
    """The mean over all positions."""

    causal = False
    padding = False
    any_length = False
    attends = False

    def forward(self, x_btd, position, mask=None):
        self.real_positions(x_btd, mask)
        return x_btd.mean(1, keepdim=True).expand_as(x_btd)


def test_a_mixer_of_ones_own_is_refused_like_any_other():
    for needed in ({"causal": True}, {"padded": True}):
        with pytest.raises(Invalid, match="given 'Mean'"):
            Mean(PartConfig(), Sizes(D, T, **needed))
    with pytest.raises(ValueError, match=r"^mixer Mean cannot leave out padding; .*: attention"):
        Mean(PartConfig(), Sizes(D, T))(random(B, T, D), NO_POSITION, MASK)
    with pytest.raises(ValueError, match=r"^mixer fourier cannot leave out padding: the freq"):
        built("fourier")(random(B, T, D), NO_POSITION, MASK)


@pytest.mark.parametrize("name", WITHOUT_QUERIES)
def test_a_mask_may_leave_out_its_leading_dimensions_but_not_have_rows_for_queries(name):
    mixer = built(name)
    x = random(B, T, D)
    real_t = torch.arange(T) < T - 2
    whole = mixer(x, NO_POSITION, real_t.expand(B, 1, 1, T))
    torch.testing.assert_close(mixer(x, NO_POSITION, real_t), whole)
    torch.testing.assert_close(mixer(x, NO_POSITION, real_t.view(1, 1, 1, T)), whole)
    with pytest.raises(ValueError, match=f"^mixer {name} has no queries.* given a mask \\(4, 1, 7, 7\\);"):
        mixer(x, NO_POSITION, torch.ones(B, 1, T, T, dtype=torch.bool))


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_an_odd_state_is_for_one_direction(name):
    assert built(name, causal=True, hidden=5)(random(1, 2, D), NO_POSITION).shape == (1, 2, D)
