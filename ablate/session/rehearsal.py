"""A run that trains nothing: it goes as far as the store does, and stops at the first trials to train."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ablate.core.events import Plan
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.execution.driver import rehearse
from ablate.records.store import Store
from ablate.session.options import Options
from ablate.session.session import Session

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.records.folder import StudyFolder
    from ablate.study.document import Document


class Rehearsal(Session):
    """A session that starts no process, holds no lock, and lists no trial. Its training raises `NextBatch`."""

    def __init__(
        self,
        document: Document,
        folder: StudyFolder,
        options: Options,
        console: Console,
        *,
        read_only: bool = False,
    ) -> None:
        """`read_only`: whether the store is left as it is, damaged records too."""
        super().__init__(document, folder, options, console)
        self.store = Store(self.store.root, self.warn, read_only=read_only)

    def train(
        self,
        plan: Plan,
        *,
        later: int = 0,
        wanted: Callable[[Cell], bool] = lambda cell: True,
        fresh: bool = False,
    ) -> Mapping[str, Record]:
        """Returns the records that a plan asks for, by trial id. Raises `NextBatch` where the store lacks one.

        fresh: not heeded, since what is finished is no batch.
        """
        return rehearse(plan, self.store, wanted=wanted, later=later)

    def enlist(self, cells: Sequence[Cell]) -> None:
        """Lists nothing: who asks for a batch lists it."""
