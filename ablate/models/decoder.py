"""The decoder: every position sees itself and earlier ones."""

from __future__ import annotations

from ablate.base.registry import register
from ablate.models.stack import Stack


@register("topology", "decoder")
class Decoder(Stack):
    """Blocks in which a position sees itself and earlier ones: causal (Radford et al. 2018)."""

    causal = True
