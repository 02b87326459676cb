"""An n-gram model of coded text: the baseline that a language model must beat.

Interpolated after Witten and Bell 1991 ("The zero-frequency problem"). Of an order, with counts c, u(h) different
symbols after h, and q the next lower order, which knows one symbol less (below the first, all are equally likely):

    p(x | h) = (c(hx) + u(h) · q(x | h′)) / (c(h) + u(h))
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

ORDERS = 8  # The largest order, in symbols of an n-gram, that is tried.


def ngram_losses(
    train: NDArray[np.int64], windows: NDArray[np.int64], num_symbols: int
) -> Iterator[NDArray[np.float64]]:
    """For each order from 1, the loss in nats of all symbols but the first of windows, (N, T + 1) → (N, T).

    Of what is before a symbol the model knows its window alone, as any other does.
    """
    count, length = windows.shape
    found = np.full((count, length - 1), 1 / num_symbols)
    for order in range(1, min(ORDERS, int(62 / math.log2(num_symbols)), length) + 1):
        ngrams, counts = np.unique(coded(train, order, num_symbols), return_counts=True)
        contexts, index = np.unique(ngrams // num_symbols, return_inverse=True)
        # The symbols of a window before which there is enough of it.
        asked = coded(windows, order, num_symbols)[:, int(order == 1) :]
        lower = found[:, max(order - 2, 0) :]
        times = values_of(ngrams, counts, asked)
        before = values_of(contexts, np.bincount(index, counts), asked // num_symbols)
        different = values_of(contexts, np.bincount(index), asked // num_symbols)
        lower[:] = np.where(before, (times + different * lower) / np.maximum(before + different, 1), lower)
        yield -np.log(found)


def coded(text: NDArray[np.int64], order: int, num_symbols: int) -> NDArray[np.int64]:
    """A number for each n-gram of the last axis: its symbols as digits, the first of them worth most."""
    coded = np.zeros_like(text[..., : text.shape[-1] - order + 1])
    for place in range(order):
        coded = coded * num_symbols + text[..., place : place + coded.shape[-1]]
    return coded


def values_of(
    keys: NDArray[np.int64], values: NDArray[np.int64], asked: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The value of each key that is asked for, 0 where it is none of the sorted `keys`."""
    places = np.searchsorted(keys, asked).clip(max=len(keys) - 1)
    return np.where(keys[places] == asked, values[places], 0)
