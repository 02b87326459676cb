"""Every combination of levels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ablate.base.errors import Invalid
from ablate.base.registry import register
from ablate.study.designs.design import Kind, T

MAX_VARIANTS = 100_000


@register("design", "factorial")
class Factorial(Kind):
    """Every combination of the levels of all factors. Where a level removes the path of another, they are one."""

    crosses = True
    collapses = True

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """See `Kind`: not more than anyone trains."""
        count = math.prod(number + 1 for number in levels.values())
        if count > MAX_VARIANTS:
            rule = f"make {count:,} combinations; a factorial can have {MAX_VARIANTS:,}"
            raise Invalid("factors", rule, hint="Use `design: one_factor`, or fewer levels")

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`."""
        every = itertools.product(*((None, *of) for of in levels))
        next(every)
        yield from every
