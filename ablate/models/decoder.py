"""The decoder: every position sees itself and earlier ones."""

from __future__ import annotations

from ablate.models.stack import Stack
from ablate.registry import register


@register("topology", "decoder")
class Decoder(Stack):
    """Blocks in which a position sees itself and earlier ones: causal (Radford et al. 2018)."""

    causal = True
