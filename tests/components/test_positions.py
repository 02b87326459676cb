import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ablate.base.registry import CATALOGUE
from ablate.components.positions import Learned, Position, SinCos, sinusoids
from ablate.components.positions_in_attention import Alibi, Relative, Rotary, alibi_slopes
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model, initialise
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()


def formula(length: int, width: int) -> Tensor:
    """Returns sin(pos / 10000^{2i/D}) and cos(…) of Vaswani et al. 2017, (length, width)."""
    columns = np.arange(width)
    angles = np.arange(length)[:, None] / 10000 ** (2 * (columns // 2) / width)
    return torch.from_numpy(np.where(columns % 2, np.cos(angles), np.sin(angles)))


def built(part, max_len=8, d_model=6):
    position = part.Config().build(Sizes(d_model=d_model, max_len=max_len))
    initialise(position, seed=0)
    return position


@settings(deadline=None, max_examples=30)
@given(length=st.integers(1, 40), width=st.integers(1, 17))
def test_sinusoids_follow_the_formula(length, width):
    torch.testing.assert_close(sinusoids(length, width), formula(length, width), rtol=0, atol=1e-12)


def test_far_positions_keep_their_fraction_in_single_precision():
    table = SinCos.Config().build(Sizes(d_model=4, max_len=100_001))
    initialise(table, seed=0)
    assert float(table.encoding[100_000, 0]) == pytest.approx(math.sin(100_000), abs=1e-7)


@pytest.mark.parametrize("start", [0, 3])
@pytest.mark.parametrize("length", [5, 8, 20])
def test_sincos_adds_the_encoding_at_any_length_and_place(length, start):
    x = torch.randn(2, length, 6, generator=torch.Generator().manual_seed(0))
    expected = x + formula(start + length, 6)[start:].float()
    torch.testing.assert_close(built(SinCos).embed(x, start), expected)


def test_learned_adds_its_first_rows_and_ends_at_the_trained_length():
    position = built(Learned)
    x = torch.zeros(2, 5, 6)
    torch.testing.assert_close(position.embed(x), position.weight[:5].expand(2, 5, 6))
    torch.testing.assert_close(position.embed(x, 3), position.weight[3:8].expand(2, 5, 6))
    assert position.embed(torch.zeros(1, 8, 6)).shape == (1, 8, 6)
    for length, start in ((9, 0), (1, 8)):
        with pytest.raises(ValueError, match="max_len = 8; given a sequence of 9"):
            position.embed(torch.zeros(1, length, 6), start)


CPU = torch.device("cpu")
TOKENS = Signature(6, 5, vocab_size=11)


def inside(part, max_len=8, num_heads=3, d_k=6, causal=False, **config) -> Position:
    position = part.Config(**config).build(
        Sizes(d_model=12, max_len=max_len, num_heads=num_heads, d_k=d_k, causal=causal)
    )
    initialise(position, seed=0)
    return position


def heads(count: int, length: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(2, count, length, width, generator=torch.Generator().manual_seed(seed))


def turned_by_hand(x: Tensor, start: int, base: float) -> Tensor:
    """Returns (…, T, d): complex numbers x_{2i} + x_{2i+1} √−1, each times e^{√−1 m θ_i}."""
    length, width = x.shape[-2:]
    angles = torch.outer(start + torch.arange(length), base ** (-torch.arange(0, width, 2) / width))
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.exp(1j * angles)
    return torch.view_as_real(turned).flatten(-2)


@pytest.mark.parametrize("base", [10_000, 50.0])
@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (1, 7), (11, 11), (2, 20)])
def test_rope_turns_pairs_of_features_by_their_position(t_q, t_k, base):
    """Also beyond max_len = 8; keys have fewer heads, and the last query stands at the last key."""
    q = heads(4, t_q, 6)
    k = heads(2, t_k, 6, seed=1)
    turned_q, turned_k = inside(Rotary, base=base).rotate(q, k)
    torch.testing.assert_close(turned_q, turned_by_hand(q, t_k - t_q, base), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(turned_k, turned_by_hand(k, 0, base), rtol=1e-5, atol=1e-5)


PAPER = {
    1: [-8], 4: [-2, -4, -6, -8], 16: [-0.5 * h for h in range(1, 17)], 3: [-4, -8, -2],
    12: [-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5],
}  # fmt: skip
"""Exponents of 2 by the number of heads."""


@pytest.mark.parametrize("num_heads", PAPER)
def test_alibi_slopes_are_the_papers(num_heads):
    assert alibi_slopes(num_heads) == pytest.approx([2**power for power in PAPER[num_heads]])


def distances(t_q: int, t_k: int) -> Tensor:
    """Returns the distance of each query from each key, (T_q, T_k); the last query stands at the last key."""
    return torch.arange(t_k - t_q, t_k)[:, None] - torch.arange(t_k)


@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (1, 7), (2, 30)])
def test_alibi_falls_with_distance_on_both_sides(t_q, t_k):
    slopes = torch.tensor([2**-2, 2**-4, 2**-6, 2**-8])[:, None, None]
    expected = -slopes * distances(t_q, t_k).abs()
    torch.testing.assert_close(inside(Alibi, num_heads=4).bias(t_q, t_k, CPU), expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("max_distance", [None, 2])
@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (1, 7), (2, 30)])
def test_relative_has_a_bias_for_each_distance_up_to_the_longest(t_q, t_k, max_distance, causal):
    position = inside(Relative, causal=causal, max_distance=max_distance)
    longest = max_distance or 7
    assert position.bias_by_distance.shape == (3, longest + 1 if causal else 2 * longest + 1)
    bias = position.bias(t_q, t_k, CPU)
    lowest = 0 if causal else -longest
    places = distances(t_q, t_k).clamp(lowest, longest) - lowest
    assert torch.equal(bias, position.bias_by_distance[:, places])


@pytest.mark.parametrize(("topology", "biases"), [("encoder", 11), ("decoder", 6)])
def test_relative_in_a_model_is_built_for_its_topology_and_shared_by_its_layers(topology, biases):
    model = {"d_model": 16, "num_layers": 3, "position": "relative", "topology": topology}
    section = ModelSection.model_validate(model)
    parts = build_model(section, TOKENS, device="meta").parameters_by_part()
    assert parts["position"] == 4 * biases


@pytest.mark.parametrize("name", ["rope", "alibi", "relative"])
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_key_heads_may_be_fewer(name, kv_heads):
    mixer = {"num_heads": 4, "num_kv_heads": kv_heads}
    section = ModelSection.model_validate({"d_model": 16, "position": name, "mixer": mixer})
    model = build_model(section, TOKENS).eval()
    tokens = torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(0))
    mixer = model.stack.blocks[0].mixer
    x = model.embed(tokens)
    q, k = (y.unflatten(2, (-1, 4)).transpose(1, 2) for y in (mixer.query(x), mixer.key(x)))
    q, k = model.position.rotate(q, k.repeat_interleave(4 // kv_heads, 1))
    bias = model.position.bias(6, 6, CPU)
    logits = q @ k.mT / math.sqrt(4) + (0 if bias is None else bias)
    torch.testing.assert_close(mixer.weights(x, model.position), logits.softmax(-1))
