"""The process that judges and draws the report of a run; it imports scipy and seaborn while trials train."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.execution.child import Keeper, fresh, parent
from ablate.pipeline.judging import Verdicts, judge_evidence, verdicts_of
from ablate.records.folder import StudyFolder

if TYPE_CHECKING:
    from ablate.report.section import ReportData

SLOWEST_IMPORT = "seaborn"
"""The library for which a report would wait longest."""
NOT_NEEDED = ("scipy.stats", "scipy.cluster")
"""Optional imports of seaborn that are slow and unused here."""


@dataclass(frozen=True)
class Page:
    """The page of a report and its figures."""

    # Path in the study's folder → content.
    files: Mapping[str, str | bytes]
    # What was not drawn, and why.
    faults: Sequence[str]


class Reporter(Keeper):
    """The process that judges and draws a study, or this one where seaborn is imported already, as in a notebook.

    The other process writes nothing: it sends verdicts and page, which are written here.
    """

    def __init__(self, *, in_process: bool = False) -> None:
        """Starts nothing; with `in_process` all is done in this process, for a debugger."""
        self.in_process = in_process
        # What this process has judged last.
        self._data: ReportData | None = None

    def start(self) -> None:
        """Starts the process, unless it runs or is not needed."""
        if not self.in_process and SLOWEST_IMPORT not in sys.modules:
            self.started(partial(fresh, __name__))

    def judge(self, folder: StudyFolder) -> Verdicts:
        """Returns the verdicts on the evidence in a folder; the process goes on to draw it. Raises `AblateError`."""
        self._data = None
        self.start()
        if self._child is not None:
            self._child.send(folder)
            verdicts = self._received()
            if isinstance(verdicts, Verdicts):
                return verdicts
            # Killed, for instance where memory ran out. What goes wrong again in this process is raised here.
            self.close()
        self._data = judge_evidence(folder)
        return verdicts_of(self._data, folder)

    def draw(self, folder: StudyFolder) -> Page:
        """Returns page and figures of the folder that was judged last, and ends the process.

        Judges again where the process has ended before. Raises `AblateError`.
        """
        if self._child is not None:
            page = self._received()
            self.close()
            if isinstance(page, Page):
                return page
        if self._data is None:
            self._data = judge_evidence(folder)
        return draw_page(self._data)

    def _received(self) -> Verdicts | Page | None:
        """Returns the next answer of the process; None where it has ended. Raises the `AblateError` of the process."""
        assert self._child is not None
        try:
            answer: Verdicts | Page | AblateError = self._child.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, AblateError):
            raise answer
        return answer


def draw_page(data: ReportData, *, all_figures: bool = False) -> Page:
    """Draws judged evidence; `all_figures`: whether a page of dozens of figures has more than a few."""
    # Only once there are verdicts: to import what draws takes long.
    from ablate.report.page import render

    faults: list[str] = []
    return Page(render(data, faults.append, all_figures=all_figures), faults)


def write_page(folder: StudyFolder, page: Page, warn: Callable[[str], None]) -> None:
    """Writes page and figures of a study, and warns of what was not drawn."""
    folder.save_page(page.files)
    for fault in page.faults:
        warn(f"{folder.report_file}: {fault}")


def write_report(folder: StudyFolder, warn: Callable[[str], None], *, all_figures: bool = False) -> None:
    """Judges and draws a study in this process, and writes its verdicts and then its page. Raises `AblateError`."""
    data = judge_evidence(folder)
    verdicts = verdicts_of(data, folder)
    folder.save_verdicts(verdicts.tables, verdicts.answer)
    write_page(folder, draw_page(data, all_figures=all_figures), warn)


def main() -> None:
    """Runs the process: imports what draws, then judges and draws each folder that its driver names."""
    driver = parent()
    import_seaborn()
    import_report()
    with suppress(EOFError, OSError):  # a driver that is gone
        while True:
            folder = driver.recv()
            try:
                data = judge_evidence(folder)
                driver.send(verdicts_of(data, folder))
                driver.send(draw_page(data))
            except AblateError as error:
                driver.send(AblateError(str(error)))


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
