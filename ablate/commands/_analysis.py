"""Runs that exist, judged in Python, which is no command: `ablate.analyse(frame, …)`."""

from __future__ import annotations

import os
import sys
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import Invalid
from ablate.base.extras import needed_by
from ablate.base.scratch import scratch
from ablate.base.text import DEFAULT_RESULTS, safe
from ablate.commands._options import in_python
from ablate.commands._results import Results, load
from ablate.records.folder import StudyFolder
from ablate.runs.options import AnalysisOptions

if TYPE_CHECKING:
    import pandas as pd

    from ablate.runs.reading import RunTable


@in_python(AnalysisOptions)
def analyse(runs: pd.DataFrame | str | Path, options: AnalysisOptions) -> Results:
    """Judges runs that exist, as `ablate analyse` does, and returns the results. Raises `AblateError`.

    With `name` or `results` the report, with its page, is written to `results/NAME`, or beside it where a call that
    differs has reported there. Without both it is in a temporary folder, which goes with what is returned, and is drawn
    when it is asked for. The answer names earlier calls on the same runs: of that folder, or else of this process.

    runs: a DataFrame with a row a run, in which NaN is a missing value; or what RUNS may be on the command line.
    """
    with needed_by("`ablate.analyse`"):
        table = _table(runs, options)
    source = str(runs) if isinstance(runs, str | os.PathLike) else ""
    if options.name is None and options.results is None:
        return _judged_for_now(table, source)

    from ablate.runs.report import folder_for, judge

    folder = folder_for(Path(options.results or DEFAULT_RESULTS), options.name, source or "runs")
    folder = judge(folder, table, source, _print, lambda warning: _print(f"warning: {warning}"))
    return load(folder.path)


def _print(text: str) -> None:
    """Prints a line beside the results of a call."""
    print(safe(text), file=sys.stderr)


def _table(runs: object, options: AnalysisOptions) -> RunTable:
    """Returns the rows of runs by their roles, beside noise that is known. Raises `AblateError`."""
    import pandas as pd

    from ablate.runs.formats.frames import runs_in_frame
    from ablate.runs.noise import beside_noise
    from ablate.runs.reading import by_roles
    from ablate.runs.sources import find_runs

    if isinstance(runs, pd.DataFrame):
        table = by_roles(runs_in_frame(runs, options), options)
    elif isinstance(runs, str | os.PathLike) and str(runs):
        table = by_roles(find_runs(str(runs), options), options)
    else:
        raise Invalid("runs", "must be a DataFrame, or the path of runs", type(runs).__name__)
    if options.known_noise is None:
        return table
    return beside_noise(table, table.options, Path(options.known_noise))


def _judged_for_now(table: RunTable, source: str) -> Results:
    """Returns results in a temporary folder that goes with them. Raises `AblateError`."""
    from ablate.runs.report import judge_without_page

    with ExitStack() as stack:
        folder = StudyFolder(Path(stack.enter_context(scratch("analysis"))), "runs")
        judge_without_page(folder, table, source)
        results = load(folder.path)
        weakref.finalize(results, stack.pop_all().close)
    return results
