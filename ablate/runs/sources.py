"""Where runs that exist are read from: each reader looks at a path, and the first that knows it reads."""

from __future__ import annotations

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
        raise Invalid("RUNS", "does not exist", runs, hint="Name a file or folder of runs")
    for reader in READERS:
        if reader.knows(path, options):
            with refusing_twice("RUNS", runs):
                return reader.read(path, options)
    looked_for = "; ".join(reader.looks_for for reader in READERS)
    raise Invalid("RUNS", "has no runs in a format that is known", runs, f"looked for: {looked_for}")
