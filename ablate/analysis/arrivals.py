"""When the runs of each variant first hold the value of `target:` on validation data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN, Floats
from ablate.core.evidence import Evidence
from ablate.core.metric import sign
from ablate.core.record import lost_to_its_variant


@dataclass(frozen=True)
class Arrivals:
    """Of one variant on one task; steps count updates done."""

    first: Floats
    """The step of the first report at which each run holds it, shape (num_seeds,), in the order of the plan: infinite
    where it never does, or diverged; NaN where it has no outcome."""
    trained: float
    "The steps of its training."
    longest: float
    "The most steps of any variant on the task."
    every: float
    "The most steps between two reports on the task."


def arrivals(evidence: Evidence) -> dict[tuple[str, str], Arrivals]:
    """Variant and task → its runs, of the tasks that have the metric of the target."""
    facts, trials = evidence.facts, evidence.trials
    found = {}
    for metric, target in facts.target.items():
        reports = _reports(evidence.curves, metric)
        for task in facts.tasks:
            if metric not in task.metrics:
                continue
            better, mine = sign(task.metrics[metric]), trials[trials["task"] == task.name]
            of = reports[reports["id"].isin(mine["id"])]
            held = of[better * of["value"] >= better * target].groupby("id")["step"].min()
            last = of.groupby("id")["step"].max()
            every = of.sort_values("step").groupby("id")["step"].diff().fillna(of["step"]).max()
            ends = {
                variant: last.reindex(rows.loc[rows["status"] == "completed", "id"]).max()
                for variant, rows in mine.groupby("variant")
            }
            longest = float(last.max())
            for variant in facts.variants:
                first = np.full(len(facts.seeds), NAN)
                for row in mine[mine["variant"] == variant.name].to_dict("records"):
                    if row["seed"] in facts.seeds:
                        first[facts.seeds.index(row["seed"])] = _first(row, held, last)
                trained = float(ends.get(variant.name, NAN))
                trained = longest if math.isnan(trained) else trained
                found[variant.name, task.name] = Arrivals(first, trained, longest, float(every))
    return found


def _reports(curves: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Id, step and value of the metric on validation data, which a workload may report by its plain name."""
    rows = curves[curves["metric"] == f"validation_{metric}"]
    rows = rows if len(rows) else curves[curves["metric"] == metric]
    return rows[["id", "step", "value"]].astype({"step": float, "value": float})


def _first(row: dict[str, object], held: pd.Series, last: pd.Series) -> float:
    status = str(row["status"])
    if status == "diverged" or lost_to_its_variant(status, str(row.get("reason") or "")):
        return math.inf
    known = status == "completed" and row["id"] in last.index
    return float(held.get(row["id"], math.inf)) if known else NAN
