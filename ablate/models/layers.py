"""How the layers of a trained model behave: numbers that go with unstable training.

B batch, H heads, T positions, T_q queries, T_k keys, N hidden units.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.components.activations import Activation
from ablate.components.feedforward import FeedForward
from ablate.components.weightings import Weighting
from ablate.models.block import Block
from ablate.models.inspection import ENTROPY, entropy, look
from ablate.tasks.task import Batch

LOGIT, DEAD = "attention_logit_max", "dead_units"


def layer_metrics(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """Of all examples of `batches` and their real positions, in evaluation mode:

    attention_entropy     in nats, the mean over heads and queries; low: Zhai et al. 2023
    attention_logit_max   the largest logit that is not masked; high: Wortsman et al. 2023, section 3.1.1
    dead_units            share of the ReLU units of the feed-forward's hidden layer that are 0 at every position

    NAME/PATH is of the layer at PATH; NAME is the mean of the layers, of logits the largest. A model without
    attention, scores or ReLU lacks them.
    """
    totals: dict[str, Tensor] = {}
    largest: dict[str, Tensor] = {}
    with _active_units(model) as active:
        for batch in batches:
            for path, seen in look(model, batch).items():
                value_bq = entropy(seen.weights.double()).mean(1)
                total = torch.stack([(value_bq * seen.real_bq).sum(), seen.real_bq.sum()])
                totals[path] = totals.get(path, 0) + total
                if seen.logits is not None:
                    top_bq = seen.logits.amax((1, 3)).masked_fill(~seen.real_bq, -torch.inf)
                    largest[path] = torch.maximum(largest.get(path, top_bq.max()), top_bq.max())
    layers = {
        ENTROPY: {path: (total / count).item() for path, (total, count) in totals.items()},
        LOGIT: {path: top.item() for path, top in largest.items()},
        DEAD: {path: 1 - active_n.double().mean().item() for path, active_n in active.items()},
    }
    found: dict[str, float] = {}
    for name, by_path in layers.items():
        if by_path:
            found[name] = max(by_path.values()) if name == LOGIT else fmean(by_path.values())
            found |= {f"{name}/{path}": value for path, value in by_path.items()}
    return found


def measurable(model: nn.Module) -> set[str]:
    """Of the numbers that tell better from worse, those that `layer_metrics` has for a model."""
    modules = list(model.modules())
    found = {DEAD for module in modules if _has_units(module)}
    return found | {LOGIT for module in modules if isinstance(module, Weighting) and module.reads_scores}


def _has_units(module: nn.Module) -> bool:
    # By its function: a model that names the part here would depend on it, whatever its own activation is.
    activation = getattr(module, "activation", None) if isinstance(module, FeedForward) else None
    known = isinstance(activation, Activation) and not activation.gated
    return known and getattr(activation, "function", None) is F.relu


@contextmanager
def _active_units(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Path of a feed-forward → (N), the units that were above 0 at some real position while the context was open."""
    active: dict[str, Tensor] = {}
    real: list[Tensor | None] = [None]

    def enter(block: Block, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        real[0] = inspect.signature(block.forward).bind(*args, **kwargs).arguments.get("real_bt")

    def see(path: str, hidden_btn: Tensor) -> None:
        on_btn = hidden_btn > 0
        if real[0] is not None:
            on_btn = on_btn & real[0].unsqueeze(-1)
        on_n = on_btn.flatten(0, -2).any(0)
        active[path] = active.get(path, on_n) | on_n

    handles = [
        module.register_forward_pre_hook(enter, with_kwargs=True)
        for module in model.modules()
        if isinstance(module, Block)
    ]
    handles += [
        module.activation.register_forward_hook(lambda module, args, output, path=path: see(path, output))
        for path, module in model.named_modules()
        if _has_units(module)
    ]
    try:
        yield active
    finally:
        for handle in handles:
            handle.remove()
