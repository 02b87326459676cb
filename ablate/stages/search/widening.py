"""The plan of searches whose grid is widened while the best value of any lies at an edge, by their records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ablate.analysis.widening import AddedValue, GridSide
from ablate.stages.search.plan import SearchPlan

if TYPE_CHECKING:
    from ablate.core.record import Record
    from ablate.core.trial import Cell
    from ablate.stages.search.search import Search
    from ablate.stages.search.spec import SearchSpec


class WideningPlan(SearchPlan):
    """The plan of the searches of one grid, which is widened for all of them until no best value lies at an edge.

    The values that are added follow from the records of the rounds before, so that a search that was killed adds the
    same.
    """

    def __init__(
        self,
        spec: SearchSpec,
        searches_of: Callable[[SearchSpec], Sequence[Search]],
        enlist: Callable[[Sequence[Cell]], None],
    ) -> None:
        """`searches_of` makes the searches of one round; the settings of earlier rounds come first in each."""
        super().__init__(spec, searches_of(spec), enlist)
        self._searches_of = searches_of
        # Whether the grid is widened no further.
        self._is_final = False

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """Returns the cells that the searches need now, on a wider grid where that of the last round is too narrow."""
        cells = super().next_cells(records)
        while not cells and self.is_complete and not self._is_final:
            sides = [*sides_to_widen(self.spec, self.searches)]
            if not sides:
                self._is_final = True
                break
            self.spec = widened(self.spec, sides)
            self.searches = self._searches_of(self.spec)
            cells = super().next_cells(records)
        return cells

    @property
    def left(self) -> int:
        """The most trainings that the searches may ask for later, with those of wider grids."""
        left = super().left
        if self._is_final or any(search.failed for search in self.searches):
            return left
        return left + self.spec.most_added * len(self.spec.facts.seeds) * len(self.searches)

    @property
    def reason(self) -> str:
        """Why there are fewer trainings than announced, in words."""
        if not self._is_final:
            return super().reason
        return f"no best value asks for a wider grid, {super().reason}"


def sides_to_widen(spec: SearchSpec, searches: Sequence[Search]) -> Iterator[tuple[str, GridSide]]:
    """Yields the (path, side) at which a value is to be added: the best of some search lies there, and one is left."""
    from ablate.analysis.budgets import edge
    from ablate.analysis.search_table import searches_tabulated
    from ablate.stages.search.tuned import best_places

    table = searches_tabulated(spec.facts, [search.tried for search in searches])
    parameters = {parameter.path: parameter for parameter in spec.space.parameters}
    at_edge: set[tuple[str, GridSide | None]] = set()
    for search in searches:
        for place in best_places(spec, table, search.variant, search.task):
            for path, value in table.point(place).items():
                at_edge.add((path, edge(parameters[path], value)))
    for side, values in spec.outer.items():
        if values and side in at_edge:
            yield side


def widened(spec: SearchSpec, sides: Sequence[tuple[str, GridSide]]) -> SearchSpec:
    """Returns a search whose grid has the next value on each of these sides, after the settings of the grid so far."""
    added = spec.facts.added or []
    last_round = added[-1].round if added else 0
    outer = dict(spec.outer)
    space = spec.space
    for path, side in sides:
        (label, value), *rest = outer[path, side].items()
        outer[path, side] = dict(rest)
        space = space.with_choice(path, label, value)
        added = [*added, AddedValue(path, side, label, last_round + 1)]

    tried = {frozenset(point.items()) for point in spec.grid}
    grid = [*spec.grid]
    grid += [point for point in space.grid() if frozenset(point.items()) not in tried]
    facts = replace(spec.facts, parameters=list(space.parameters), trials=len(grid), added=added)
    return replace(spec, space=space, facts=facts, grid=grid, outer=outer)
