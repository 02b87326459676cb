"""Attention by torch's fused kernel, which never forms the weights.

Shapes: B batch, H heads; q (B, H, T_q, d_k), k (B, H, T_k, d_k), v (B, H, T_k, d_v).
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from ablate.components.masks import open_empty_rows, with_future_masked


def fused_attention(
    inner: tuple[Tensor, Tensor, float],
    v: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    causal: bool,
) -> Tensor:
    """Returns softmax(scale · qᵀk + bias) v, (B, H, T_q, d_v), by torch's fused kernel; zeros for a query whose keys
    are all masked.

    `inner` is q, k and the scale; `mask` is boolean, True where a query may attend; `causal` hides later keys. The
    kernel is made for q, k and v of one width, and forms the weights for others: zeros fill up the narrower ones.
    """
    q, k, scale = inner
    width = max(q.shape[-1], v.shape[-1])
    kernel_masks_future = causal and mask is None and bias is None
    if causal and not kernel_masks_future:
        mask = with_future_masked(mask, q.shape[2], k.shape[2], q.device)

    added = None if bias is None else bias.unsqueeze(0)
    empty = None
    if mask is not None:
        mask, empty = open_empty_rows(mask)
        added = mask if added is None else added.masked_fill(~mask, -torch.inf)
    mixed = F.scaled_dot_product_attention(
        _widened(q, width),
        _widened(k, width),
        _widened(v, width),
        attn_mask=added,
        is_causal=kernel_masks_future,
        scale=scale,
    )
    if empty is not None:
        mixed = mixed.masked_fill(empty, 0)
    return mixed[..., : v.shape[-1]]


def _widened(x: Tensor, width: int) -> Tensor:
    """Returns x with zeros appended to its features: (…, d) → (…, width), width at least d."""
    missing = width - x.shape[-1]
    return F.pad(x, (0, missing)) if missing else x
