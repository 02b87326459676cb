"""The encoder: every position sees all."""

from __future__ import annotations

from ablate.models.stack import Stack
from ablate.registry import register


@register("topology", "encoder")
class Encoder(Stack):
    """Blocks in which every position sees all positions (Devlin et al. 2019)."""

    causal = False
