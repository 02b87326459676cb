"""The cost of a pass through a model, counted without running it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ablate.core.signature import Signature


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of the matrix products on one example of `seq_len`.

    A product of (n × m) and (m × p) counts 2·n·m·p; masked products count as well.
    """

    forward: int
    "Of a forward pass."
    training: int
    "Of a forward and a backward pass, recomputation in the backward pass included."


def flops_of(model: nn.Module, signature: Signature) -> Flops:
    """The cost of a model on the meta device."""
    model.eval()
    inputs: dict[str, torch.Tensor | None] = {"inputs": _example(signature)}
    if signature.source is not None:
        inputs["source"] = _example(signature.source)
    if signature.num_segments is not None:
        inputs["segments"] = torch.empty(1, signature.seq_len, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        logits = model(**inputs)
        forward = counter.get_total_flops()
        logits.sum().backward()
    return Flops(forward, counter.get_total_flops())


def _example(signature: Signature) -> torch.Tensor:
    if signature.vocab_size is not None:
        return torch.empty(1, signature.seq_len, dtype=torch.long, device="meta")
    return torch.empty(1, signature.seq_len, signature.num_features or 0, device="meta")
