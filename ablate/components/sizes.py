"""The sizes that parts are built with, and the settings that several parts share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sizes:
    """Handed to every part beside its config. Later parts add fields; none changes its meaning."""

    d_model: int
    "D, width of the residual stream."
    max_len: int
    "Longest sequence the model is trained on."
    causal: bool = False
    "Whether a position sees only itself and earlier ones."
    num_heads: int = 1
    "H, inside attention."
    d_k: int = 0
    "Query and key width of one head, inside attention."
    d_v: int = 0
    "Value width of one head, inside attention."
    bias: bool = False
    "Whether projections have a bias, inside attention."
    dropout: Mapping[str, float] = field(default_factory=dict)
    'Rates by placement; a part makes its own sites: `Dropout(sizes.dropout.get("attention_weights", 0))`.'
