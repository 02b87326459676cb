"""Attention weights of any layer, head and example, and numbers that tell how the layers of a model behave.

Shapes: B batch, H heads, T_q queries, T_k keys. A weight is what a module's `weights` method gives for the
arguments of its forward pass, before dropout; masked weights are exactly zero.
"""

import inspect
import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ablate.components.activations import Activation
from ablate.components.feedforward import FeedForward
from ablate.components.masks import real_positions
from ablate.components.weightings import Weighting
from ablate.models.attention import Attention
from ablate.models.block import Block
from ablate.models.model import evaluating
from ablate.tasks.task import Batch

ENTROPY = "attention_entropy"
SIMILARITY = "head_similarity"


@dataclass(frozen=True)
class Seen:
    """The attention of one module on one batch."""

    weights: Tensor  # (B, H, T_q, T_k).
    logits: Tensor | None  # (B, H, T_q, T_k), −∞ where masked; None where weights are not made from scores.
    real_bq: Tensor  # (B, T_q), True for queries that are not padding and may attend to some key.
    real_bk: Tensor  # (B, T_k), True for keys that are not padding.


def attention_maps(model: nn.Module, batch: Batch, *, padding: float | None = None) -> dict[str, Tensor]:
    """Path of a module → its attention weights (B, H, T_q, T_k), in the order in which the model uses them.

    One forward pass in evaluation mode, without gradients; the model's mode is restored. Self-attention and
    cross-attention alike; empty for a model without attention. `padding` is the value in the rows and columns
    of padding; None leaves there what the model computes.
    """
    maps = {}
    for path, seen in look(model, batch).items():
        real = seen.real_bq[:, None, :, None] & seen.real_bk[:, None, None, :]
        maps[path] = seen.weights if padding is None else seen.weights.masked_fill(~real, padding)
    return maps


def entropy(weights: Tensor) -> Tensor:
    """−Σ_k w log w in nats: (B, H, T_q, T_k) → (B, H, T_q); 0 on one key, log T_k when spread over all."""
    return torch.special.entr(weights).sum(-1)


def similarity(weights: Tensor) -> Tensor:
    """Similarity of the heads: (B, H, T_q, T_k) → (B, T_q), the mean over pairs of heads; H is at least 2.

    1 − √JSD(w_g, w_h) with the Jensen–Shannon divergence in bits (Lin 1991), whose root is a metric (Endres and
    Schindelin 2003): 1 for two heads with equal weights, 0 for two that share no key. Clark et al. 2019 ("What
    does BERT look at?", section 6) compare heads by the same divergence.
    """
    pairs = []
    for g, h in itertools.combinations(range(weights.shape[1]), 2):
        a, b = weights[:, g], weights[:, h]
        nats = entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2
        # Rounding may make the divergence slightly negative.
        pairs.append(1 - (nats / math.log(2)).clamp(0, 1).sqrt())
    return torch.stack(pairs).mean(0)


def cut(split: Batch, weights: int) -> Iterator[Batch]:
    """The examples of a split, at a time so many that a head has about `weights` attention weights, at least one."""
    longest = max(tensor.shape[1] for tensor in (split.inputs, split.source) if tensor is not None)
    return split.chunks(max(1, weights // longest**2))


@torch.no_grad()
def look(model: nn.Module, batch: Batch) -> dict[str, Seen]:
    """Path of a module → its attention, in the order in which the model uses them; see `attention_maps`."""
    found: dict[str, Seen] = {}
    weighted: list[Tensor] = []

    def see(path: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        weighted.clear()
        weights = module.weights(*args, **kwargs)
        given = inspect.signature(module.weights).bind(*args, **kwargs)
        given.apply_defaults()
        # Without a mask of their own, queries are positions of the input, and keys of the source.
        masks = [given.arguments.get("mask", mask) for mask in (batch.mask, batch.source_mask)]
        real_q, real_k = map(real_positions, masks, weights.shape[2:])
        some_bq, all_bk = weights.sum(-1).amax(1) > 0, torch.ones_like(weights[:, 0, 0], dtype=torch.bool)
        found[path] = Seen(
            weights,
            weighted[-1] if weighted else None,
            some_bq if real_q is None else some_bq & real_q,
            all_bk if real_k is None else all_bk & real_k,
        )

    with ExitStack() as hooks, evaluating(model):
        for path, module in model.named_modules():
            if callable(getattr(type(module), "weights", None)):
                hooks.enter_context(module.register_forward_pre_hook(partial(see, path), with_kwargs=True))
            # The fused kernel forms no logits, and the method `weights` always does.
            if isinstance(module, Weighting) and module.reads_scores:
                hooks.enter_context(
                    module.register_forward_pre_hook(lambda _, args: weighted.append(args[0]))
                )
        model(**batch.model_inputs())
    return found


@contextmanager
def without_head(attention: Attention, head: int) -> Iterator[None]:
    """With the output of one head left out: its columns of W_O are zero."""
    weight = attention.output.weight.data
    width = weight.shape[1] // attention.num_heads
    columns = weight[:, head * width : (head + 1) * width]
    kept = columns.clone()
    columns.zero_()
    try:
        yield
    finally:
        columns.copy_(kept)


LOGIT, DEAD = "attention_logit_max", "dead_units"


def layer_metrics(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """Of all examples of `batches` and their real positions, in evaluation mode:

    attention_entropy     in nats, the mean over heads and queries; low: Zhai et al. 2023
    head_similarity       the mean over pairs of heads and queries (`similarity`); absent for a single head
    attention_logit_max   the largest logit that is not masked; high: Wortsman et al. 2023, section 3.1.1
    dead_units            share of the ReLU units of the feed-forward's hidden layer that are 0 at every position

    NAME/PATH is of the layer at PATH; NAME is the mean of the layers, of logits the largest. A model without
    attention, scores or ReLU lacks them. Sums are in float64.
    """
    totals: dict[str, dict[str, Tensor]] = {ENTROPY: {}, SIMILARITY: {}}
    largest: dict[str, Tensor] = {}
    with _active_units(model) as active:
        for batch in batches:
            for path, seen in look(model, batch).items():
                weights = seen.weights.double()
                values = {ENTROPY: entropy(weights).mean(1)}
                if weights.shape[1] > 1:
                    values[SIMILARITY] = similarity(weights)
                for name, value_bq in values.items():
                    total = torch.stack([(value_bq * seen.real_bq).sum(), seen.real_bq.sum()])
                    totals[name][path] = totals[name].get(path, 0) + total
                if seen.logits is not None:
                    top_bq = seen.logits.amax((1, 3)).masked_fill(~seen.real_bq, -torch.inf)
                    largest[path] = torch.maximum(largest.get(path, top_bq.max()), top_bq.max())
    layers = {
        name: {path: (total / n).item() for path, (total, n) in of.items()} for name, of in totals.items()
    }
    layers |= {
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
