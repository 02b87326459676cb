import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refused import refused
from torch import Tensor

from ablate.base.registry import CATALOGUE
from ablate.components.positions import Position
from ablate.components.positions_in_attention import Alibi, Relative, Rotary, alibi_slopes
from ablate.components.sizes import Sizes
from ablate.core.signature import Signature
from ablate.models.build import build_model, initialise
from ablate.models.section import ModelSection

CATALOGUE.load_builtin()
CPU = torch.device("cpu")


def built(part, max_len=8, num_heads=3, d_k=6, causal=False, **config) -> Position:
    position = part.Config(**config).build(
        Sizes(d_model=12, max_len=max_len, num_heads=num_heads, d_k=d_k, causal=causal)
    )
    initialise(position, seed=0)
    return position


def heads(count: int, length: int, width: int, seed: int = 0) -> Tensor:
    return torch.randn(2, count, length, width, generator=torch.Generator().manual_seed(seed))


def turned_by_hand(x: Tensor, start: int, base: float) -> Tensor:
    """(…, T, d) as complex numbers x_{2i} + x_{2i+1} √−1, each times e^{√−1 m θ_i}."""
    length, width = x.shape[-2:]
    angles = torch.outer(start + torch.arange(length), base ** (-torch.arange(0, width, 2) / width))
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * torch.exp(1j * angles)
    return torch.view_as_real(turned).flatten(-2)


@pytest.mark.parametrize("base", [10_000, 50.0])
@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (1, 7), (11, 11), (2, 20)])
def test_rope_turns_pairs_of_features_by_their_position(t_q, t_k, base):
    """Also beyond max_len = 8; keys have fewer heads, and the last query stands at the last key."""
    q, k = heads(4, t_q, 6), heads(2, t_k, 6, seed=1)
    turned = built(Rotary, base=base).rotate(q, k)
    for x, y, start in ((q, turned[0], t_k - t_q), (k, turned[1], 0)):
        torch.testing.assert_close(y, turned_by_hand(x, start, base), rtol=1e-5, atol=1e-5)


def test_rope_saves_nothing_and_has_a_positive_base():
    assert built(Rotary).state_dict() == {}
    with pytest.raises(ValueError, match="greater than 0"):
        Rotary.Config(base=0)


@pytest.mark.parametrize(
    "mixer", [{"num_heads": 5}, {"d_k": 7, "d_v": 4}, {"d_q": 4, "d_k": 6, "score": "bilinear"}], ids=str
)
def test_rope_refuses_widths_that_it_cannot_turn(mixer):
    model = {"d_model": 15, "position": "rope", "mixer": {"num_heads": 3} | mixer}
    section = ModelSection.model_validate(model)
    problems = refused(build_model, section, Signature(6, 5, vocab_size=11), device="meta")
    assert [(path, given) for path, (given, _) in problems.items()] == [("position", "rope")]


PAPER = {
    1: [-8],
    4: [-2, -4, -6, -8],
    16: [-0.5 * h for h in range(1, 17)],
    3: [-4, -8, -2],
    12: [-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5],
}
"""Exponents of 2 by the number of heads."""


@pytest.mark.parametrize("num_heads", PAPER)
def test_alibi_slopes_are_the_papers(num_heads):
    assert alibi_slopes(num_heads) == pytest.approx([2**power for power in PAPER[num_heads]])


@given(num_heads=st.integers(1, 200))
def test_alibi_slopes_are_as_many_as_heads_and_differ(num_heads):
    slopes = alibi_slopes(num_heads)
    assert len(set(slopes)) == len(slopes) == num_heads
    assert all(2**-8 <= slope < 1 for slope in slopes)


def distances(t_q: int, t_k: int) -> Tensor:
    """(T_q, T_k), of each query from each key; the last query stands at the last key."""
    return torch.arange(t_k - t_q, t_k)[:, None] - torch.arange(t_k)


@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (1, 7), (2, 30)])
def test_alibi_falls_with_distance_on_both_sides(t_q, t_k):
    slopes = torch.tensor([2**-2, 2**-4, 2**-6, 2**-8])[:, None, None]
    expected = -slopes * distances(t_q, t_k).abs()
    torch.testing.assert_close(built(Alibi, num_heads=4).bias(t_q, t_k, CPU), expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("max_distance", [None, 2])
@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (1, 7), (2, 30)])
def test_relative_has_a_bias_for_each_distance_up_to_the_longest(t_q, t_k, max_distance, causal):
    position = built(Relative, causal=causal, max_distance=max_distance)
    longest = max_distance or 7
    assert position.bias_by_distance.shape == (3, longest + 1 if causal else 2 * longest + 1)
    bias, lowest = position.bias(t_q, t_k, CPU), 0 if causal else -longest
    places = distances(t_q, t_k).clamp(lowest, longest) - lowest
    assert torch.equal(bias, position.bias_by_distance[:, places])


@pytest.mark.parametrize(("topology", "biases"), [("encoder", 11), ("decoder", 6)])
def test_relative_in_a_model_is_built_for_its_topology_and_shared_by_its_layers(topology, biases):
    model = {"d_model": 16, "num_layers": 3, "position": "relative", "topology": topology}
    section = ModelSection.model_validate(model)
    parts = build_model(section, Signature(6, 5, vocab_size=11), device="meta").parameters_by_part()
    assert parts["position"] == 4 * biases


def test_relative_refuses_distances_that_training_never_shows():
    position = {"name": "relative", "max_distance": 6}
    section = ModelSection.model_validate({"d_model": 16, "position": position})
    problems = refused(build_model, section, Signature(6, 5, vocab_size=11), device="meta")
    assert problems == {"position.max_distance": (6, "1 to 5")}
    build_model(section, Signature(7, 5, vocab_size=11), device="meta")


@pytest.mark.parametrize("name", ["rope", "alibi", "relative"])
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_key_heads_may_be_fewer(name, kv_heads):
    mixer = {"num_heads": 4, "num_kv_heads": kv_heads}
    section = ModelSection.model_validate({"d_model": 16, "position": name, "mixer": mixer})
    model = build_model(section, Signature(6, 5, vocab_size=11)).eval()
    tokens = torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(0))
    mixer, x = model.stack.blocks[0].mixer, model.embed(tokens)
    q, k = (y.unflatten(2, (-1, 4)).transpose(1, 2) for y in (mixer.query(x), mixer.key(x)))
    q, k = model.position.rotate(q, k.repeat_interleave(4 // kv_heads, 1))
    bias = model.position.bias(6, 6, CPU)
    logits = q @ k.mT / math.sqrt(4) + (0 if bias is None else bias)
    torch.testing.assert_close(mixer.weights(x, model.position), logits.softmax(-1))
