"""Runs as a table, a row a run or a run and example: CSV, parquet, an MLflow experiment, samples of lm-eval.

The index of a table says where a row was read: `runs.csv:12`. What is wrong raises `AblateError`.
"""

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


def require(holds: object, source: object, rule: str, **more: Any) -> None:
    """Raises the error of one mistake where something does not hold; `more` as of `Problem`."""
    if not holds:
        raise AblateError(str(Problem(rule, source=str(source), **more)))


def read(runs: str, columns: dict[str, str], tracking_uri: str | None) -> pd.DataFrame:
    """The rows of RUNS, with the columns that `columns` names (role → name) by their roles."""
    path = Path(runs)
    if tracking_uri is not None:
        table = _experiment(runs, tracking_uri)
    else:
        table = _samples(path, columns.get("source", "")) if path.is_dir() else _file(path)
    require(len(table), runs, "has no runs", hint=TRY)
    return table.assign(**{role: column(table, name, runs) for role, name in columns.items()})


def column(table: pd.DataFrame, name: str, runs: str) -> pd.Series:
    """One of its columns."""
    hint = nearest(name, table.columns) or f"Where it has another name, give --column {name} NAME"
    require(name in table, runs, f"has no column {name!r}", allowed=listed(table.columns), hint=hint)
    return table[name]


def _file(path: Path) -> pd.DataFrame:
    rule = unreadable(path, MOST)
    try:
        if not rule and path.suffix == ".parquet":
            table = pd.read_parquet(path)
            return table.set_axis([f"{path}: row {row}" for row in range(1, len(table) + 1)])
        if not rule:
            return _csv(path, path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        rule = f"line {line} is not UTF-8 ({error.object[error.start : error.start + 1]!r}); save it as UTF-8"
    except (OSError, ValueError, csv.Error) as error:
        rule = f"cannot be read ({first_line(error)})"
    raise AblateError(str(Problem(rule, source=str(path), hint=TRY)))


def _csv(path: Path, text: str) -> pd.DataFrame:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines = {f"{path}:{reader.line_num}": row for row in reader if row} or {"": []}
    names, *rows = ([cell.strip() for cell in row] for row in lines.values())
    require(len({*names}) == len(names), path, "must name each column once", given=", ".join(names))
    for place, row in lines.items():
        require(
            len(row) == len(names),
            place,
            "must have a value for each column of the first line",
            given=f"{len(row)} values",
            allowed=f"{len(names)} values",
        )
    return pd.DataFrame(rows, [*lines][1:], names)


def _experiment(name: str, uri: str) -> pd.DataFrame:
    """The runs of an MLflow experiment: name, tags, params and last metrics; not those that have runs below them."""
    from ablate.tracking.database import check_uri, import_client

    check_uri(uri)
    token: str | None = ""
    try:
        client = import_client()(uri)
        known = {experiment.name: experiment.experiment_id for experiment in client.search_experiments()}
        runs = list[Any]()
        while name in known and token is not None:
            page = client.search_runs([known[name]], page_token=token or None)
            runs, token = [*runs, *page], page.token or None
    except Exception as error:
        require(False, "--tracking-uri", f"cannot be read ({first_line(error)})", given=masked(uri))
    require(
        name in known,
        "RUNS",
        f"is no experiment of {masked(uri)}",
        given=name,
        allowed=listed(known),
        hint=nearest(name, known),
    )
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
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    files = [(path, SAMPLES.fullmatch(path.name)) for path in sorted(folder.rglob("samples_*.jsonl"))]
    for path, line, text in (
        (p, *line) for p, named in files if named for line in enumerate(p.read_bytes().splitlines(), start=1)
    ):
        try:
            sample = json.loads(text)
            document = f"{sample['doc_id']} {sample.get('doc_hash', '')}".strip()
        except (ValueError, KeyError, TypeError):
            require(False, f"{path}:{line}", "is no sample of lm-eval", given=text[:40])
        key = (path.parent.name, SAMPLES.sub(r"\1", path.name), document)
        after = f",{kind}" if (kind := sample.get("filter", "none")) != "none" else ""
        found = {
            name + after: value
            for name in sample.get("metrics") or {*sample} - {"doc_id"}
            if isinstance(value := sample.get(name), int | float)
        }
        row = rows.setdefault(key, {"place": f"{path}:{line}"})
        require(
            not found.keys() & row,
            f"{path}:{line}",
            "has a document that was read before",
            given=document,
            hint="Keep one file of each model and task",
        )
        row |= found | dict(zip(("variant", "task", "example"), key, strict=True))
        row |= {source: sample.get("doc", {}).get(source.removeprefix("doc."))} if source else {}
    return pd.DataFrame([*rows.values()], columns=None if rows else ["place"]).set_index("place")
