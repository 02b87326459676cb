"""The switches of attention: shared heads, tied projections, splits, widths, norms, and what they refuse."""

from __future__ import annotations

import pytest
import torch
from attention_cases import COMBINATIONS, MASKS, NO_POSITION, SIZES, B, D, H, T, Tilt, attention, named
from torch import Tensor

from ablate.base.errors import Invalid
from ablate.base.registry import CATALOGUE
from ablate.components.sizes import Sizes
from ablate.models.attention import Attention


@pytest.fixture
def x() -> Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def set_weights(mixer: Attention, **weights: Tensor) -> Attention:
    with torch.no_grad():
        for path, weight in weights.items():
            parameter = mixer.get_parameter(path.replace("__", "."))
            assert parameter.shape == weight.shape
            parameter.copy_(weight)
    return mixer


@pytest.mark.parametrize("score", CATALOGUE.names("score"))
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_shared_heads_are_repeated_heads(x, kv_heads, score):
    shared = attention(num_heads=4, num_kv_heads=kv_heads, score=score, causal=True)
    assert shared.key.weight.shape == (kv_heads * 2, D)
    repeated = {
        name: weight.unflatten(0, (kv_heads, 2)).repeat_interleave(4 // kv_heads, 0).flatten(0, 1)
        for name, weight in (
            ("key", shared.key.weight),
            ("value__projection", shared.value.projection.weight),
        )
    }
    whole = attention(num_heads=4, score=score, causal=True)
    set_weights(whole, **{f"{name}__weight": weight for name, weight in repeated.items()})
    for mask in MASKS.values():
        torch.testing.assert_close(shared(x, NO_POSITION, mask), whole(x, NO_POSITION, mask))


def test_shared_heads_keep_a_smaller_state(x):
    _, (keys, values) = attention(num_heads=4, num_kv_heads=1, causal=True).step(x[:, :1], NO_POSITION)
    assert keys.shape == values.shape == (B, 1, 1, 2)


@pytest.mark.parametrize("bias", [False, True])
def test_tied_is_one_projection_for_queries_and_keys(x, bias):
    tied, apart = attention(tied=True, bias=bias), attention(bias=bias)
    set_weights(apart, query__weight=tied.query.weight, key__weight=tied.query.weight)
    torch.testing.assert_close(tied(x, NO_POSITION), apart(x, NO_POSITION))
    (tied(x, NO_POSITION).square().sum() + apart(x, NO_POSITION).square().sum()).backward()
    torch.testing.assert_close(tied.query.weight.grad, apart.query.weight.grad + apart.key.weight.grad)
    count = lambda mixer: sum(p.numel() for p in mixer.parameters())  # noqa: E731
    assert count(apart) - count(tied) == D * D + bias * D


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_split_before_is_a_block_diagonal_projection(x, kv_heads):
    before = attention(num_heads=4, num_kv_heads=kv_heads, split="before")
    after = attention(num_heads=4, num_kv_heads=kv_heads)
    for name in ("query", "key", "value.projection", "output"):
        ours, theirs = before.get_submodule(name).weight, after.get_submodule(name).weight
        blocks = ours if ours.ndim == 2 else torch.block_diag(*ours).T
        set_weights(after, **{f"{name.replace('.', '__')}__weight": blocks})
        assert theirs.shape == (D if "q" in name or name[0] == "o" else 2 * kv_heads, D)
    torch.testing.assert_close(before(x, NO_POSITION), after(x, NO_POSITION))


def test_a_head_split_before_reads_its_share_alone(x):
    mixer = attention(num_heads=4, split="before")
    changed = x.clone()
    changed[..., 2:] += 1
    one, other = mixer.weights(x, NO_POSITION), mixer.weights(changed, NO_POSITION)
    assert torch.equal(one[:, 0], other[:, 0])
    assert not torch.isclose(one[:, 1:], other[:, 1:]).all(-1).all(-1).any()


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
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    expected = logits.masked_fill(future, -torch.inf).softmax(-1)
    torch.testing.assert_close(mixer.weights(x, NO_POSITION), expected)


def test_qk_norm_comes_before_positions(x):
    mixer, position = attention(qk_norm="on", score="dot"), Tilt()
    q = mixer.query_norm(mixer.query(x).view(B, T, H, 4)).flip(-1) * 2
    k = mixer.key_norm(mixer.key(x).view(B, T, H, 4)) + 1
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k) + position.bias(T, T, x.device)
    torch.testing.assert_close(mixer.weights(x, position), logits.softmax(-1))


@pytest.mark.parametrize("settings", COMBINATIONS, ids=named)
def test_shared_kv_is_one_projection_for_keys_and_values(x, settings):
    shared, full = attention(value="shared_kv", **settings), attention(**settings)
    set_weights(full, value__projection__weight=shared.key.weight)
    if full.key is not None:
        set_weights(full, key__weight=shared.key.weight)
    for position in (NO_POSITION, Tilt()):
        torch.testing.assert_close(shared(x, position), full(x, position))


@pytest.mark.parametrize("score", ["additive", "bilinear"])
def test_queries_and_keys_of_two_widths(x, score):
    mixer = attention(score=score, d_q=3, d_k=5, num_heads=4, num_kv_heads=2)
    assert mixer.query.weight.shape == (12, D)
    assert mixer.key.weight.shape == (10, D)
    assert mixer.weights(x, NO_POSITION).shape == (B, 4, T, T)


def test_uniform_has_no_queries_and_keys(x):
    mixer = attention(weighting="uniform")
    assert {name for name, _ in mixer.named_parameters()} == {"value.projection.weight", "output.weight"}
    mean = x.mean(1, keepdim=True).expand(B, T, D)
    torch.testing.assert_close(mixer(x, NO_POSITION), mixer.output(mixer.value(mean)))


def test_cross_attention_reads_another_sequence(x):
    mixer, source = attention(causal=True), x[:, :3].flip(0) + 1
    y = mixer.attend(mixer.queries(x), mixer.read(source), NO_POSITION)
    weights = mixer.attend_weights(mixer.queries(x), mixer.read(source), NO_POSITION)
    q, k, v = (
        p(z).view(B, -1, H, 4) for p, z in ((mixer.query, x), (mixer.key, source), (mixer.value, source))
    )
    expected = (torch.einsum("bqhd,bkhd->bhqk", q, k) / 2).softmax(-1)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(y, mixer.output(torch.einsum("bhqk,bkhd->bqhd", expected, v).flatten(2)))


def test_heads_must_divide_the_width_unless_both_widths_are_given():
    with pytest.raises(Invalid) as error:
        attention(num_heads=3, d_k=2)
    assert str(error.value) == (
        "num_heads: must divide d_model = 8 unless d_k and d_v are both given; given 3; allowed: 1, 2, 4, 8"
    )
    mixer = attention(num_heads=3, d_k=2, d_v=5)
    projections = (mixer.query, mixer.key, mixer.value.projection, mixer.output)
    assert [tuple(p.weight.shape) for p in projections] == [(6, 8), (6, 8), (15, 8), (8, 15)]


WRONG = [
    (
        {"num_heads": 3, "d_k": 2, "d_v": 2, "split": "before"},
        ["num_heads: must divide d_model = 8; given 3; allowed: 1, 2, 4, 8"],
    ),
    (
        {"num_heads": 4, "num_kv_heads": 3},
        ["num_kv_heads: must divide num_heads = 4; given 3; allowed: 1, 2, 4"],
    ),
    (
        {"num_heads": 2, "num_kv_heads": 4},
        ["num_kv_heads: must divide num_heads = 2; given 4; allowed: 1, 2"],
    ),
    (
        {"tied": "on", "num_heads": 4, "num_kv_heads": 2},
        ["tied: needs queries and keys of one width and number of heads; given 'on'; allowed: off"],
    ),
    (
        {"tied": "on", "score": "bilinear", "d_q": 3},
        ["tied: needs queries and keys of one width and number of heads; given 'on'; allowed: off"],
    ),
    (
        {"d_q": 3},
        [
            "d_q: must be d_k = 4 with score scaled_dot, which needs one width; given 3; "
            "allowed: 4, or a score that joins two widths"
        ],
    ),
    (
        {"value": "shared_kv", "d_v": 3},
        ["d_v: must be d_k = 4 where values are the keys; given 3; allowed: 4"],
    ),
    (
        {"value": {"name": "low_rank", "rank": 2}, "split": "before"},
        ["value: reads all of x, which `split: before` does not allow; given 'low_rank'; allowed: full"],
    ),
    (
        {"weighting": "uniform", "tied": "on", "qk_norm": "on", "score": "dot"},
        [
            "tied: has no effect with weighting uniform, which reads no scores; given 'on'; allowed: off",
            "qk_norm: has no effect with weighting uniform, which reads no scores; given 'on'; allowed: off",
            "score: has no effect with weighting uniform, which reads no scores; given 'dot'; allowed: leave it out",
        ],
    ),
]


@pytest.mark.parametrize(("settings", "problems"), WRONG, ids=[str(list(w[0])) for w in WRONG])
def test_what_cannot_be_built(settings, problems):
    with pytest.raises(Invalid) as error:
        Attention.Config(**settings | {"num_heads": settings.get("num_heads", 2)}).build(SIZES)
    assert [str(problem) for problem in error.value.problems] == problems


def test_all_problems_are_found_at_once():
    with pytest.raises(Invalid) as error:
        attention(num_heads=12, value={"name": "low_rank", "rank": 9}, d_q=3)
    assert [".".join(p.path) for p in error.value.problems] == ["num_heads", "d_q", "value.rank"]


def test_low_rank_values_read_all_of_x_for_the_one_head_that_all_queries_share(x):
    mixer = Attention.Config(
        num_heads=2, num_kv_heads=1, split="before", value={"name": "low_rank", "rank": 2}
    ).build(Sizes(d_model=D, max_len=T))
    assert mixer.value.down.weight.shape == (2, D)
