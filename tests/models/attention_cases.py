"""Attention in every combination of its parts, small enough to be checked by hand."""

from typing import Any

import torch
from torch import nn

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.positions import Position
from ablate.components.sizes import Sizes
from ablate.models.attention import Attention
from ablate.models.initialise import initialise

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
POSITIONS = CATALOGUE.names("position")


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


def position_for(name: str, mixer: Attention) -> Position:
    """A new one, of the widths that `mixer` has."""
    d_k = mixer.read(torch.zeros(1, 1, D).double())[0].shape[-1]
    sizes = Sizes(d_model=D, max_len=T, causal=mixer.is_causal, num_heads=mixer.num_heads, d_q=d_k, d_k=d_k)
    position = CATALOGUE.get("position", name).Config().build(sizes)
    initialise(position, seed=0)
    return position.double()


def named(settings: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in settings.items())
