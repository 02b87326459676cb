"""One change at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ablate.base.registry import register
from ablate.study.designs.design import Kind, T


@register("design", "one_factor")
class OneFactor(Kind):
    """One change at a time: each level of each factor beside the baseline."""

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`."""
        for index, of in enumerate(levels):
            for level in of:
                yield tuple(level if other == index else None for other in range(len(levels)))
