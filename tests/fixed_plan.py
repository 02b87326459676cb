"""The plan of a test that knows its cells."""

from collections.abc import Mapping, Sequence

from ablate.core.events import Progress
from ablate.core.record import Record
from ablate.core.trial import Cell


class FixedPlan:
    """A plan that asks for its cells once."""

    left = 0

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = list(cells)

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """All cells, the first time; then none."""
        cells, self._cells = self._cells, []
        return cells

    def hear(self, report: Progress) -> bool:
        """Ends no trial."""
        return False
