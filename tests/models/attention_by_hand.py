"""Attention read off its definition, one query and one key at a time; no kernels, no batches."""

import torch
from score_formulas import FORMULAS
from torch import Tensor, nn

from ablate.components.projection import SplitLinear
from ablate.models.attention import Attention


def allowed_pairs(shape: tuple[int, int, int], mask: Tensor | None, causal: bool) -> Tensor:
    """(B, T_q, T_k), True where a query may attend."""
    allowed = torch.ones(shape, dtype=torch.bool)
    if mask is not None:
        allowed &= mask[:, 0]
    return allowed.tril() if causal else allowed


def project(projection: nn.Module, x_btd: Tensor, heads: int) -> Tensor:
    """(B, T, D) → (B, T, H, d)."""
    split = isinstance(projection, SplitLinear)
    y = x_btd @ (torch.block_diag(*projection.weight) if split else projection.weight.T)
    y = y if projection.bias is None else y + projection.bias
    return y.reshape(*x_btd.shape[:2], heads, -1)


@torch.no_grad()
def attention_weights(mixer: Attention, x_btd: Tensor, allowed: Tensor) -> Tensor:
    """(B, H, T, T), without positions; a row of zeros for a query that may attend to nothing."""
    batch, length, _ = x_btd.shape
    weights = torch.zeros(batch, mixer.num_heads, length, length, dtype=x_btd.dtype)
    if mixer.score is not None:
        q = project(mixer.query, x_btd, mixer.num_heads)
        k = project(mixer.key or mixer.query, x_btd, mixer.num_kv_heads)
    group = mixer.num_heads // mixer.num_kv_heads
    for b in range(batch):
        for h in range(mixer.num_heads):
            for i in range(length):
                keys = allowed[b, i].nonzero().flatten().tolist()
                if not keys:
                    continue
                if mixer.score is None:
                    scores = torch.zeros(len(keys))
                else:
                    formula = FORMULAS[mixer.score.name]
                    scores = torch.tensor(
                        [formula(mixer.score, h, q[b, i, h], k[b, j, h // group]) for j in keys]
                    )
                for j, weight in zip(keys, _row(mixer.weighting.name, scores), strict=True):
                    weights[b, h, i, j] = weight
    return weights


def _row(weighting: str, scores: Tensor) -> list[float]:
    values = scores.tolist()
    if weighting == "softmax":
        exponentials = [float(torch.exp(a)) for a in scores]
        return [e / sum(exponentials) for e in exponentials]
    if weighting == "hard":
        return [float(j == values.index(max(values))) for j in range(len(values))]
    assert weighting == "uniform"
    return [1 / len(values)] * len(values)


def attention_output(mixer: Attention, x_btd: Tensor, weights: Tensor) -> Tensor:
    """(B, T, D): the values' means with these weights, side by side, through W_O."""
    if mixer.value.reads_keys:
        v = project(mixer.key or mixer.query, x_btd, mixer.num_kv_heads)
    elif mixer.value.name == "low_rank":
        v = (x_btd @ mixer.value.down.weight.T @ mixer.value.up.weight.T).unflatten(
            -1, (mixer.num_kv_heads, -1)
        )
    else:
        v = project(mixer.value.projection, x_btd, mixer.num_kv_heads)
    group = mixer.num_heads // mixer.num_kv_heads
    heads = []
    for h in range(mixer.num_heads):
        mean = torch.zeros(*x_btd.shape[:2], v.shape[-1], dtype=x_btd.dtype)
        for i in range(x_btd.shape[1]):
            for j in range(x_btd.shape[1]):
                mean[:, i] += weights[:, h, i, j, None] * v[:, j, h // group]
        heads.append(mean)
    out = torch.cat(heads, -1) @ mixer.output.weight.T
    return out if mixer.output.bias is None else out + mixer.output.bias
