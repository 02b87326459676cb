"""Where runs that exist are read from: each reader looks at a path, and the first that knows it reads."""

from __future__ import annotations

import difflib
from pathlib import Path

from ablate.base.errors import Invalid
from ablate.base.once import refusing_twice
from ablate.runs.formats.experiments import MlflowDatabaseReader, MlflowFolderReader, read_store
from ablate.runs.formats.lm_eval_results import LmEvalResultReader
from ablate.runs.formats.logs import LogReader
from ablate.runs.formats.mlflow_stores import is_uri
from ablate.runs.formats.run_folders import RunFolderReader
from ablate.runs.formats.samples import SampleReader
from ablate.runs.formats.shapes import TableReader
from ablate.runs.formats.study_trials import StudyTrialsReader
from ablate.runs.formats.table_folders import TableFolderReader
from ablate.runs.formats.tensorboard import TensorBoardReader
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound

READERS: tuple[Reader, ...] = (
    StudyTrialsReader(),
    MlflowFolderReader(),
    MlflowDatabaseReader(),
    SampleReader(),
    LmEvalResultReader(),
    RunFolderReader(),
    TensorBoardReader(),
    LogReader(),
    TableFolderReader(),
    TableReader(),
)
"""The readers, special formats first: any text is a table."""


def find_runs(runs: str, options: AnalysisOptions) -> RunsFound:
    """Returns the runs of a path, or of a store of MLflow by its URI. Raises `AblateError`."""
    if is_uri(runs):
        return read_store(runs, options)
    path = Path(runs)
    if not path.exists():
        hint = _nearest_path(path) or "Name a file or folder of runs"
        raise Invalid("RUNS", "does not exist", runs, hint=hint)
    for reader in READERS:
        if reader.knows(path, options):
            with refusing_twice("RUNS", runs):
                return reader.read(path, options)
    looked_for = "; ".join(reader.looks_for for reader in READERS)
    raise Invalid("RUNS", "has no runs in a format that is known", runs, f"looked for: {looked_for}")


def _nearest_path(path: Path) -> str:
    """Returns which path was perhaps meant by one of which some part does not exist; empty where none is near."""
    there = next(parent for parent in path.parents if parent.exists())
    missing = path.relative_to(there).parts
    try:
        names = sorted(entry.name for entry in there.iterdir())
    except OSError:
        return ""
    close = difflib.get_close_matches(missing[0], names, n=1, cutoff=0.7)
    return f"Did you mean {str(there.joinpath(close[0], *missing[1:]))!r}?" if close else ""
