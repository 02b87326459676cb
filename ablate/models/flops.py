"""The cost of a pass through a model, counted without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ablate.components.positions import Position
from ablate.components.sizes import Part, parts_in
from ablate.core.signature import Signature
from ablate.models.memory import Memory


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of the matrix products on one example of `seq_len`.

    A product of (n × m) and (m × p) counts 2·n·m·p; products with masked numbers, and with the zeros that fill up
    narrower heads for a fused kernel, count as well. What a fused kernel computes again in the backward pass does not.
    """

    forward: int
    "Of a forward pass."
    training: int
    "Of a forward and a backward pass."
    beside: Mapping[str, int]
    "What the parts declare beside the products of a forward pass, by function; see `Part.beside`."


def flops_of(model: nn.Module, signature: Signature) -> Flops:
    """The cost of a model on the meta device."""
    model.eval()
    inputs: dict[str, torch.Tensor | None] = {"inputs": _example(signature)}
    if signature.source is not None:
        inputs["source"] = _example(signature.source)
    if signature.num_segments is not None:
        inputs["segments"] = torch.empty(1, signature.seq_len, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        with declared(model) as beside:
            logits = model(**inputs)
        forward = counter.get_total_flops()
        logits.sum().backward()
    return Flops(forward, counter.get_total_flops(), dict(sorted(beside.items())))


@contextmanager
def declared(model: nn.Module) -> Iterator[Counter[str]]:
    """The sum of what parts declare beside matrix products, of those called while the context is open."""
    found: Counter[str] = Counter()

    def declare(part: Part, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = [*args, *kwargs.values()]
        queries = next((x.shape[:-1].numel() for x in given if isinstance(x, torch.Tensor)), 0)
        keys = next((x.encoded_bsd.shape[1] for x in given if isinstance(x, Memory)), queries)
        # A position acts inside every mixer that it is given to.
        for each in (part, *(x for x in given if isinstance(x, Position))):
            found.update(each.beside(queries, keys))

    with ExitStack() as hooks:
        for part in set(parts_in(model)):
            hooks.enter_context(part.register_forward_pre_hook(declare, with_kwargs=True))
        yield found


def _example(signature: Signature) -> torch.Tensor:
    if signature.vocab_size is not None:
        return torch.empty(1, signature.seq_len, dtype=torch.long, device="meta")
    return torch.empty(1, signature.seq_len, signature.num_features or 0, device="meta")
