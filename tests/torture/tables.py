"""What a finished run leaves, as it can be compared with what another left, bit for bit."""

import hashlib
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pandas as pd

TABLES = (
    *("trials.parquet", "curves.parquet", "examples.parquet", "rivals.parquet"),
    *("search.parquet", "comparisons.csv", "claims.csv"),
)
FREE = ("_seconds", "_per_second", "_memory")
"""Endings of the columns that may differ between repeats."""
DATED = ("declared",)
"""Columns that hold a date."""
VERDICTS = ("comparisons.csv", "claims.csv")

Tables = dict[str, str]


def tables(folder: Path, names: tuple[str, ...] = TABLES, without: tuple[str, ...] = ()) -> Tables:
    """Name → content of the tables of a study's folder, exact to the last bit, without what may differ.

    `without` names more columns that are left out.

    Raises whatever pandas raises where one cannot be read.
    """
    found = {}
    for name in names:
        if (path := folder / name).is_file():
            frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str)
            if {"metric", "step"} <= {*frame.columns}:
                frame = frame[~frame["metric"].str.endswith(FREE)]
            kept = [c for c in frame.columns if not c.endswith(FREE) and c not in (*DATED, *without)]
            found[name] = "\n".join(map(repr, [kept, *frame[kept].itertuples(index=False, name=None)]))
    return found


def differences(found: Tables, expected: Tables) -> list[str]:
    """Where two sets of tables differ, a line each."""
    lines = [f"{name} is missing" for name in expected.keys() - found.keys()]
    lines += [f"{name} should not be there" for name in found.keys() - expected.keys()]
    for name in sorted(found.keys() & expected.keys()):
        if found[name] != expected[name]:
            ours, theirs = found[name].splitlines(), expected[name].splitlines()
            pairs = [(a, b) for a, b in zip(ours, theirs, strict=False) if a != b] or [("", "")]
            first = f"{pairs[0][0][:200]} instead of {pairs[0][1][:200]}"
            lines.append(f"{name}: {len(ours)} rows, {len(theirs)} expected; {first}")
    return lines


def finished(store: Path) -> dict[str, tuple[int, str]]:
    """Trial id → date and digest of the file of each finished trial."""
    found = {}
    for path in (store / "trials").glob("[!.]*.json"):
        if ".corrupt-" not in path.name and path.is_file():
            content = hashlib.blake2b(path.read_bytes()).hexdigest()
            found[path.stem] = (path.stat().st_mtime_ns, content)
    return found


def trained(ledger: Path) -> Counter[str]:
    """How often each trial has begun, by the ledger that its workload keeps."""
    return (
        Counter(line.split()[0] for line in ledger.read_text().splitlines())
        if ledger.is_file()
        else Counter()
    )


def tracked(store: Path, study: str) -> str:
    """How MLflow's database differs from the records of a study that is finished; nothing where it does not."""
    uri = f"file:{store / 'mlflow.db'}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            runs = database.execute(
                "SELECT status, COALESCE((SELECT value FROM tags WHERE tags.run_uuid = runs.run_uuid AND key = ?), '')"
                " FROM runs JOIN experiments USING (experiment_id)"
                " WHERE experiments.name = ? AND runs.lifecycle_stage = 'active'",
                ("ablate.trial", study),
            ).fetchall()
    except sqlite3.Error as error:
        return f"it cannot be read: {error}"
    statuses, trials = Counter(status for status, _ in runs), Counter(trial for _, trial in runs)
    if set(statuses) != {"FINISHED"}:
        return f"its runs are {dict(statuses)}"
    if trials.pop("", 0) != 1:
        return "it does not have one parent run"
    if twice := [trial for trial, count in trials.items() if count > 1]:
        return f"{len(twice)} trials are there twice"
    if missing := finished(store).keys() - trials.keys():
        return f"{len(missing)} of {len(finished(store))} trials are missing"
    return ""
