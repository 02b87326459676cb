"""How far the baseline's seeds are apart, how much of that is the finite test set, and what was detectable."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ablate.analysis.paired import NAN
from ablate.analysis.runs import Runs, Side
from ablate.analysis.variance import MeanSquares
from ablate.core.evidence import Evidence

COLUMNS = (
    *("task", "metric", "n", "diverged", "sd", "test_share", "placebo_diff", "placebo_low", "placebo_high"),
    *("comparisons", "mde", "mde_low", "mde_high", "by_rate"),
)


def noise(evidence: Evidence, comparisons: pd.DataFrame) -> pd.DataFrame:
    """One row a task that has the primary metric, with `COLUMNS`; `comparisons` is the result of `compare`.

    - `n` runs of the baseline have a value, of which `diverged` counted with the metric's floor; `sd` is their standard
      deviation, `test_share` the share of its square that is due to the finite test set; NaN where unknown.
    - `placebo_*`: its difference from the baseline, with its 95 % interval.
    - `mde*`: median, least and largest of what the planned comparisons detect; `by_rate`: in seeds.
    """
    facts, runs, rows = evidence.facts, Runs(evidence), []
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    for task in (task for task in facts.tasks if facts.metric in task.metrics):
        side = runs.of(facts.variants[0].name, task)
        scored = side.scored(facts.metric)
        values = np.sort(scored[~np.isnan(scored)])
        # Equal values may differ from their mean by rounding.
        sd = float(values.std(ddof=1)) * bool(np.ptp(values)) if len(values) > 1 else NAN
        here = comparisons[(comparisons["task"] == task.name) & (comparisons["metric"] == facts.metric)]
        bounds = here.loc[here["variant"].isin(placebos), ["diff", "ci_low", "ci_high"]].to_numpy(float)
        planned = here[~here["exploratory"].astype(bool)]
        known = planned["mde"].dropna().to_numpy(float)
        sizes = (np.median(known), known.min(), known.max()) if len(known) else (NAN,) * 3
        place = (task.name, facts.metric, len(values), side.diverged)
        share = _of_the_test_set(side, facts.metric, sd**2) if sd > 0 else NAN
        placebo = bounds[0] if len(bounds) else (NAN,) * 3
        rows.append((*place, sd, share, *placebo, len(planned), *sizes, task.outcome == "all_or_nothing"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_the_test_set(side: Side, name: str, variance: float) -> float:
    """The share of the `variance` between seeds that is the finite test set's; NaN where that cannot be told.

    Drawn afresh for every seed: p(1 − p)/N for a share p of N examples, the most that it can be. Shared by all seeds:
    how runs differ by example, σ²_rest/m of the mean squares of seeds × examples; an example that is hard for all runs
    moves all seeds alike.
    """
    metric, size, scored = side.task.metrics[name], side.task.sampling.test, side.scored(name)
    if side.task.sampling.pool == "held_out":
        examples = side.by_example(name)
        if examples is None:
            return NAN
        examples = examples[~np.isnan(scored)]
        return min(1.0, MeanSquares.of(examples, 0.0).rest / examples.shape[1] / variance)
    if metric.resolution <= 0 or metric.ceiling != 1 or size < 2:
        return NAN
    # A diverged run counts with the floor, which no test set changes.
    values = np.nan_to_num(scored[side.status == "completed"])
    return min(1.0, float((values * (1 - values) / size).sum()) / int((~np.isnan(scored)).sum()) / variance)
