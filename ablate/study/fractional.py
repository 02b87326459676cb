"""Regular fractions of two-level factorials: the design, and the generators of each fraction."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ablate.base.errors import Invalid, Problem
from ablate.base.registry import PartConfig, register
from ablate.study.designs import Effect, Kind, T

# Resolution → number of factors → the generators: for each factor after the first, A, B, …, those that make it.
FRACTIONS: dict[int, dict[int, str]] = {
    3: {
        3: "AB",
        4: "ABC",
        5: "AB AC",
        6: "AB AC BC",
        7: "AB AC BC ABC",
        8: "ABC ABD ACD BCD",
        9: "AB AC AD BCD ABCD",
        10: "AB AC BC AD BCD ABCD",
        11: "AB AC BC AD BD ACD BCD",
    },
    4: {
        4: "ABC",
        5: "ABCD",
        6: "ABC ABD",
        7: "ABC ABD ACD",
        8: "ABC ABD ACD BCD",
        9: "ABC ABD ABE ACDE",
        10: "ABC ABD ABE ACDE BCDE",
        11: "ABC ABD ACD ABE ACE ADE",
    },
    5: {
        5: "ABCD",
        6: "ABCDE",
        7: "ABCDEF",
        8: "ABCD ABEF",
        9: "ABCDE ABCFG",
        10: "ABCD ABEF ACEG",
        11: "ABCD ABEF ACEG BDFG",
    },
}
MAX_FACTORS = max(FRACTIONS[3])


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
        """Raises `Invalid` unless factors have two levels each, and are at least as many as the resolution."""
        problems: list[Problem] = []
        for path, number in levels.items():
            if number > 1:
                rule = "has more than two levels; a fraction takes two of each factor: the baseline's and one other"
                problems.append(Problem(rule, ("factors", path), number + 1))
        if problems:
            raise Invalid.many(problems)
        num_factors = len(levels)
        resolution = self.config.resolution
        if num_factors < resolution:
            rule = f"does not exist: a fraction of resolution {resolution} takes {resolution} factors or more"
            hint = "Use `design: factorial`, or a lower one"
            raise Invalid("design.resolution", rule, resolution, hint=hint)
        if num_factors > MAX_FACTORS:
            rule = "are too many for a fraction"
            raise Invalid("factors", rule, num_factors, f"at most {MAX_FACTORS}")

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """Yields the cells of the fraction but the baseline."""
        for cell in cells(len(levels), self.config.resolution)[1:]:
            factors = zip(levels, cell, strict=True)
            yield tuple(levels_of_factor[0] if on else None for levels_of_factor, on in factors)

    def aliases(self, levels: Mapping[str, int]) -> list[list[Effect]]:
        """Returns sets of main effects and interactions of two that share a contrast, up to its sign."""
        factors = list(levels)
        places = range(len(factors))
        chosen = cells(len(factors), self.config.resolution)
        by_contrast: dict[tuple[int, ...], list[Effect]] = defaultdict(list)
        for effect in [*itertools.combinations(places, 1), *itertools.combinations(places, 2)]:
            # The contrast of an interaction is the product of those of two factors.
            contrast = tuple(sum(cell[index] for index in effect) % 2 for cell in chosen)
            by_contrast[contrast].append(tuple(factors[index] for index in effect))
        return [effects for effects in by_contrast.values() if len(effects) > 1]


def cells(num_factors: int, resolution: int) -> list[tuple[bool, ...]]:
    """Returns, for each of 2^(k−p) cells, which factors have their other level there.

    The baseline's cell, where none has, comes first. The first k − p factors take every combination; each of the others
    is the sum, modulo 2, of some of these.
    """
    generators = FRACTIONS[resolution][num_factors].split()
    basic = "ABCDEFG"[: num_factors - len(generators)]
    chosen: list[tuple[bool, ...]] = []
    for last_to_first in itertools.product((False, True), repeat=len(basic)):
        on = dict(zip(basic, reversed(last_to_first), strict=True))
        generated = [sum(on[factor] for factor in generator) % 2 == 1 for generator in generators]
        chosen.append((*on.values(), *generated))
    return chosen
