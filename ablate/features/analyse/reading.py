"""Runs that exist as a table, a row a run or a run and example: from a file, MLflow, or the samples of lm-eval.

The index of a table says where a row was read. What is wrong raises `AblateError`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError, Gather, listed, nearest
from ablate.base.text import first_line
from ablate.tasks.files import read_table
from ablate.tracking.database import check_uri, import_client


def read(runs: str, asked: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of RUNS: id, variant, task, seed, example, status, source where it was asked for, and the metrics.

    `asked`: the options of the command.
    """
    roles = {"variant": "variant", **dict(asked["column"])}
    metrics = [asked["metric"], *dict(asked["also"])]
    if asked["tracking_uri"] is not None:
        table = _experiment(runs, asked["tracking_uri"])
    elif Path(runs).is_dir():
        table = _samples(Path(runs), asked["metric"])
    else:
        found = read_table(DataFile(runs))
        table = pd.DataFrame(dict(found.columns), [f"{runs}, {place}" for place in found.places])
    with Gather() as at:
        at.refuse(table.empty, "RUNS", "has no runs", runs)
        for name in (*roles.values(), *metrics) if len(table) else ():
            hint = nearest(name, table) or f"Where it has another name, give --column {name} NAME"
            at.refuse(name not in table, "RUNS", f"has no column {name!r}", runs, listed(table), hint)
    table = table.assign(**{role: table[name] for role, name in roles.items()})
    # Without seeds no two runs are a pair; two models that were evaluated once are.
    seeds = 0 if "example" in table else range(1, len(table) + 1)
    given = {"id": table.index, "task": "runs", "seed": seeds, "example": "all", "status": "completed"}
    known = [name for name in (*given, "variant", "source", *metrics) if name in table]
    return pd.DataFrame(given, table.index).assign(**{name: table[name] for name in known})


def _experiment(name: str, uri: str) -> pd.DataFrame:
    """The runs of an MLflow experiment, with `params.X`, `tags.X` and last `metrics.X`; none that has runs below it."""
    check_uri(uri)
    import_client()
    import mlflow

    try:
        mlflow.set_tracking_uri(uri)
        found = pd.DataFrame(mlflow.search_runs(experiment_names=[name])).set_index("run_id")
    except Exception as error:
        raise AblateError(f"--tracking-uri: cannot be read ({first_line(error)})") from None
    return found[~found.index.isin(found.get("tags.mlflow.parentRunId", []))].rename_axis(None)


def _samples(folder: Path, metric: str) -> pd.DataFrame:
    """The documents on which lm-eval measured a metric; a model is the folder that a file lies in.

    A field of a document is `doc.FIELD`. Where answers were filtered in several ways, each is a task of its own.
    """
    tables = [pd.DataFrame()]
    for path in sorted(folder.rglob("samples_*.jsonl")):
        try:
            table = pd.json_normalize([json.loads(line) for line in path.read_bytes().splitlines()])
            table["example"] = table["doc_id"].astype(str) + table.get("doc_hash", "")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, NotImplementedError) as error:
            raise AblateError(f"{path}: holds no samples of lm-eval ({first_line(error)})") from None
        task = re.sub(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.:-]+)?\.jsonl", r"\1", path.name)
        filtered = ("," + table.get("filter", pd.Series("none", table.index))).replace(",none", "")
        table = table.assign(variant=path.parent.name, task=task + filtered)
        table.index = [f"{path}, line {line}" for line in range(1, len(table) + 1)]
        tables += [table[table[metric].notna()]] if metric in table else []
    return pd.concat(tables)
