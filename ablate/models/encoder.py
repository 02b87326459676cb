"""The encoder: every position sees all."""

from __future__ import annotations

from ablate.base.registry import register
from ablate.models.stack import Stack


@register("topology", "encoder")
class Encoder(Stack):
    """Blocks in which every position sees all positions (Devlin et al. 2019)."""

    causal = False
