from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from ablate.base.registry import CATALOGUE
from ablate.components.positions import Learned, NoPosition, Position, SinCos, sinusoids
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model
from ablate.models.initialise import initialise
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()


def formula(length: int, width: int) -> list[list[float]]:
    """PE of FOUNDATIONS §1, entry by entry."""
    table = []
    for position in range(length):
        row = []
        for column in range(width):
            angle = position / 10000 ** (2 * (column // 2) / width)
            row.append(math.sin(angle) if column % 2 == 0 else math.cos(angle))
        table.append(row)
    return table


def built(part, max_len=8, d_model=6):
    position = part.Config().build(Sizes(d_model=d_model, max_len=max_len))
    initialise(position, seed=0)
    return position


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 40), width=st.integers(1, 17))
def test_sinusoids_follow_the_formula(length, width):
    expected = torch.tensor(formula(length, width), dtype=torch.float64)
    torch.testing.assert_close(sinusoids(length, width), expected, rtol=0, atol=1e-12)


def test_far_positions_keep_their_fraction_in_single_precision():
    table = SinCos.Config().build(Sizes(d_model=4, max_len=100_001))
    initialise(table, seed=0)
    assert float(table.encoding[100_000, 0]) == pytest.approx(math.sin(100_000), abs=1e-7)


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("length", [5, 8, 20])
def test_sincos_adds_the_encoding_at_any_length_and_place(length, start):
    x = torch.randn(2, length, 6, generator=torch.Generator().manual_seed(0))
    expected = x + torch.tensor(formula(start + length, 6))[start:]
    torch.testing.assert_close(built(SinCos).embed(x, start), expected)


def test_sincos_has_no_parameters_and_saves_nothing():
    position = built(SinCos)
    assert list(position.parameters()) == []
    assert position.state_dict() == {}


def test_learned_adds_its_first_rows():
    position = built(Learned)
    x = torch.zeros(2, 5, 6)
    torch.testing.assert_close(position.embed(x), position.weight[:5].expand(2, 5, 6))
    torch.testing.assert_close(position.embed(x, 3), position.weight[3:8].expand(2, 5, 6))


def test_learned_ends_at_the_trained_length():
    position = built(Learned)
    assert position.embed(torch.zeros(1, 8, 6)).shape == (1, 8, 6)
    with pytest.raises(ValueError, match=r"max_len = 8; given a sequence of 9; use `position: sincos`"):
        position.embed(torch.zeros(1, 9, 6))
    with pytest.raises(ValueError, match="given a sequence of 9"):
        position.embed(torch.zeros(1, 1, 6), start=8)


@pytest.mark.parametrize("part", [NoPosition, SinCos, Learned])
def test_positions_of_the_embedding_leave_attention_alone(part):
    position = built(part)
    assert not position.inside_attention
    q, k = torch.ones(1, 2, 3, 4), torch.ones(1, 2, 5, 4)
    assert position.rotate(q, k) == (q, k)
    assert position.bias(3, 5, q.device) is None


def test_none_leaves_the_embedding_alone():
    x = torch.ones(2, 3, 6)
    assert built(NoPosition).embed(x) is x


@pytest.mark.parametrize("name", CATALOGUE.names("position"))
@pytest.mark.parametrize("topology", ["encoder", "decoder"])
def test_what_a_position_says_about_lengths_holds(name, topology):
    section = ModelSection.model_validate(
        {"d_model": 16, "num_layers": 2, "position": name, "topology": topology}
    )
    model = build_model(section, Signature(6, 5, vocab_size=11, readout="all")).eval()
    tokens = torch.randint(11, (2, 21), generator=torch.Generator().manual_seed(0))
    if CATALOGUE.get("position", name).any_length:
        logits = model(tokens)
        assert logits.shape == (2, 21, 5)
        assert logits.isfinite().all()
    else:
        with pytest.raises(ValueError, match="max_len = 6"):
            model(tokens)


class Everywhere(nn.Module):
    """All that a position does to one input."""

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.position = position

    def forward(self, x: Tensor, q: Tensor, k: Tensor) -> Tensor:
        q, k = self.position.rotate(q, k)
        logits = q @ k.transpose(-2, -1)
        bias = self.position.bias(q.shape[2], k.shape[2], q.device)
        return torch.cat(
            [self.position.embed(x).flatten(), (logits if bias is None else logits + bias).flatten()]
        )


LENGTHS = [
    (name, length)
    for name in CATALOGUE.names("position")
    for length in ((5, 12) if CATALOGUE.get("position", name).any_length else (5,))
]


@pytest.mark.parametrize(("name", "length"), LENGTHS)
def test_stacked_positions_agree_with_one_by_one(name, length):
    part, models = CATALOGUE.get("position", name), []
    for seed in range(3):
        position = part.Config().build(Sizes(d_model=6, max_len=8, num_heads=2, d_k=4))
        initialise(position, seed)
        models.append(Everywhere(position))
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3, 2, length, 6, generator=generator)
    q, k = torch.randn(2, 3, 2, 2, length, 4, generator=generator)
    state = stack_module_state(models)
    together = vmap(lambda *inputs: functional_call(models[0], inputs[:2], inputs[2:]))(*state, x, q, k)
    alone = torch.stack([model(*inputs) for model, *inputs in zip(models, x, q, k, strict=True)])
    torch.testing.assert_close(together, alone)
