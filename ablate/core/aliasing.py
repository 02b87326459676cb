"""Which effects the cells of a two-level design cannot tell apart (Box and Hunter 1961, Technometrics 3, 311–351).

A cell has every factor at the baseline's level (−1) or at its other one (+1). The contrast of a main effect is its
factor's column of signs, that of an interaction of two the product of two columns. Effects whose columns are equal, or
opposite, are aliases: what is seen of one is the sum, or the difference, of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

Effect = tuple[str, ...]
"""The path of a factor, or of two that interact."""


def alias_sets(signs: Mapping[str, Sequence[int]]) -> list[list[Effect]]:
    """Main effects and interactions of two factors, in sets of those that are seen as one, main effects first.

    `signs`: path → its column, ±1 a cell. An effect without an alias is a set of its own.
    """
    effects: list[Effect] = [*((path,) for path in signs), *combinations(signs, 2)]
    found: dict[tuple[int, ...], list[Effect]] = {}
    for effect in effects:
        column = _column(effect, signs)
        turned = tuple(-sign for sign in column)
        found.setdefault(turned if turned in found else column, []).append(effect)
    return list(found.values())


def _column(effect: Effect, signs: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    first, *others = (signs[path] for path in effect)
    return tuple(a * b for a, b in zip(first, others[0], strict=True)) if others else tuple(first)
