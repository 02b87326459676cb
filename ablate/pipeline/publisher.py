"""The process that judges and draws the report of a run: it imports scipy and seaborn while trials train."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from ablate.base.errors import AblateError
from ablate.execution.child import Keeper, fresh, parent
from ablate.pipeline.publish import Page, Verdicts, make_report, publish, write_report
from ablate.records.folder import StudyFolder

FIRST = "seaborn"  # What takes longest to import.
NOT_NEEDED = ("scipy.stats", "scipy.cluster")  # Optional imports of seaborn that are slow and unused here.


class _Ended(Exception):
    """The process ended before its report was whole."""


class Publisher(Keeper):
    """Makes reports in a process of its own, and in this one where seaborn is imported already, as in a notebook.

    The process writes nothing: it sends the parts of a report, which are written here.
    """

    def __init__(self, in_process: bool = False) -> None:
        """`in_process`: makes them in this process, for a debugger."""
        self.in_process = in_process

    def prepare(self) -> None:
        """Starts the process, unless it runs or is not needed."""
        if not self.in_process and FIRST not in sys.modules:
            self.started(partial(fresh, __name__))

    def publish(self, folder: StudyFolder, warn: Callable[[str], None], judged: Callable[[], None]) -> None:
        """Writes verdicts and page of a study as `pipeline.publish.publish` does. Raises `AblateError`."""
        self.prepare()
        if self._child is None:
            return publish(folder, warn, judged)
        is_judged = False

        def judged_once() -> None:
            nonlocal is_judged
            if not is_judged:
                is_judged = True
                judged()

        self._child.send(folder)
        try:
            write_report(folder, self._parts(), warn, judged_once)
        except _Ended:
            # Killed, for instance where memory ran out. What goes wrong again in this process is raised here.
            publish(folder, warn, judged_once)
        finally:
            self.close()

    def _parts(self) -> Iterator[Verdicts | Page]:
        """Yields the parts of the report as they arrive. Raises `AblateError`, and `_Ended` where it is gone."""
        assert self._child is not None
        while True:
            try:
                part = self._child.connection.recv()
            except (EOFError, OSError):
                raise _Ended from None
            if isinstance(part, AblateError):
                raise part
            if part is None:
                return
            yield part


def main() -> None:
    """Runs the process: imports what draws, then makes each report that its driver asks for."""
    driver = parent()
    import_seaborn()
    import_report()
    with suppress(EOFError, OSError):  # a driver that is gone
        while True:
            folder = driver.recv()
            try:
                for part in make_report(folder):
                    driver.send(part)
            except AblateError as error:
                driver.send(AblateError(str(error)))
            else:
                driver.send(None)


def import_seaborn() -> None:
    """Imports seaborn without `scipy.stats`, which takes nearly as long to import as seaborn and draws nothing here.

    Seaborn does without scipy, but for clusters and densities: this is for processes of our own, not for a notebook.
    """
    if FIRST in sys.modules:
        return
    hidden = [name for name in NOT_NEEDED if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import seaborn  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]


def import_report() -> None:
    """Imports what a report is made with, while there is other work."""
    import ablate.report.page  # noqa: F401
