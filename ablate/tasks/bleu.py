"""BLEU of a corpus (Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation", section 2).

The geometric mean of the shares of a candidate's n-grams, n = 1 … 4, that its reference has too, over all examples
together; times a penalty where the candidates are shorter than the references. One reference, no smoothing: 0 where no
sequence of four words is right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ORDERS = range(1, 5)


def counted(candidate: Sequence[str], reference: Sequence[str]) -> list[int]:
    """Both lengths; then, for each n, the n-grams that both have, each as often as the one that has it less often."""
    grams = [
        [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (candidate, reference)]
        for n in ORDERS
    ]
    return [len(candidate), len(reference), *((ours & theirs).total() for ours, theirs in grams)]


def corpus_bleu(counts: NDArray[np.floating]) -> float:
    """BLEU, 0 to 1, from what `counted` gives for each example, (N, 6)."""
    written, wanted, *matches = counts.sum(0, dtype=np.float64)
    possible = [np.maximum(counts[:, 0] - n + 1, 0).sum(dtype=np.float64) for n in ORDERS]
    if min(matches) == 0:
        return 0.0
    logs = np.log(np.array(matches) / possible)
    return math.exp(min(0.0, 1 - wanted / written) + logs.mean())
