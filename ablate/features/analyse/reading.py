"""Runs as a table, a row a run or a run and example: CSV, parquet, an MLflow experiment, samples of lm-eval.

The index of a table says where a row was read: `runs.csv:12`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.files import unreadable
from ablate.base.text import first_line, masked

MOST = 1 << 31  # Bytes of a file.
TRY = "Give a CSV or parquet file with a row a run, or a folder of `lm-eval --log_samples`"
SAMPLES = re.compile(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.:-]+)?\.jsonl")


def refuse(source: object, rule: str, **more: Any) -> AblateError:
    """The error of one mistake; `more` as of `Problem`."""
    return AblateError(str(Problem(rule, source=str(source), **more)))


def read(runs: str, columns: dict[str, str], tracking_uri: str | None) -> pd.DataFrame:
    """The rows of RUNS, with the columns that `columns` names (role → name) by their roles. Raises `AblateError`."""
    path = Path(runs)
    if tracking_uri is not None:
        table = _experiment(runs, tracking_uri)
    elif path.is_dir():
        table = _samples(path, columns.get("source", ""))
    elif why := unreadable(path, MOST):
        raise refuse(path, why, hint=TRY)
    else:
        table = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    if table.empty:
        raise refuse(runs, "has no runs", hint=TRY)
    for role, name in columns.items():
        table[role] = column(table, name, runs)
    return table


def column(table: pd.DataFrame, name: str, runs: str) -> pd.Series:
    """One of its columns. Raises `AblateError`."""
    if name not in table:
        hint = nearest(name, table.columns) or f"Where it has another name, give --column {name} NAME"
        raise refuse(runs, f"has no column {name!r}", allowed=listed(table.columns), hint=hint)
    return table[name]


def _parquet(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise refuse(path, f"is no parquet file ({first_line(error)})", hint=TRY) from None
    return table.set_axis([f"{path}: row {row}" for row in range(1, len(table) + 1)])


def _csv(path: Path) -> pd.DataFrame:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        lines = [(reader.line_num, row) for row in reader if row] or [(1, [])]
    except UnicodeDecodeError as error:
        line, given = content.count(b"\n", 0, error.start) + 1, content[error.start : error.start + 1]
        raise refuse(path, "is not UTF-8", line=line, given=given, hint="Save it as UTF-8") from None
    except csv.Error as error:
        raise refuse(path, f"is no CSV ({error})", line=reader.line_num) from None
    names = [name.strip() for name in lines[0][1]]
    if twice := [name for name in names if names.count(name) > 1]:
        raise refuse(path, "names a column twice", line=1, given=twice[0])
    for line, row in lines:
        if len(row) != len(names):
            rule = "must have a value for each column of line 1"
            raise refuse(path, rule, line=line, given=f"{len(row)} values", allowed=f"{len(names)} values")
    return pd.DataFrame([row for _, row in lines[1:]], [f"{path}:{line}" for line, _ in lines[1:]], names)


def _experiment(name: str, uri: str) -> pd.DataFrame:
    """The runs of an MLflow experiment: name, tags, params and last metrics; not those that have runs below them."""
    from ablate.tracking.database import check_uri, import_client

    check_uri(uri)
    runs, known = list[Any](), list[str]()
    token: str | None = ""
    try:
        client = import_client()(uri)
        known = [experiment.name for experiment in client.search_experiments()]
        found = client.get_experiment_by_name(name)
        while found and token is not None:
            page = client.search_runs([found.experiment_id], page_token=token or None)
            runs, token = [*runs, *page], page.token or None
    except Exception as error:
        raise refuse("--tracking-uri", f"cannot be read ({first_line(error)})", given=masked(uri)) from None
    if not found:
        rule, hint = f"is no experiment of {masked(uri)}", nearest(name, known)
        raise refuse("RUNS", rule, given=name, allowed=listed(known), hint=hint)
    parents = {run.data.tags.get("mlflow.parentRunId") for run in runs}
    rows = {
        f"{name}: run {run.info.run_id}": {"run_name": run.info.run_name}
        | {**run.data.tags, **run.data.params, **run.data.metrics}
        for run in runs
        if run.info.run_id not in parents
    }
    return pd.DataFrame.from_dict(rows, "index")


def _samples(folder: Path, source: str) -> pd.DataFrame:
    """A row a model (the folder that a file lies in), task and document.

    A metric of a filter is `exact_match,strict-match`, as among the results of lm-eval. `source` is `doc.FIELD`.
    """
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    places: list[str] = []
    for path in sorted(folder.rglob("samples_*.jsonl")):
        named = SAMPLES.fullmatch(path.name)
        for line, text in enumerate(
            path.read_text("utf-8", "replace").splitlines() if named else [], start=1
        ):
            try:
                sample = json.loads(text)
                document = f"{sample['doc_id']} {sample.get('doc_hash', '')}".strip()
            except (ValueError, KeyError, TypeError):
                raise refuse(path, "is no sample of lm-eval", line=line, given=text[:40]) from None
            key, kind = (path.parent.name, named[1] if named else "", document), sample.get("filter", "none")
            found = {
                name if kind == "none" else f"{name},{kind}": value
                for name in sample.get("metrics") or sample
                if isinstance(value := sample.get(name), int | float)
            }
            row = rows.setdefault(key, dict(zip(("variant", "task", "example"), key, strict=True)))
            places += [f"{path}:{line}"] * (len(row) == 3)
            if found.keys() & row.keys() - {"doc_id"}:
                hint = "Keep one file of each model and task"
                raise refuse(
                    path, "has a document that was read before", line=line, given=document, hint=hint
                )
            row |= found
            if source:
                row[source] = sample["doc"].get(source.removeprefix("doc."))
    return pd.DataFrame(list(rows.values()), places)
