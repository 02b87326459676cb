"""Masks: which positions are real, and which of them a query may attend to.

A mask is boolean and broadcastable to (B, 1, T_q, T_k), True where a query may attend. A position that no query
may attend to is padding.
"""

import torch
from torch import Tensor


def real_positions(mask: Tensor | None, length: int) -> Tensor | None:
    """Returns a boolean (B or 1, length), True at the key positions that some query may attend to by `mask`,
    broadcastable to (B, 1, T_q, length); None where `mask` is None.
    """
    if mask is None:
        return None
    leading = (None,) * (4 - mask.ndim)
    mask_bhqk = mask[leading]
    return mask_bhqk.expand(*mask_bhqk.shape[:-1], length).any(-2).any(1)


def with_future_masked(mask: Tensor | None, t_q: int, t_k: int, device: torch.device) -> Tensor:
    """Returns a boolean mask (…, T_q, T_k), True where the key is not later than the query and `mask` is True (None:
    everywhere). The last query is at the last key's position.
    """
    causal = torch.ones(t_q, t_k, dtype=torch.bool, device=device).tril(t_k - t_q)
    return causal if mask is None else mask & causal


def open_empty_rows(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the mask (…, T_q, T_k) with True throughout its all-False rows, and which rows these were, boolean (…,
    T_q, 1).

    A softmax over nothing is NaN, forwards and backwards: such rows attend everywhere, and the caller zeroes them
    afterwards.
    """
    empty = ~mask.any(-1, keepdim=True)
    return mask | empty, empty


def zero_padding(x_btd: Tensor, real_bt: Tensor | None) -> Tensor:
    """Returns a copy of `x_btd` with zeros where `real_bt`, (B or 1, T), is False; `x_btd` itself where `real_bt` is
    None.
    """
    return x_btd if real_bt is None else x_btd.masked_fill(~real_bt.unsqueeze(-1), 0)
