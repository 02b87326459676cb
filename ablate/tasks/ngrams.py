"""An n-gram model of coded text: the baseline that a language model must beat.

Interpolated after Witten and Bell 1991 ("The zero-frequency problem"). For each order, with counts c, u(h) different
symbols after the context h, and q the model of the next lower order, whose context h′ is one symbol shorter (below the
first order, all symbols are equally likely):

    p(x | h) = (c(hx) + u(h) · q(x | h′)) / (c(h) + u(h))

Shapes: N is the number of windows, T + 1 the symbols of a window, all but the first of which are predicted.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MAX_ORDER = 8  # The largest order, in symbols of an n-gram, that is tried.
CODE_BITS = 62  # Bits of a number that codes an n-gram.


def ngram_losses(
    train: NDArray[np.int64], windows: NDArray[np.int64], num_symbols: int
) -> Iterator[NDArray[np.float64]]:
    """Yields, for each order from 1 to at most `MAX_ORDER`,
    the loss in nats of every predicted symbol of windows (N, T + 1): (N, T).

    train: the coded text that is counted, (M). The context of a symbol does not reach beyond its window, as for any
    other model.
    """
    num_windows, length = windows.shape
    chances = np.full((num_windows, length - 1), 1 / num_symbols)
    max_order = min(MAX_ORDER, int(CODE_BITS / math.log2(num_symbols)), length)
    for order in range(1, max_order + 1):
        ngrams, counts = np.unique(ngram_codes(train, order, num_symbols), return_counts=True)
        contexts, index = np.unique(ngrams // num_symbols, return_inverse=True)
        # The first symbol of a window is not predicted, and the next ones lack a context of this order.
        first = 1 if order == 1 else 0
        predicted = ngram_codes(windows, order, num_symbols)[:, first:]
        lower = chances[:, max(order - 2, 0) :]
        count = values_at(ngrams, counts, predicted)
        context_count = values_at(contexts, np.bincount(index, counts), predicted // num_symbols)
        different = values_at(contexts, np.bincount(index), predicted // num_symbols)
        smoothed = (count + different * lower) / np.maximum(context_count + different, 1)
        lower[:] = np.where(context_count, smoothed, lower)
        yield -np.log(chances)


def ngram_codes(text: NDArray[np.int64], order: int, num_symbols: int) -> NDArray[np.int64]:
    """Returns a number for each n-gram of `order` symbols along the last axis: (…, L) → (…, L − order + 1).

    Its digits in base `num_symbols` are the n-gram's symbols, the first of which is worth most; a number too large for
    64 bits wraps around.
    """
    codes = np.zeros_like(text[..., : text.shape[-1] - order + 1])
    for place in range(order):
        codes = codes * num_symbols + text[..., place : place + codes.shape[-1]]
    return codes


def values_at(
    keys: NDArray[np.int64], values: NDArray[np.int64], queries: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns the value of each queried key, in the shape of `queries`; 0 for a query that is not in `keys`, which must
    be sorted.
    """
    places = np.searchsorted(keys, queries).clip(max=len(keys) - 1)
    return np.where(keys[places] == queries, values[places], 0)
