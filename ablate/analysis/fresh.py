"""The values of the winner of a search on fresh seeds, which did not choose it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.search_table import Objective


def judged_as(evidence: Evidence, winner: str) -> str:
    """The variant that a winner is in the comparison: one that is no variant is the baseline itself."""
    return winner if winner in [variant.name for variant in evidence.facts.variants] else BASELINE


def fresh(evidence: Evidence, metric: Objective, winner: str, of: str, task: str) -> np.ndarray:
    """The finite values of a metric on the study's own seeds, `of` validation or test data; none before training.

    Validation data count as they did for the search: at the step that is judged, and a seed that diverged as guessing
    where the metric says what that is worth. A `task` that the study does not name means all of them.
    """
    facts, trials = evidence.facts, evidence.trials
    if task in [known.name for known in facts.tasks]:
        trials = trials[trials["task"] == task]
    trials = trials[trials["variant"] == judged_as(evidence, winner)]
    if of == "validation" and metric.source == "validation":
        values = _validation(evidence, trials, metric)
    else:
        values = _column(trials, facts.column_of(metric.name))
    return values[np.isfinite(values)]


def _validation(evidence: Evidence, trials: pd.DataFrame, metric: Objective) -> np.ndarray:
    """The metric of each trial on validation data (n,), in the order of the trials; NaN where it has none."""
    name = f"validation_{metric.name}"
    curves = evidence.curves[evidence.curves["metric"] == name].astype({"step": float}).sort_values("step")
    ends = curves.drop_duplicates("id", keep="last").set_index("id")["value"]
    own = _column(trials, name)
    values = np.where(np.isnan(own), trials["id"].map(ends).to_numpy(float), own)
    if evidence.facts.at == "best_validation":
        best = trials[["id"]].assign(step=_column(trials, f"{metric.name}_best_step"))
        found = best.merge(curves.drop_duplicates(["id", "step"]), "left", ["id", "step"])
        at = found["value"].to_numpy(float)
        values = np.where(np.isnan(at), values, at)
    guessing = np.nan if metric.floor is None else metric.floor
    status = trials["status"].to_numpy()
    return np.select([status == "completed", status == "diverged"], [values, guessing], np.nan)


def _column(trials: pd.DataFrame, name: str) -> np.ndarray:
    return pd.to_numeric(trials.get(name, pd.Series(np.nan, trials.index)), errors="coerce").to_numpy(float)
