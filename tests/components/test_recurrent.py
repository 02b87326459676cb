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

TORCH = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
NAMES = sorted(TORCH)


def reference(name, mixer, hidden):
    """Torch's module with the mixer's weights, followed by its output map."""
    cells = {"": mixer.forwards, "_reverse": mixer.backwards}
    module = TORCH[name](D, hidden, batch_first=True, bidirectional=mixer.backwards is not None).double()
    module.load_state_dict(
        {
            f"{key}_l0{suffix}": tensor
            for suffix, cell in cells.items()
            if cell is not None
            for key, tensor in cell.state_dict().items()
        }
    )
    return lambda x: mixer.output(module(x)[0]) if mixer.output is not None else module(x)[0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("causal", "width"), [(True, D), (False, D // 2)])
def test_agrees_with_torch(name, causal, width):
    mixer, x = built(name, causal), random(B, T, D)
    assert isinstance(mixer.output, torch.nn.Identity)
    torch.testing.assert_close(mixer(x, NO_POSITION), reference(name, mixer, width)(x))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("causal", "width"), [(True, 10), (False, 5)])
def test_a_state_of_another_width_is_mapped_back(name, causal, width):
    mixer, x = built(name, causal, hidden=10), random(B, T, D)
    torch.testing.assert_close(mixer(x, NO_POSITION), reference(name, mixer, width)(x))


def sigmoid(a):
    return [1 / (1 + math.exp(-value)) for value in a]


def tanh(a):
    return [math.tanh(value) for value in a]


def mapped(cell, x, h):
    """W x + b and U h + b of each gate, as lists of numbers."""
    maps = []
    for weight, bias, vector in ((cell.weight_ih, cell.bias_ih, x), (cell.weight_hh, cell.bias_hh, h)):
        rows = zip(weight.tolist(), bias.tolist(), strict=True)
        values = [sum(w * v for w, v in zip(row, vector, strict=True)) + b for row, b in rows]
        width = len(h)
        maps.append([values[i : i + width] for i in range(0, len(values), width)])
    return maps


def plus(a, b):
    return [p + q for p, q in zip(a, b, strict=True)]


def times(a, b):
    return [p * q for p, q in zip(a, b, strict=True)]


def read_by_formula(name, cell, x_td):
    """The formulas of the three papers, number by number."""
    h = c = [0.0] * cell.weight_hh.shape[1]
    outputs = []
    for x in x_td.tolist():
        from_x, from_h = mapped(cell, x, h)
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


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_its_formula(name):
    mixer, x = built(name, causal=True, hidden=4), random(1, 5, D)
    torch.testing.assert_close(mixer.forwards(x)[0][0], read_by_formula(name, mixer.forwards, x[0]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("causal", [False, True])
def test_real_positions_are_read_as_if_nothing_stood_between_them(name, causal):
    mixer, x = built(name, causal), random(B, T, D)
    y = mixer(x, NO_POSITION, MASK)
    for example in range(B):
        real = REAL[example]
        alone = mixer(x[example : example + 1, real], NO_POSITION)
        torch.testing.assert_close(y[example : example + 1, real], alone)
    check_padding(mixer)


@pytest.mark.parametrize("name", NAMES)
def test_a_mask_may_be_common_to_all_examples(name):
    mixer, x = built(name), random(B, T, D)
    common, own = mixer(x, NO_POSITION, MASK[2:3]), mixer(x, NO_POSITION, MASK[2:3].expand(B, 1, 1, T))
    torch.testing.assert_close(common[:, REAL[2]], own[:, REAL[2]])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "padded"])
def test_steps_one_by_one_agree_with_the_fused_kernel(name, causal, mask):
    check_stacked(name, mask, causal=causal)


@pytest.mark.parametrize("name", NAMES)
def test_causal_in_one_direction_and_not_in_two(name):
    check_causal(built(name, causal=True))
    mixer, x = built(name), random(B, T, D)
    changed = x.clone()
    changed[:, 3] += 1
    assert not torch.isclose(mixer(x, NO_POSITION), mixer(changed, NO_POSITION)).all(-1).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hidden", [D, 9])
def test_step_by_step_is_forward(name, hidden):
    mixer, x = built(name, causal=True, hidden=hidden), random(B, T, D)
    torch.testing.assert_close(stepped(mixer, x), mixer(x, NO_POSITION))


def test_only_the_forget_gate_starts_with_a_bias():
    mixer = CATALOGUE.get("mixer", "lstm").Config().build(Sizes(D, T))
    initialise(mixer, seed=0)
    for cell in (mixer.forwards, mixer.backwards):
        assert cell.bias_ih.tolist() == [0.0] * 3 + [1.0] * 3 + [0.0] * 6
        assert cell.bias_hh.tolist() == [0.0] * 12
    assert not torch.equal(mixer.forwards.weight_ih, mixer.backwards.weight_ih)


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_state_has_no_halves(name):
    with pytest.raises(Invalid) as error:
        built(name, hidden=5)
    assert str(error.value) == (
        "hidden: must be even, half for each direction, unless the topology is causal; given 5; allowed: 4, 6"
    )
    assert built(name, causal=True, hidden=5)(random(1, 2, D), NO_POSITION).shape == (1, 2, D)
