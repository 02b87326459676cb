"""The noise of a study: the spread of its baseline over seeds, its placebo, and the differences that it could detect.

The noise floor of a comparison is the difference that its seeds detect with 80 % power at the level of its family: a
smaller one is not detectable here, which does not mean absent. The interval of a placebo is no such bound. It is one
draw, centred on its own mean, of a noise that is larger than that of the variants, which share initial values.

Part of the spread over seeds is only the finite test set, and would go with more test examples:

- drawn afresh for every seed: p(1 − p)/N for a share p of N examples (the most that a mean of N outcomes between 0 and
  1 can vary), or s²/N where the outcomes of the examples were kept;
- shared by all seeds: nothing is drawn anew, and an example that is hard for all runs moves all seeds alike. What is
  left is how runs differ by example, σ²_rest/m of the mean squares of seeds × examples (`variance`).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd

from ablate.analysis.compare import planned
from ablate.analysis.looks import looks
from ablate.analysis.paired import NAN, Floats
from ablate.analysis.power import ALPHA
from ablate.analysis.rates import detectable_failure_rate
from ablate.analysis.runs import Runs, Side
from ablate.analysis.student import sd_interval
from ablate.analysis.variance import MeanSquares
from ablate.core.evidence import Evidence

COLUMNS = (
    *("task", "metric", "outcome", "n", "diverged", "unscored", "mean", "spread", "spread_low"),
    *("spread_high", "examples", "shared", "test_share", "placebo", "placebo_diff", "placebo_low"),
    *(
        "placebo_high",
        "placebo_verdict",
        "comparisons",
        "within",
        "mde",
        "mde_low",
        "mde_high",
        "failure_rate",
    ),
)
PLACEBO = {"variant": "placebo", "diff": "placebo_diff", "ci_low": "placebo_low", "ci_high": "placebo_high"}
PLACEBO |= {"verdict": "placebo_verdict"}
"""Columns of comparisons → of the noise."""


def noise(evidence: Evidence, comparisons: pd.DataFrame) -> pd.DataFrame:
    """One row a task and metric that is judged there, with `COLUMNS`; NaN or an empty text for what is not known.

    - `n` runs of the baseline that have a value, of which `diverged` count with the metric's floor; `unscored` diverged
      where it has none. `mean`, and `spread`, their standard deviation, with its 95 % interval.
    - `examples` in a test set, `shared` by all seeds or not; `test_share`: the share of the variance over seeds that
      many more of them would remove.
    - `placebo` and its difference from the baseline with its 95 % interval and verdict; the first where there are more.
    - Of the planned `comparisons`, `within`: how many lie within their noise floor; `mde`, `mde_low` and `mde_high`,
      median and range of those floors, infinite where the metric can show no such difference. On an all-or-nothing
      task `failure_rate` in their place: the smallest that is told from 0 with 80 % power at the level of the family.

    `comparisons` is the result of `compare`.
    """
    facts, runs = evidence.facts, Runs(evidence)
    family = planned(comparisons)
    level = ALPHA * looks(facts)[-1].weight / max(len(family), 1)
    rows = []
    for task, name in itertools.product(facts.tasks, facts.judged):
        if name not in task.metrics:
            continue
        metric, side = task.metrics[name], runs.of(facts.variants[0].name, task)
        scored = side.scored(name)
        values = np.sort(scored[~np.isnan(scored)])
        n, known = len(values), len(values) > 1
        # Equal values may differ from their mean by rounding.
        spread = float(values.std(ddof=1)) * bool(np.ptp(values)) if known else NAN
        bounds = sd_interval(spread, n - 1) if known and spread else (NAN, NAN)
        here = (comparisons["task"] == task.name) & (comparisons["metric"] == name)
        mine = family[here[family.index]]
        of_placebo = comparisons[here & comparisons["placebo"].astype(bool)].head(1)
        all_or_nothing = task.outcome == "all_or_nothing"
        rows.append(
            {
                "task": task.name,
                "metric": name,
                "outcome": task.outcome,
                "n": n,
                "diverged": side.diverged if metric.floor is not None else 0,
                "unscored": side.diverged if metric.floor is None else 0,
                "mean": float(values.mean()) if n else NAN,
                "spread": spread,
                "spread_low": bounds[0],
                "spread_high": bounds[1],
                "examples": task.sampling.test,
                "shared": task.sampling.pool == "held_out",
                "test_share": _of_the_test_set(side, name, spread**2) if known and spread else NAN,
                **_placebo(of_placebo),
                "comparisons": len(mine),
                "within": int(mine["within_noise"].sum()),
                **dict(zip(("mde", "mde_low", "mde_high"), _floors(mine, all_or_nothing), strict=True)),
                "failure_rate": _failure_rate(mine["n"], level) if all_or_nothing else NAN,
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _of_the_test_set(side: Side, name: str, variance: float) -> float:
    """The share of the `variance` between seeds that is the finite test set's; NaN where that cannot be told."""
    metric, size = side.task.metrics[name], side.task.sampling.test
    scored, completed = side.scored(name), side.status == "completed"
    if side.task.sampling.pool == "held_out":
        examples = side.by_example(name)
        if examples is None:
            return NAN
        examples = examples[~np.isnan(scored)]
        return min(1.0, MeanSquares.of(examples, 0.0).rest / examples.shape[1] / variance)
    values, ended = scored[completed], int((~np.isnan(scored)).sum())
    ids = side.runs.trials["id"].iloc[side.rows[completed]]
    kept = [side.runs.examples.get((str(run), name)) for run in ids]
    if kept and all(outcomes is not None and len(outcomes) > 1 for outcomes in kept):
        parts: Floats = np.array([np.var(of, ddof=1) / len(of) for of in kept if of is not None])
    elif metric.resolution > 0 and metric.ceiling == 1 and (metric.floor or 0.0) >= 0 and size > 1:
        parts = np.nan_to_num(values) * (1 - np.nan_to_num(values)) / size
    else:
        return NAN
    # A diverged run counts with the floor, which no test set changes.
    return min(1.0, float(parts.sum()) / ended / variance)


def _placebo(row: pd.DataFrame) -> dict[str, object]:
    found = row[list(PLACEBO)].rename(columns=PLACEBO).to_dict("records")
    return found[0] if found else {"placebo": "", "placebo_verdict": ""}


def _floors(family: pd.DataFrame, all_or_nothing: bool) -> tuple[float, float, float]:
    """Median, smallest and largest difference that is detected; NaN where rates decide."""
    known = family["mde"].dropna().to_numpy(float)
    if all_or_nothing or not len(known):
        return NAN, NAN, NAN
    return float(np.median(known)), float(known.min()), float(known.max())


def _failure_rate(pairs: pd.Series, level: float) -> float:
    """For the median number of pairs; infinite where even failing every time is not told from never failing."""
    if pairs.empty or pairs.median() < 1:
        return NAN
    rate = detectable_failure_rate(int(pairs.median()), level)
    return math.inf if math.isnan(rate) else rate
