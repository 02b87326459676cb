"""Where runs that exist are read from: a file, an experiment of MLflow, or the samples of lm-eval."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError
from ablate.base.sqlite import path_of
from ablate.base.text import first_line
from ablate.runs.options import AnalysisOptions
from ablate.tasks.files import read_table
from ablate.tracking.database import check_uri, import_client

_SAMPLES = re.compile(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.:-]+)?\.jsonl")
"""The name of a file of samples: its task, and when it was written."""


def read_source(runs: str, options: AnalysisOptions) -> pd.DataFrame:
    """Returns the table of RUNS as it is, with the place of each row as its index. Raises `AblateError`."""
    if options.tracking_uri is not None:
        return _read_experiment(runs, options.tracking_uri)
    if Path(runs).is_dir():
        return _read_samples(Path(runs), options.metric)
    table = read_table(DataFile(runs))
    places = [f"{runs}, {place}" for place in table.places]
    return pd.DataFrame(dict(table.columns), places)


def _read_experiment(name: str, uri: str) -> pd.DataFrame:
    """Returns the runs of an MLflow experiment as a table, without those that have runs below them.

    Columns: `params.X`, `tags.X`, and the last value of each metric as `metrics.X`.
    """
    check_uri(uri)
    file = path_of(uri)
    if file is not None and not file.is_file():  # MLflow would make one.
        raise AblateError(f"--tracking-uri: {file} does not exist; name the database that has the experiment")
    import_client()
    import mlflow

    try:
        mlflow.set_tracking_uri(uri)
        runs = pd.DataFrame(mlflow.search_runs(experiment_names=[name])).set_index("run_id")
    except Exception as error:
        raise AblateError(f"--tracking-uri: cannot be read ({first_line(error)})") from None
    parents = runs.get("tags.mlflow.parentRunId", [])
    return runs[~runs.index.isin(parents)].rename_axis(None)


def _read_samples(folder: Path, metric: str) -> pd.DataFrame:
    """Returns the samples of lm-eval: a row a document and model, which is the folder of a file.

    A field of a document is `doc.FIELD`. Where answers were filtered in several ways, each is a task of its own.
    """
    tables = [pd.DataFrame()]
    for path in sorted(folder.rglob("samples_*.jsonl")):
        table = _read_samples_file(path)
        if metric in table:
            tables.append(table[table[metric].notna()])
    return pd.concat(tables)


def _read_samples_file(path: Path) -> pd.DataFrame:
    """Returns the samples of one file, with the columns `variant`, `task` and `example`."""
    try:
        table = pd.json_normalize([json.loads(line) for line in path.read_bytes().splitlines()])
        table["example"] = table["doc_id"].astype(str) + table.get("doc_hash", "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError) as error:
        raise AblateError(f"{path}: holds no samples of lm-eval ({first_line(error)})") from None
    task = _SAMPLES.sub(r"\1", path.name)
    filters = table.get("filter", pd.Series("none", table.index))
    endings = ("," + filters).replace(",none", "")
    table = table.assign(variant=path.parent.name, task=task + endings)
    return table.set_axis([f"{path}, line {line}" for line in range(1, len(table) + 1)])
