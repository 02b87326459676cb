"""Attention in every combination of its parts, and what it is by its definition: no kernels, no groups of heads."""

from typing import Any

import pytest
import torch
from score_formulas import FORMULAS
from torch import Tensor, nn

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.layers import SplitLinear
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.attention import Attention
from ablate.models.build import initialise

CATALOGUE.load_builtin()
B, T, D, H = 3, 7, 8, 2
SIZES = Sizes(d_model=D, max_len=T)
NO_POSITION = Position(PartConfig(), SIZES)
LENGTHS = torch.arange(T) < torch.tensor([7, 4, 1])[:, None]
MASKS = {
    "none": None,
    "per row": LENGTHS[:, None, None],
    "per query": torch.rand(B, 1, T, T, generator=torch.Generator().manual_seed(4)) < 0.4,
    "nothing": torch.zeros(B, 1, T, T, dtype=torch.bool),
}
SCORES = CATALOGUE.names("score")
COMBINATIONS = [
    {"score": score, "weighting": weighting}
    for score in SCORES
    for weighting in CATALOGUE.names("weighting")
    if CATALOGUE.get("weighting", weighting).reads_scores
] + [{"weighting": "uniform"}]
SWITCHES: list[dict[str, Any]] = [
    {"tied": "on"},
    {"split": "before"},
    {"qk_norm": "on"},
    {"num_heads": 4, "num_kv_heads": 2},
    {"num_heads": 4, "num_kv_heads": 1},
    {"num_heads": 4, "num_kv_heads": 2, "split": "before"},
    {"value": "shared_kv"},
    {"value": {"name": "low_rank", "rank": 3}},
    {"num_heads": 3, "d_k": 2, "d_v": 5},
    {"score": "bilinear", "d_q": 3, "d_k": 5},
    {"score": "additive", "d_q": 3, "d_k": 5, "num_heads": 4, "num_kv_heads": 2},
    {"weighting": "uniform", "value": "shared_kv"},
    {"bias": "on"},
]


class Tilt(Position):
    """Adds a slope per head, masks nothing, and turns queries."""

    def __init__(self) -> None:
        super().__init__(PartConfig(), SIZES)
        self.slope = nn.Parameter(torch.tensor([0.3, -0.7], dtype=torch.float64))

    def rotate(self, q, k):
        return 2 * q.flip(-1), k + 1

    def bias(self, t_q, t_k, device):
        return self.slope[:, None, None] * (torch.arange(t_q)[:, None] - torch.arange(t_k))


def attention(causal=False, dropout=0.0, seed=0, **settings) -> Attention:
    sizes = Sizes(d_model=D, max_len=T, causal=causal, dropout={"attention_weights": dropout})
    mixer = Attention.Config(**{"num_heads": H, **settings}).build(sizes)
    initialise(mixer, seed)
    return mixer.double()


def named(settings: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in settings.items())


def allowed_pairs(shape: tuple[int, int, int], mask: Tensor | None, causal: bool) -> Tensor:
    """Returns (B, T_q, T_k), True where a query may attend."""
    allowed = torch.ones(shape, dtype=torch.bool)
    if mask is not None:
        allowed &= mask[:, 0]
    return allowed.tril() if causal else allowed


def project(projection: nn.Module, x_btd: Tensor, mixer: Attention) -> Tensor:
    """Projects (B, T, D) → (B, H, T, d), keys and values once for each head that shares them."""
    split = isinstance(projection, SplitLinear)
    y = x_btd @ (torch.block_diag(*projection.weight) if split else projection.weight.T)
    return heads(y if projection.bias is None else y + projection.bias, mixer, projection is mixer.query)


def heads(y: Tensor, mixer: Attention, queries: bool = False) -> Tensor:
    count = mixer.num_heads if queries else mixer.num_kv_heads
    return y.unflatten(-1, (count, -1)).transpose(1, 2).repeat_interleave(mixer.num_heads // count, 1)


def attention_weights(mixer: Attention, x_btd: Tensor, allowed: Tensor) -> Tensor:
    """Computes weights (B, H, T, T) without positions; zeros for a query that may attend to nothing."""
    scores = torch.zeros(B, mixer.num_heads, T, T, dtype=x_btd.dtype)
    if mixer.score is not None:
        q, k = (project(p, x_btd, mixer) for p in (mixer.query, mixer.key or mixer.query))
        scores = FORMULAS[mixer.score.name](mixer.score, q, k)
    allowed = allowed.unsqueeze(1)
    scores = scores.masked_fill(~allowed, -torch.inf)
    best = nn.functional.one_hot(scores.argmax(-1), T)
    shares = {"softmax": scores.exp(), "hard": best, "uniform": torch.ones_like(scores)}
    shares = shares[mixer.weighting.name].double() * allowed
    return shares / shares.sum(-1, keepdim=True).clamp(min=1e-300)


def attention_output(mixer: Attention, x_btd: Tensor, weights: Tensor) -> Tensor:
    """Returns (B, T, D): the values' means with these weights, side by side, through W_O."""
    if mixer.value.reads_keys:
        v = project(mixer.key or mixer.query, x_btd, mixer)
    elif mixer.value.name == "low_rank":
        v = heads(x_btd @ mixer.value.down.weight.T @ mixer.value.up.weight.T, mixer)
    else:
        v = project(mixer.value.projection, x_btd, mixer)
    out = (weights @ v).transpose(1, 2).flatten(2) @ mixer.output.weight.T
    return out if mixer.output.bias is None else out + mixer.output.bias


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("settings", [*COMBINATIONS, *SWITCHES], ids=named)
@torch.no_grad()
def test_every_score_weighting_and_switch_under_every_mask(x, settings, causal, mask):
    mixer, mask = attention(causal=causal, **settings), MASKS[mask]
    allowed = allowed_pairs((B, T, T), mask, causal)
    weights, y = mixer.weights(x, NO_POSITION, mask), mixer(x, NO_POSITION, mask)
    if mixer.query_norm is None:  # what the norm does is seen below
        torch.testing.assert_close(weights, attention_weights(mixer, x, allowed))
    torch.testing.assert_close(y, attention_output(mixer, x, weights))
    assert (weights[~allowed.unsqueeze(1).expand_as(weights)] == 0).all()
    assert mixer.output.bias is not None or (y[~allowed.any(-1)] == 0).all()


def without_the_kernel(mixer, x, position, mask=None):
    v = mixer._shared(mixer.read(x)[1])
    return mixer.output((mixer.weights(x, position, mask) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("position", ["none", "tilt"])
@pytest.mark.parametrize("score", SCORES)
def test_fused_and_explicit_paths_agree(x, score, position, causal, mask):
    mixer, mask = attention(causal=causal, score=score), MASKS[mask]
    position = Tilt() if position == "tilt" else NO_POSITION
    results, leaves = [], [x.requires_grad_(), *mixer.parameters(), *position.parameters()]
    for y in (mixer(x, position, mask), without_the_kernel(mixer, x, position, mask)):
        results.append([y, *torch.autograd.grad((y * torch.arange(D)).sum(), leaves)])
    torch.testing.assert_close(*results)
    assert all(tensor.isfinite().all() for tensor in results[0])


@pytest.mark.parametrize(
    "settings", [{"score": s} for s in SCORES if s != "additive"] + [{"d_k": 3, "d_v": 5}], ids=named
)
def test_inner_products_never_form_the_weights(settings):
    """Also where the widths of keys and values differ, for which torch's kernel is not made."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Shapes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            seen.extend(
                tuple(t.shape) for t in torch.utils._pytree.tree_leaves(result) if hasattr(t, "shape")
            )
            return result

    seen: list[tuple[int, ...]] = []
    mixer, x = attention(causal=True, **settings), torch.randn(1, 50, D, dtype=torch.float64)
    with Shapes():
        mixer(x, NO_POSITION).square().sum().backward()
    assert seen
    assert not [shape for shape in seen if shape.count(50) > 1]


@pytest.mark.parametrize("qk_norm", [False, True])
def test_position_acts_on_queries_and_keys_once_they_are_normed_and_on_logits(x, qk_norm):
    mixer, position = attention(score="dot", qk_norm=qk_norm), Tilt()
    q, k = ((x @ p.weight.T).view(B, T, H, D // H) for p in (mixer.query, mixer.key))
    if qk_norm:
        q, k = mixer.query_norm(q), mixer.key_norm(k)
    logits = torch.einsum("bqhd,bkhd->bhqk", 2 * q.flip(-1), 1 + k)
    logits = logits + position.slope[:, None, None] * (torch.arange(T)[:, None] - torch.arange(T))
    torch.testing.assert_close(mixer.weights(x, position), logits.softmax(-1))


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
    (
        {"score": "bilinear", "d_q": 3, "d_k": 5, "num_heads": 4, "num_kv_heads": 2},
        {"query": (12, D), "key": (10, D)},
    ),
]


@pytest.mark.parametrize(("settings", "shapes"), SHAPES, ids=[str(s[0]) for s in SHAPES])
def test_projections_are_as_wide_as_the_settings_say(settings, shapes):
    weights = {name: tuple(p.shape) for name, p in attention(**settings).named_parameters()}
    assert {path: weights.get(f"{path}.weight") for path in shapes} == shapes


def test_values_that_are_the_keys_are_those_that_no_position_has_turned(x):
    shared, full = attention(value="shared_kv"), attention()
    full.key.weight = full.value.projection.weight = shared.key.weight
    torch.testing.assert_close(shared(x, Tilt()), full(x, Tilt()))
