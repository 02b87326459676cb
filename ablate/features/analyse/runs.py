"""The rows of a table as trials, one a variant, task and seed, checked; with what each of their examples gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.core.facts import EXAMPLES, frame_of
from ablate.core.metric import Metric
from ablate.features.analyse.reading import column, refuse

KEY = ["variant", "task", "seed"]
SHOWN = 8  # Mistakes that are listed.


@dataclass(frozen=True)
class Asked:
    """What the command line declares."""

    runs: str
    baseline: str
    metrics: Mapping[str, Metric]  # The one that is judged first.
    margin: float | None
    all_or_nothing: bool
    claims: Sequence[str]


@dataclass(frozen=True)
class Given:
    """Runs that exist: a row each (id, variant, task, seed, status, reason, metrics), and beside them as in `Evidence`
    the values by example, and by task the sources of these as in `TaskFacts`.
    """

    trials: pd.DataFrame
    examples: pd.DataFrame
    sources: Mapping[str, list[int]] = field(default_factory=dict)


def given_runs(table: pd.DataFrame, asked: Asked) -> Given:
    """The runs of a table. Raises `AblateError`, of a column with all that is wrong in it."""
    by_example, first = "example" in table, next(iter(asked.metrics))
    if by_example and "task" in table:
        # Of a suite of benchmarks, those that are measured by it.
        table = table[column(table, first, asked.runs).notna().groupby(table["task"]).transform("any")]
    found = pd.DataFrame({"id": table.index, "variant": column(table, "variant", asked.runs)}, table.index)
    found["task"] = table.get("task", "runs")
    found["seed"] = table["seed"] if "seed" in table else 0 if by_example else np.arange(1, len(table) + 1)
    found["example"] = table["example"] if by_example else ""
    found["source"] = table.get("source", found["example"])
    for name in ("variant", "task", "example", "source"):
        _refuse(
            found[name],
            found[name].isna() | (found[name].astype(str).str.strip() == ""),
            by_example,
            "must have a name",
        )
        found[name] = found[name].astype(str).str.strip()
    seeds = pd.to_numeric(found["seed"], errors="coerce")
    _refuse(found["seed"], ~(seeds % 1 == 0), True, "must be a whole number")
    found = found.assign(seed=seeds.astype(int), status="completed", reason="")
    for name in asked.metrics:
        said = column(table, name, asked.runs).astype(str).str.strip()
        empty = table[name].isna() | (said == "")
        found[name] = pd.to_numeric(said, errors="coerce").astype(float)
        wrong = found[name].isna() & ~empty & ~said.str.lower().isin(["nan", "-nan"])
        _refuse(
            said, wrong, True, "must be a number, nan of a run that diverged, or empty of one that failed"
        )
        if name == first:
            found.loc[~np.isfinite(found[name]), "status"] = "diverged"
            found.loc[empty, ["status", "reason"]] = ["failed", f"has no {name}"]
    key = [*KEY, "example"] if by_example else KEY
    for place, row in found[found.duplicated(key)].head(1).iterrows():
        same = found.index[(found[key] == row[key]).all(axis=1)][0]
        run = ", ".join(f"{name} {row[name]}" for name in key)
        raise refuse(place, "each run must have one row", given=run, hint=f"Keep this or {same}")
    return _by_example(found, asked) if by_example else Given(found, frame_of((), EXAMPLES))


def _refuse(values: pd.Series, bad: pd.Series, where: bool, rule: str) -> None:
    if where and bad.any():
        some = [
            str(Problem(rule, (str(values.name),), of, source=str(at)))
            for at, of in values[bad].head(SHOWN).items()
        ]
        raise AblateError("\n".join([*some, *[f"and {bad.sum() - SHOWN} more"] * (bad.sum() > SHOWN)]))


def _by_example(rows: pd.DataFrame, asked: Asked) -> Given:
    """With the mean of each run over its examples, which all runs of a task must share."""
    rows = rows.sort_values("example", kind="stable")
    for task, part in rows.groupby("task"):
        sizes, every = part.groupby("example").size(), len(part.drop_duplicates(KEY))
        for example, have in sizes[sizes < every].head(1).items():
            rule, given = f"example {example!r} must be in every run of {task}", f"in {have} of {every} runs"
            raise refuse(asked.runs, rule, given=given, hint="Leave out examples that some runs lack")
    runs = rows.groupby(KEY, sort=False)
    # The worst status of an example is that of its run.
    trials = runs.agg(
        {"id": "first", "status": "max", "reason": "max"} | dict.fromkeys(asked.metrics, "mean")
    )
    trials["status"] = runs["status"].agg(lambda of: max(of, key=["completed", "diverged", "failed"].index))
    varying = [name for name in asked.metrics if runs[name].nunique().max() > 1]
    kept = [(run["id"].iloc[0], name, run[name].to_numpy(np.float32)) for _, run in runs for name in varying]
    once = rows.drop_duplicates(["task", "example"]).groupby("task")["source"]
    sources = {str(task): pd.factorize(of)[0].tolist() for task, of in once if of.duplicated().any()}
    return Given(trials.reset_index(), frame_of(kept, EXAMPLES), sources)


def alike(given: Given, asked: Asked) -> Iterator[str]:
    """Groups of runs that have the same numbers, as copies and a seed that ran twice have.

    By examples, and metrics without a resolution, in six digits, of which one number at least has five: two runs may
    well have the same accuracy.
    """
    found: dict[tuple[object, ...], list[str]] = {}
    names = [name for name, metric in asked.metrics.items() if not metric.resolution]
    by_run = (
        given.examples.groupby("id")["values"]
        .agg(lambda of: b"".join(each.tobytes() for each in of))
        .to_dict()
    )
    for row in given.trials[given.trials["status"] == "completed"].to_dict("records"):
        said, examples = [f"{row[name]:.6g}" for name in names], by_run.get(row["id"])
        if examples or any(len(text.partition("e")[0].replace(".", "").strip("-0")) >= 5 for text in said):
            run = f"{row['variant']} seed {row['seed']}"
            found.setdefault((row["task"], examples, *said), []).append(run)
    yield from (listed(runs, 6) for runs in found.values() if len(runs) > 1)


def check_baseline(given: Given, asked: Asked) -> None:
    """Raises `AblateError` where it has no runs, or nothing else has."""
    names = dict.fromkeys(given.trials["variant"])
    if asked.baseline not in names or len(names) == 1:
        rule = "is the only variant" if asked.baseline in names else f"is no variant of {asked.runs}"
        hint = nearest(asked.baseline, names)
        raise refuse("--baseline", rule, given=asked.baseline, allowed=listed(names), hint=hint)
