"""A regular fraction of all combinations of two levels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

from ablate.base.errors import Invalid, Problem
from ablate.base.registry import PartConfig, register
from ablate.study.designs.design import Effect, Kind, T

MAX_FACTORS = 11
"""Above this the search for the best fraction takes more than a second."""
Words = tuple[int, ...]
"""Generators: each the sum of some basic factors, as bits."""


@register("design", "fractional")
class Fractional(Kind):
    """The fewest combinations of two levels a factor that keep a resolution: a regular 2^(k−p) fraction.

    At resolution 3 no two main effects are seen as one, at 4 no main effect and interaction of two, at 5 no two
    interactions of two. Of the fractions with the fewest combinations that hold the baseline it is the one of minimum
    aberration (Fries and Hunter 1980, Technometrics 22, 601–608).
    """

    crosses = True

    class Config(PartConfig):
        """How little the fraction may tell apart."""

        resolution: Literal[3, 4, 5] = 4
        "The least number of factors in a product that is the same in every combination."

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """See `Kind`: two levels a factor, and at least as many factors as the resolution."""
        rule = "has several levels, and a fraction takes two of each factor: the baseline's and one other"
        several = [
            Problem(rule, ("factors", path), number + 1) for path, number in levels.items() if number > 1
        ]
        if several:
            raise Invalid.many(several)
        count, resolution = len(levels), self.config.resolution
        if count < resolution:
            rule = f"does not exist: a fraction of resolution {resolution} takes {resolution} factors or more"
            raise Invalid(
                "design.resolution", rule, resolution, hint="Use `design: factorial`, or a lower one"
            )
        if count > MAX_FACTORS:
            raise Invalid("factors", "are too many for a fraction", count, f"at most {MAX_FACTORS}")

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`."""
        for cell in cells(len(levels), self.config.resolution)[1:]:
            yield tuple(of[0] if on else None for of, on in zip(levels, cell, strict=True))

    def aliases(self, levels: Mapping[str, int]) -> list[list[Effect]]:
        """See `Kind`."""
        chosen, found = cells(len(levels), self.config.resolution), defaultdict(list)
        for effect in (*combinations(range(len(levels)), 1), *combinations(range(len(levels)), 2)):
            # Its contrast over the cells, up to its sign: that of an interaction is the product of two factors'.
            contrast = tuple(sum(cell[i] for i in effect) % 2 for cell in chosen)
            found[contrast].append(tuple(list(levels)[i] for i in effect))
        return [together for together in found.values() if len(together) > 1]


def cells(num_factors: int, resolution: int) -> list[tuple[bool, ...]]:
    """Which factors have their other level in each of 2^(k−p) cells, the baseline's first, where none has.

    The first k − p factors take every combination; each of the others is the sum, modulo 2, of some of these.
    """
    basic, words = generators(num_factors, resolution)
    return [
        tuple(
            bool(cell >> i & 1) if i < basic else bool((cell & words[i - basic]).bit_count() % 2)
            for i in range(num_factors)
        )
        for cell in range(1 << basic)
    ]


@lru_cache(maxsize=32)
def generators(num_factors: int, resolution: int) -> tuple[int, Words]:
    """The number of basic factors, and the basic factors, as bits, of which each of the others is the sum."""
    for basic in range(1, num_factors):
        if words := _best(num_factors, basic, resolution):
            return basic, words
    return num_factors, ()


def _best(num_factors: int, basic: int, resolution: int) -> Words:
    """The generators of minimum aberration, by exhaustive search; none where no fraction has the resolution."""
    candidates = [word for word in range(1 << basic) if word.bit_count() >= resolution - 1]

    def fractions(
        words: Words, group: list[tuple[int, int]], start: int
    ) -> Iterator[tuple[list[int], Words]]:
        """Each after its pattern; `group`: products of some of `words`, as the basic factors and the others in each."""
        if len(words) == num_factors - basic:
            lengths = Counter(word.bit_count() + others for word, others in group[1:])
            yield [lengths[length] for length in range(resolution, num_factors + 1)], words
            return
        for index in range(start, len(candidates)):
            new = [(word ^ candidates[index], others + 1) for word, others in group]
            if all(word.bit_count() + others >= resolution for word, others in new):
                yield from fractions((*words, candidates[index]), group + new, index + 1)

    return min(fractions((), [(0, 0)], 0), default=([], ()))[1]
