"""Attention in every combination of its parts, and what it is by its definition: no kernels, no groups of heads."""

from typing import Any

import torch
from score_formulas import FORMULAS
from torch import Tensor, nn

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.positions import Position
from ablate.components.projection import SplitLinear
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
    """(B, T_q, T_k), True where a query may attend."""
    allowed = torch.ones(shape, dtype=torch.bool)
    if mask is not None:
        allowed &= mask[:, 0]
    return allowed.tril() if causal else allowed


def project(projection: nn.Module, x_btd: Tensor, mixer: Attention) -> Tensor:
    """(B, T, D) → (B, H, T, d), keys and values once for each head that shares them."""
    split = isinstance(projection, SplitLinear)
    y = x_btd @ (torch.block_diag(*projection.weight) if split else projection.weight.T)
    return heads(y if projection.bias is None else y + projection.bias, mixer, projection is mixer.query)


def heads(y: Tensor, mixer: Attention, queries: bool = False) -> Tensor:
    count = mixer.num_heads if queries else mixer.num_kv_heads
    return y.unflatten(-1, (count, -1)).transpose(1, 2).repeat_interleave(mixer.num_heads // count, 1)


def attention_weights(mixer: Attention, x_btd: Tensor, allowed: Tensor) -> Tensor:
    """(B, H, T, T), without positions; a row of zeros for a query that may attend to nothing."""
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
    """(B, T, D): the values' means with these weights, side by side, through W_O."""
    if mixer.value.reads_keys:
        v = project(mixer.key or mixer.query, x_btd, mixer)
    elif mixer.value.name == "low_rank":
        v = heads(x_btd @ mixer.value.down.weight.T @ mixer.value.up.weight.T, mixer)
    else:
        v = project(mixer.value.projection, x_btd, mixer)
    out = (weights @ v).transpose(1, 2).flatten(2) @ mixer.output.weight.T
    return out if mixer.output.bias is None else out + mixer.output.bias
