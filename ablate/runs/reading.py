"""Runs that exist: read as a table, from a file, MLflow or the samples of lm-eval, and checked.

A row is a run, or an example of a run; the index says where it was read. What is wrong raises `AblateError`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ablate.base.datafile import DataFile
from ablate.base.errors import AblateError, Gather, Problem, listed, nearest
from ablate.base.text import first_line
from ablate.core.metric import Metric
from ablate.runs.clusters import with_sources
from ablate.tasks.files import read_table
from ablate.tracking.database import check_uri, import_client

KEY = ["variant", "task", "seed"]
FAILED = ("failed", "killed", "pruned", "running", "scheduled")
RULES = {
    "seed": "must be a whole number",
    **dict.fromkeys(("variant", "task", "example"), "must not be empty"),
}
NUMBER = "must be a number, nan of a run that diverged, or empty of one that failed"


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
        at.refuse(
            table.empty,
            "RUNS",
            "has no runs",
            runs,
            hint="Give a table with a row a run, or a folder of samples of lm-eval with this metric",
        )
        for name in (*roles.values(), *metrics) if len(table) else ():
            at.refuse(
                name not in table,
                "RUNS",
                f"has no column {name!r}",
                runs,
                listed(table),
                nearest(name, table) or "Say which it is: --metric NAME, --column variant NAME",
            )
    table = table.assign(**{role: table[name] for role, name in roles.items()})
    # Without seeds no two runs are a pair; two models that were evaluated once are.
    seeds = 0 if "example" in table else range(1, len(table) + 1)
    given = {"id": table.index, "task": "runs", "seed": seeds, "example": "all", "status": "completed"}
    known = [name for name in (*given, "variant", "source", *metrics) if name in table]
    return pd.DataFrame(given, table.index).assign(**{name: table[name] for name in known})


def _experiment(name: str, uri: str) -> pd.DataFrame:
    """Returns the runs of an MLflow experiment as a table, without those that have runs below them.

    Columns: `params.X`, `tags.X`, and the last value of each metric as `metrics.X`.
    """
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
    """Reads the samples of lm-eval: a row a document and model, which is the folder of a file.

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
        table = table.set_axis([f"{path}, line {line}" for line in range(1, len(table) + 1)])
        tables += [table[table[metric].notna()]] if metric in table else []
    return pd.concat(tables)


def checked(rows: pd.DataFrame, metrics: Mapping[str, Metric]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Checks a table of runs, as `read` gives it, and returns its trials and examples as in `Evidence`."""
    said = rows.astype(str).where(rows.notna(), "").apply(lambda column: column.str.strip())
    numbers = said[["seed", *metrics]].apply(pd.to_numeric, errors="coerce")
    blank = said[[*metrics]].apply(lambda column: column.str.lower().isin(["", "nan", "-nan"]))
    empty, broken = said[["variant", "task", "example"]] == "", numbers[["seed"]] % 1 != 0
    wrong = pd.concat([empty, broken, numbers[[*metrics]].isna() & ~blank], axis=1)
    with Gather() as at:
        at.problems += [
            Problem(RULES.get(name, NUMBER), given=given, source=f"{place}: {name}")
            for name in wrong
            for place, given in said.loc[wrong[name], name].head(8).items()
        ]
    first, status = next(iter(metrics)), said["status"].str.lower()
    states = [status == "diverged", (said[first] == "") | status.isin(FAILED), ~np.isfinite(numbers[first])]
    status = np.select(states, ["diverged", "failed", "diverged"], "completed")
    rows = said.assign(**numbers.astype({"seed": int}), status=status, reason="")
    key = [*KEY, "example"]
    twice = rows[rows.duplicated(key, keep=False)].sort_values(key, kind="stable")
    runs = rows.drop_duplicates(KEY).groupby("task").size()
    lacking = rows.groupby(["task", "example"]).size().div(runs, level="task").loc[lambda share: share < 1]
    with Gather() as at:
        at.refuse(
            len(twice),
            "",
            f"{' and '.join(twice.index[:2])} must not have the same variant, task, seed and example",
            twice[key].head(1).to_dict("records"),
        )
        at.refuse(
            len(lacking),
            "RUNS",
            "every run of a task must have the same examples",
            f"not in all: {listed(lacking.index, 3)}",
            hint="Leave out examples that some runs lack",
        )
    grouped = rows.sort_values("example", kind="stable").groupby(KEY, sort=False)
    # The statuses are in the order of their letters: a run that failed on one example has failed.
    columns = {"id": "first", "status": "max", "reason": "max", **dict.fromkeys(metrics, "mean")}
    trials = grouped.agg(columns).reset_index()
    # A metric that is the same on all examples is of the run.
    varying = [name for name in metrics if grouped[name].nunique().max() > 1]
    examples = grouped[["id", *varying]].agg(list).assign(id=[*trials["id"]])
    by_metric = examples.melt("id", var_name="metric", value_name="values")
    return trials, with_sources(by_metric, rows) if "source" in rows else by_metric
