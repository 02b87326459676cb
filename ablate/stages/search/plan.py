"""Searches as one plan of the driver (`core.events.Plan`): several proceed together, so that all workers are busy."""

from collections.abc import Callable, Mapping, Sequence

from ablate.core.events import Plan, Progress
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.stages.search.search import Search
from ablate.stages.search.spec import SearchSpec


class SearchPlan(Plan):
    """The plan of several searches; `cells` are all that they have asked for, by trial id."""

    def __init__(
        self, spec: SearchSpec, searches: Sequence[Search], enlist: Callable[[Sequence[Cell]], None]
    ) -> None:
        """`spec` is that of all searches; `enlist` hears of cells before they are trained."""
        self.spec = spec
        self.searches = searches
        self.enlist = enlist
        self.cells: dict[str, Cell] = {}

    def next_cells(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """Returns the cells that the searches need now."""
        cells: list[Cell] = []
        for search in self.searches:
            cells += search.next_cells(records)
        fresh: dict[str, Cell] = {}
        for cell in reversed(cells):
            # Of searches that share a trial, the first one's cell is kept.
            if cell.id not in self.cells:
                fresh[cell.id] = cell
        self.cells |= fresh
        self.enlist(cells)
        return cells

    def should_prune(self, report: Progress) -> bool:
        """Returns whether a setting that waits ends here."""
        # Each of the searches that share the trial keeps the report, so that all are asked.
        decisions = [search.should_prune(report) for search in self.searches]
        return any(decisions)

    @property
    def is_complete(self) -> bool:
        """True once every search has come to its end, and none by a failed trial."""
        return all(search.complete for search in self.searches)

    @property
    def left(self) -> int:
        """The most trainings that the searches may ask for later."""
        return sum(search.left for search in self.searches)

    @property
    def reason(self) -> str:
        """Why there are fewer trainings than announced, in words."""
        return "settings were pruned or cannot be built, or their trials are shared or in the store"
