"""The switches of attention beside those that its definition by hand shows: widths, norms, and what they refuse."""

import pytest
import torch
from attention_cases import NO_POSITION, SIZES, B, D, H, T, Tilt, attention
from refused import refused
from torch import Tensor

from ablate.models.attention import Attention


@pytest.fixture
def x() -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def set_weights(mixer: Attention, **weights: Tensor) -> None:
    with torch.no_grad():
        for path, weight in weights.items():
            parameter = mixer.get_parameter(path.replace("__", "."))
            assert parameter.shape == weight.shape
            parameter.copy_(weight)


SQUARE, LOW_RANK = (D, D), {"name": "low_rank", "rank": 2}
SHAPES = [
    ({}, {"query": SQUARE, "key": SQUARE, "value.projection": SQUARE, "output": SQUARE}),
    ({"num_heads": 4, "num_kv_heads": 1}, {"key": (2, D), "value.projection": (2, D)}),
    ({"num_heads": 4, "split": "before"}, {"query": (4, 2, 2), "value.projection": (4, 2, 2)}),
    ({"num_heads": 4, "num_kv_heads": 2, "split": "before"}, {"key": (2, 4, 2)}),
    ({"num_kv_heads": 1, "split": "before", "value": LOW_RANK}, {"value.down": (2, D)}),
    ({"value": {"name": "low_rank", "rank": D}}, {"value.down": SQUARE, "value.up": SQUARE}),
    ({"tied": True}, {"key": None}),
    ({"value": "shared_kv"}, {"value.projection": None}),
    ({"weighting": "uniform"}, {"query": None, "key": None}),
    ({"num_heads": 3, "d_k": 2, "d_v": 5}, {"key": (6, D), "value.projection": (15, D), "output": (D, 15)}),
    *(
        (
            {"score": s, "d_q": 3, "d_k": 5, "num_heads": 4, "num_kv_heads": 2},
            {"query": (12, D), "key": (10, D)},
        )
        for s in ("additive", "bilinear")
    ),
]


@pytest.mark.parametrize(("settings", "shapes"), SHAPES, ids=[str(s[0]) for s in SHAPES])
def test_projections_are_as_wide_as_the_settings_say(settings, shapes):
    weights = {name: tuple(p.shape) for name, p in attention(**settings).named_parameters()}
    assert {path: weights.get(f"{path}.weight") for path in shapes} == shapes


def test_shared_heads_keep_a_smaller_state(x):
    _, (keys, values) = attention(num_heads=4, num_kv_heads=1, causal=True).step(x[:, :1], NO_POSITION)
    assert keys.shape == values.shape == (B, 1, 1, 2)


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_qk_norm_follows_its_formula(x, kv_heads):
    mixer = attention(qk_norm="on", num_kv_heads=kv_heads, score="dot", causal=True)
    gain_q, gain_k = torch.linspace(0.5, 2, 4).double(), torch.linspace(-1, 1, 4).double()
    set_weights(mixer, query_norm__weight=gain_q, key_norm__weight=gain_k)

    def normed(projection, heads, gain):
        y = projection(x).view(B, T, heads, 4)
        return y / (y.square().mean(-1, keepdim=True) + 1e-6).sqrt() * gain

    q, k = normed(mixer.query, H, gain_q), normed(mixer.key, kv_heads, gain_k)
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k.repeat_interleave(H // kv_heads, 2))
    expected = logits.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)
    torch.testing.assert_close(mixer.weights(x, NO_POSITION), expected)


def test_values_that_are_the_keys_are_those_that_no_position_has_turned(x):
    shared, full = attention(value="shared_kv"), attention()
    set_weights(full, key__weight=shared.key.weight, value__projection__weight=shared.key.weight)
    torch.testing.assert_close(shared(x, Tilt()), full(x, Tilt()))


def test_cross_attention_reads_another_sequence(x):
    mixer, source = attention(causal=True), x[:, :3].flip(0) + 1
    given = mixer.queries(x), mixer.read(source), NO_POSITION
    pairs = (mixer.query, x), (mixer.key, source), (mixer.value, source)
    q, k, v = (p(z).view(B, -1, H, 4) for p, z in pairs)
    expected = (torch.einsum("bqhd,bkhd->bhqk", q, k) / 2).softmax(-1)
    torch.testing.assert_close(mixer.attend_weights(*given), expected)
    output = mixer.output(torch.einsum("bhqk,bkhd->bqhd", expected, v).flatten(2))
    torch.testing.assert_close(mixer.attend(*given), output)


WRONG = [
    ({"num_heads": 3, "d_k": 2}, {"num_heads": (3, "1, 2, 4, 8")}),
    ({"num_heads": 3, "d_k": 2, "d_v": 2, "split": "before"}, {"num_heads": (3, "1, 2, 4, 8")}),
    ({"num_heads": 4, "num_kv_heads": 3}, {"num_kv_heads": (3, "1, 2, 4")}),
    ({"num_kv_heads": 4}, {"num_kv_heads": (4, "1, 2")}),
    ({"tied": "on", "num_heads": 4, "num_kv_heads": 2}, {"tied": ("on", "off")}),
    ({"tied": "on", "score": "bilinear", "d_q": 3}, {"tied": ("on", "off")}),
    ({"d_q": 3}, {"d_q": (3, "4, or a score that joins two widths")}),
    ({"value": "shared_kv", "d_v": 3}, {"d_v": (3, "4")}),
    ({"value": LOW_RANK, "split": "before"}, {"value": ("low_rank", "full")}),
    (
        {"weighting": "uniform", "tied": "on", "qk_norm": "on", "score": "dot"},
        {"tied": ("on", "off"), "qk_norm": ("on", "off"), "score": ("dot", "leave it out")},
    ),
    (
        {"num_heads": 12, "value": {"name": "low_rank", "rank": 9}, "d_q": 3},
        {
            "num_heads": (12, "1, 2, 4, 8"),
            "d_q": (3, "1, or a score that joins two widths"),
            "value.rank": (9, "1 to 8"),
        },
    ),
]


@pytest.mark.parametrize(("settings", "problems"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_what_cannot_be_built_is_refused_with_all_its_problems(settings, problems):
    assert refused(Attention.Config(**{"num_heads": 2} | settings).build, SIZES) == problems
