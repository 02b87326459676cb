"""Seeds until it is settled: looks at the first seeds of a plan, each of which may decide and none of which revokes.

A study with `seeds: {min, max}` looks at every multiple of `min` up to `max`: K looks, the k-th at exactly the first
k·min seeds. Look k spends the share w_k = k/(1 + … + K) of the level, fixed beforehand, so that

    p_seq = min(1, min over the looks taken of p_k / w_k)

is a p-value whatever the test and whenever the looks end, by the union bound. A fixed plan is the case K = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.core.facts import Facts


@dataclass(frozen=True)
class Look:
    """The `number`-th of `count` looks, at the first `seeds` seeds."""

    number: int
    count: int
    seeds: int

    @property
    def weight(self) -> float:
        """The share of the level that it spends."""
        return weights(self.count)[self.number - 1]

    @property
    def early(self) -> bool:
        """Whether others were planned after it."""
        return self.number < self.count


def weights(count: int) -> list[float]:
    """w_1 … w_K of K looks."""
    return [2 * k / (count * (count + 1)) for k in range(1, count + 1)]


def p_sequential(p_by_look: Sequence[float], count: int) -> float:
    """p_seq after the first looks of `count`; a p that is NaN decides nothing."""
    known = [p / w for p, w in zip(p_by_look, weights(count), strict=False) if not math.isnan(p)]
    return min([1.0, *known])


def looks(facts: Facts) -> list[Look]:
    """The looks that a study has taken, the last at all of its seeds."""
    planned = facts.looks or [len(facts.seeds)]
    return [
        Look(k, len(planned), seeds)
        for k, seeds in enumerate(planned, start=1)
        if seeds <= len(facts.seeds) or k == 1
    ]
