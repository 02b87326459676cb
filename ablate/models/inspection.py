"""Attention weights of any layer, head and example, and numbers that tell how the layers of a model behave.

Shapes: B batch, H heads, T_q queries, T_k keys. A weight is what a module's `weights` method gives for the
arguments of its forward pass, before dropout; masked weights are exactly zero.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
LOGIT = "attention_logit_max"
DEAD = "dead_units"


@dataclass(frozen=True)
class LayerAttention:
    """The weights and logits of one attention module on one batch, and which of its queries and keys are real."""

    weights: Tensor  # (B, H, T_q, T_k).
    logits: Tensor | None  # (B, H, T_q, T_k), −∞ where masked; None where weights are not made from scores.
    real_bq: Tensor  # (B, T_q), True for queries that are not padding and may attend to some key.
    real_bk: Tensor  # (B, T_k), True for keys that are not padding.


def attention_maps(model: nn.Module, batch: Batch, *, padding: float | None = None) -> dict[str, Tensor]:
    """Returns each attention module's weights (B, H, T_q, T_k), before dropout, by its path, in the order of use;
    empty without attention.

    One forward pass in evaluation mode, without gradients; the model's mode is restored. Self-attention and
    cross-attention alike. `padding` is the value in the rows and columns of padding; None leaves there what the model
    computes.
    """
    maps = {}
    for path, layer in attention_by_layer(model, batch).items():
        maps[path] = layer.weights
        if padding is not None:
            real = layer.real_bq[:, None, :, None] & layer.real_bk[:, None, None, :]
            maps[path] = layer.weights.masked_fill(~real, padding)
    return maps


def entropy(weights: Tensor) -> Tensor:
    """Returns the entropy −Σ_k w log w of each query's weights in nats: (B, H, T_q, T_k) → (B, H, T_q).

    It is 0 on one key, and log T_k when spread over all.
    """
    return torch.special.entr(weights).sum(-1)


def similarity(weights: Tensor) -> Tensor:
    """Returns the mean over pairs of heads of their similarity 1 − √JSD, 0 to 1: weights (B, H, T_q, T_k) → (B, T_q); H
    must be at least 2.

    Similarity is 1 − √JSD(w_g, w_h) with the Jensen–Shannon divergence in bits (Lin 1991), whose root is a metric
    (Endres and Schindelin 2003): 1 for two heads with equal weights, 0 for two that share no key. Clark et al. 2019
    ("What does BERT look at?", section 6) compare heads by the same divergence.
    """
    pairs = []
    for g, h in itertools.combinations(range(weights.shape[1]), 2):
        a, b = weights[:, g], weights[:, h]
        nats = entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2
        # Rounding may make the divergence slightly negative.
        pairs.append(1 - (nats / math.log(2)).clamp(0, 1).sqrt())
    return torch.stack(pairs).mean(0)


def cut(split: Batch, weights: int) -> Iterator[Batch]:
    """Yields a split's examples in order, in batches on each of which one head has at most `weights` attention weights;
    in batches of one example where a single example has more.

    A batch has `weights` // L² examples, L being the longer of input and source.
    """
    lengths = [tensor.shape[1] for tensor in (split.inputs, split.source) if tensor is not None]
    return split.chunks(max(1, weights // max(lengths) ** 2))


@torch.no_grad()
def attention_by_layer(model: nn.Module, batch: Batch) -> dict[str, LayerAttention]:
    """Returns each attention module's `LayerAttention` (weights, logits, real positions) by path, in order of use.

    One forward pass in evaluation mode, as in `attention_maps`. An attention module is one with a method `weights`.
    """
    layers: dict[str, LayerAttention] = {}
    logits: list[Tensor] = []

    def record(path: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Sets `layers[path]` to the `LayerAttention` of an attention module that is about to be called."""
        logits.clear()
        # The fused kernel forms no logits, and the method `weights` always does.
        weights = module.weights(*args, **kwargs)
        arguments = inspect.signature(module.weights).bind(*args, **kwargs)
        arguments.apply_defaults()
        # Without a mask of their own, queries are positions of the input, and keys of the source.
        query_mask = arguments.arguments.get("mask", batch.mask)
        key_mask = arguments.arguments.get("mask", batch.source_mask)
        layers[path] = LayerAttention(
            weights,
            logits=logits[-1] if logits else None,
            real_bq=_real_queries(weights, query_mask),
            real_bk=_real_keys(weights, key_mask),
        )

    def record_logits(weighting: Weighting, args: tuple[Tensor]) -> None:
        """Appends to `logits` the masked logits that a weighting is about to be given."""
        logits.append(args[0])

    with ExitStack() as hooks, evaluating(model):
        for path, module in model.named_modules():
            if callable(getattr(type(module), "weights", None)):
                hooks.enter_context(module.register_forward_pre_hook(partial(record, path), with_kwargs=True))
            if isinstance(module, Weighting) and module.reads_scores:
                hooks.enter_context(module.register_forward_pre_hook(record_logits))
        model(**batch.model_inputs())
    return layers


def _real_queries(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Returns which queries attend to some key and are not padding, booleans (B, T_q), from weights (B, H, T_q, T_k);
    where `mask` is None, no query is padding.
    """
    attends_bq = weights.sum(-1).amax(1) > 0
    real = real_positions(mask, weights.shape[2])
    return attends_bq if real is None else attends_bq & real


def _real_keys(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Returns which keys are real, booleans (B, T_k): those that `mask` lets some query attend to, or all where `mask`
    is None.

    weights: (B, H, T_q, T_k), of which only shape and device are read.
    """
    all_bk = torch.ones_like(weights[:, 0, 0], dtype=torch.bool)
    real = real_positions(mask, weights.shape[3])
    return all_bk if real is None else all_bk & real


@contextmanager
def without_head(attention: Attention, head: int) -> Iterator[None]:
    """Sets to zero, in place, the columns of W_O that read head number `head`, counted from 0, while the context is
    open; then restores them.
    """
    weight = attention.output.weight.data
    width = weight.shape[1] // attention.num_heads
    columns = weight[:, head * width : (head + 1) * width]
    kept = columns.clone()
    columns.zero_()
    try:
        yield
    finally:
        columns.copy_(kept)


def layer_metrics(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """Returns up to four metrics of a model's layers over the real positions of all batches: NAME → value of all layers
    together, NAME/PATH → value of the layer at PATH.

    attention_entropy     in nats, the mean over heads and queries; low: Zhai et al. 2023
    head_similarity       the mean over pairs of heads and queries (`similarity`); absent for a single head
    attention_logit_max   the largest logit that is not masked; high: Wortsman et al. 2023, section 3.1.1
    dead_units            share of the ReLU units of the feed-forward's hidden layer that are 0 at every position

    NAME/PATH is of the layer at PATH; NAME is the mean of the layers, of logits the largest. A model without
    attention, scores or ReLU lacks them. Passes are in evaluation mode, sums in float64.
    """
    entropies: dict[str, Tensor] = {}
    similarities: dict[str, Tensor] = {}
    largest: dict[str, Tensor] = {}
    with _active_units(model) as active:
        for batch in batches:
            for path, layer in attention_by_layer(model, batch).items():
                weights = layer.weights.double()
                _add_queries(entropies, path, entropy(weights).mean(1), layer.real_bq)
                if weights.shape[1] > 1:
                    _add_queries(similarities, path, similarity(weights), layer.real_bq)
                if layer.logits is not None:
                    top = _largest_logit(layer.logits, layer.real_bq)
                    largest[path] = torch.maximum(largest.get(path, top), top)
    return {
        **_summarised(ENTROPY, _means(entropies), fmean),
        **_summarised(SIMILARITY, _means(similarities), fmean),
        **_summarised(LOGIT, {path: top.item() for path, top in largest.items()}, max),
        **_summarised(DEAD, {path: _share_dead(active_n) for path, active_n in active.items()}, fmean),
    }


def _add_queries(sums: dict[str, Tensor], path: str, value_bq: Tensor, real_bq: Tensor) -> None:
    """Adds to `sums[path]`, which begins at 0, a tensor of two numbers: the sum of `value_bq` over real queries, and
    the number of real queries.
    """
    total = torch.stack([(value_bq * real_bq).sum(), real_bq.sum()])
    sums[path] = sums.get(path, 0) + total


def _means(sums: Mapping[str, Tensor]) -> dict[str, float]:
    """Returns each layer's mean by path: the sum divided by the number of real queries, which `_add_queries` has put
    into `sums`; NaN where the number is 0.
    """
    return {path: (total / number).item() for path, (total, number) in sums.items()}


def _largest_logit(logits: Tensor, real_bq: Tensor) -> Tensor:
    """Returns the largest of the logits (B, H, T_q, T_k) at real queries, as a tensor without axes; −∞ where no query
    is real.
    """
    return logits.amax((1, 3)).masked_fill(~real_bq, -torch.inf).max()


def _share_dead(active_n: Tensor) -> float:
    """Returns the share, 0 to 1, of units (N) that are False in `active_n`."""
    return 1 - active_n.double().mean().item()


def _summarised(
    name: str, by_path: Mapping[str, float], summary: Callable[[Iterable[float]], float]
) -> dict[str, float]:
    """Returns `name` → summary of all layers' values, and `name`/PATH → value of each layer; empty without layers."""
    if not by_path:
        return {}
    layers = {f"{name}/{path}": value for path, value in by_path.items()}
    return {name: summary(by_path.values()), **layers}


def measurable(model: nn.Module) -> set[str]:
    """Returns the names, out of `dead_units` and `attention_logit_max`, of the metrics that `layer_metrics` gives for a
    model.
    """
    names: set[str] = set()
    for module in model.modules():
        if _relu_in(module) is not None:
            names.add(DEAD)
        if isinstance(module, Weighting) and module.reads_scores:
            names.add(LOGIT)
    return names


def _relu_in(module: nn.Module) -> Activation | None:
    """Returns the ungated ReLU of a feed-forward; None for a module of another kind or with another activation."""
    activation = getattr(module, "activation", None) if isinstance(module, FeedForward) else None
    if not isinstance(activation, Activation) or activation.gated:
        return None
    # By its function, which an activation with parameters lacks: a model that names the part here would depend on it,
    # whatever its own activation is.
    function = getattr(activation, "function", None)
    return activation if function is F.relu else None


@contextmanager
def _active_units(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Yields a dict that each pass through a model updates while the context is open: path of a feed-forward → booleans
    (N), True for its ReLU units that were above 0 at a real position in any pass.
    """
    active: dict[str, Tensor] = {}
    # The mask of the block that is being called.
    real_bt: Tensor | None = None

    def enter(block: Block, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Sets `real_bt` to the argument `real_bt` of the block call that is about to run, or to None where the call
        omits that argument.
        """
        nonlocal real_bt
        real_bt = inspect.signature(block.forward).bind(*args, **kwargs).arguments.get("real_bt")

    def record(path: str, activation: nn.Module, args: Any, hidden_btn: Tensor) -> None:
        """Sets to True, in `active[path]`, the units of an activation's output above 0 at a real position."""
        on_btn = hidden_btn > 0
        if real_bt is not None:
            on_btn = on_btn & real_bt.unsqueeze(-1)
        on_n = on_btn.flatten(0, -2).any(0)
        active[path] = active.get(path, on_n) | on_n

    with ExitStack() as hooks:
        for path, module in model.named_modules():
            if isinstance(module, Block):
                hooks.enter_context(module.register_forward_pre_hook(enter, with_kwargs=True))
            relu = _relu_in(module)
            if relu is not None:
                hooks.enter_context(relu.register_forward_hook(partial(record, path)))
        yield active
