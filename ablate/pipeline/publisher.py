"""The process that makes the report of a run; it imports scipy and seaborn while trials train."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from ablate.base.errors import AblateError
from ablate.execution.child import Keeper, fresh, parent
from ablate.pipeline.publish import Page, Verdicts, make_report, publish, write_report
from ablate.records.folder import StudyFolder

SLOWEST_IMPORT = "seaborn"
"""The library for which a report would wait longest."""
NOT_NEEDED = ("scipy.stats", "scipy.cluster")
"""Optional imports of seaborn that are slow and unused here."""


class _Ended(Exception):
    """The process ended before its report was whole."""


class Publisher(Keeper):
    """The process that makes reports, or this one where seaborn is imported already.

    That is so in a notebook. The other process writes nothing: it sends the parts of a report, which are written here.
    """

    def __init__(self, in_process: bool = False) -> None:
        """Starts nothing; with `in_process` reports are made in this process, for a debugger."""
        self.in_process = in_process

    def start(self) -> None:
        """Starts the process, unless it runs or is not needed."""
        if not self.in_process and SLOWEST_IMPORT not in sys.modules:
            self.started(partial(fresh, __name__))

    def publish(
        self, folder: StudyFolder, warn: Callable[[str], None], on_verdicts: Callable[[], None]
    ) -> None:
        """Writes verdicts and page of a study as `pipeline.publish.publish` does. Raises `AblateError`."""
        self.start()
        if self._child is None:
            publish(folder, warn, on_verdicts)
            return
        has_verdicts = False

        def on_first_verdicts() -> None:
            nonlocal has_verdicts
            if not has_verdicts:
                has_verdicts = True
                on_verdicts()

        self._child.send(folder)
        try:
            write_report(folder, self._parts(), warn, on_first_verdicts)
        except _Ended:
            # Killed, for instance where memory ran out. What goes wrong again in this process is raised here.
            publish(folder, warn, on_first_verdicts)
        finally:
            self.close()

    def _parts(self) -> Iterator[Verdicts | Page]:
        """Yields the parts of the report as they arrive.

        Raises the `AblateError` of the process, and `_Ended` where the process is gone.
        """
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
    """Imports seaborn without parts of scipy that take nearly as long to import.

    Seaborn needs them for clusters and densities only, which are not drawn here. This is for processes of our own, not
    for a notebook.
    """
    if SLOWEST_IMPORT in sys.modules:
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
