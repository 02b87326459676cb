"""What runs show beside their verdicts: whether they learned their task, and had stopped improving; how they differ
over training steps; how far the baseline's seeds are apart, how much of that is the finite test set, and what was
detectable.

A comparison is of little use where the baseline did not learn, or where training ended too early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from ablate.analysis.contrast import Contrast, overlap
from ablate.analysis.paired import NAN, Differences, MeanSquares
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side, solving_metric
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, sign

TRAJECTORY_COLUMNS = ("variant", "task", "step", "n", "diff", "low", "high")


@dataclass(frozen=True)
class Learned:
    """Whether the baseline learned a task, and how that is told: by runs that solved it, or by their mean."""

    task: str
    ok: bool
    name: str
    "Of the metric that tells."
    metric: Metric
    solved: tuple[int, int] | None = None
    "Runs that solved an all-or-nothing task, of those with an outcome; else None."
    mean: float = NAN
    spread: float = NAN
    "The standard deviation over seeds; NaN of one."


def baseline_learned(evidence: Evidence) -> list[Learned]:
    """Of each task of which the baseline's runs can say whether it was learned.

    It learned an all-or-nothing task where every run with an outcome solved it, and a graded one where some run is
    better than guessing on the primary metric.
    """
    facts, runs = evidence.facts, Runs(evidence)
    found = []
    for task in facts.tasks:
        side, metric = runs.of(facts.variants[0].name, task), task.metrics.get(facts.metric)
        ended = int(side.ended.sum())
        name = solving_metric(task, facts.metric)
        if not ended:
            continue
        if task.outcome == "all_or_nothing" and name is not None:
            solved = int(side.solved[side.ended].sum())
            found.append(Learned(task.name, solved == ended, name, task.metrics[name], (solved, ended)))
        elif metric is not None and metric.floor is not None:
            values = side.scored(facts.metric)[side.ended]
            alone = Contrast.between([[side]], [[side]], facts.metric)
            spread = float(np.std(values, ddof=1)) if ended > 1 else NAN
            mean = float(values.mean())
            found.append(Learned(task.name, not alone.at_floor, facts.metric, metric, None, mean, spread))
    return found


def convergence(evidence: Evidence) -> pd.DataFrame:
    """One row a variant and task: variant, task, n, gain, ci90_low, ci90_high, improving, unsolved.

    For each completed run the mean of the primary validation metric (curve `validation_<metric>`) over the
    last tenth of its evaluations, rounded up, is compared with the mean over as many before them. `gain` is
    the mean over seeds, oriented. A variant is still improving, "not converged", when the gain exceeds the
    metric's resolution and its 90 % interval over seeds lies above 0. Fewer than two runs cannot tell. `unsolved`: runs
    of an all-or-nothing task that ended without the solution, where a plateau looks like an end.
    """
    facts, curves = evidence.facts, evidence.curves
    curve = curves[curves["metric"] == f"validation_{facts.metric}"].sort_values("step")
    curve = curve[np.isfinite(curve["value"].astype(float))]
    by_id = {name: frame["value"].to_numpy(float) for name, frame in curve.groupby("id")}
    rows = []
    for side in Runs(evidence).sides():
        if metric := side.task.metrics.get(facts.metric):
            # The means over the tenth before the last and over the last one, of each curve with two points.
            tenths = []
            completed = side.runs.trials["id"].iloc[side.rows[side.status == "completed"]]
            for values in (by_id[run] for run in completed if len(by_id.get(run, ())) > 1):
                tenth = -(-len(values) // 10)
                tenths.append((values[-2 * tenth : -tenth].mean(), values[-tenth:].mean()))
            before, last = sign(metric) * np.reshape(tenths, (-1, 2)).T
            gain = Differences.between(last, before, metric.resolution)
            bounds = gain.interval(2 * ALPHA)
            improving = bool(bounds[0] > 0 and gain.mean > metric.resolution)
            rows.append(
                (side.variant, side.task.name, gain.n, gain.mean, *bounds, improving, _unsolved(side))
            )
    columns = ["variant", "task", "n", "gain", "ci90_low", "ci90_high", "improving", "unsolved"]
    return pd.DataFrame(rows, columns=columns)


def _unsolved(side: Side) -> int:
    if side.task.outcome == "graded" or solving_metric(side.task, side.runs.facts.metric) is None:
        return 0
    return int(((side.status == "completed") & ~side.solved).sum())


def trajectory(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and step at which every run of both sides was evaluated, with `TRAJECTORY_COLUMNS`.

    `diff` is the mean over seeds of variant − baseline on the primary metric and validation data, oriented; `low` and
    `high` its 95 % interval over seeds, NaN for fewer than two. A diverged run counts with the metric's floor once its
    curve has ended.
    """
    facts, runs, rows = evidence.facts, Runs(evidence), []
    frame = evidence.curves[evidence.curves["metric"] == f"validation_{facts.metric}"]
    frame = frame[np.isfinite(frame["value"].astype(float))]
    curves = {
        str(i): dict(zip(of["step"].astype(int), of["value"].astype(float), strict=True))
        for i, of in frame.groupby("id")
    }
    for variant, task in product(facts.variants[1:], facts.tasks):
        metric = task.metrics.get(facts.metric)
        if metric is None:
            continue
        sides = [runs.of(name, task) for name in (variant.name, facts.variants[0].name)]
        ended = np.flatnonzero(sides[0].ended & sides[1].ended)
        floor = math.nan if metric.floor is None else metric.floor
        found, known = [], []
        for side in sides:
            ids = side.runs.trials["id"].iloc[side.rows[ended]]
            found.append([curves.get(str(i), {}) for i in ids])
            known += [c for c, s in zip(found[-1], side.status[ended], strict=True) if s != "diverged"]
        for step in sorted(set.intersection(*map(set, known))) if known else ():
            # A run that diverged has the floor at every step that it did not reach.
            a, b = (np.array([sign(metric) * c.get(step, floor) for c in side]) for side in found)
            d = Differences.between(a, b, metric.resolution, overlap=overlap(task))
            rows.append((variant.name, task.name, step, d.n, d.mean, *d.interval()))
    return pd.DataFrame(rows, columns=list(TRAJECTORY_COLUMNS))


NOISE_COLUMNS = (
    *("task", "metric", "n", "diverged", "sd", "test_share", "placebo_diff", "placebo_low", "placebo_high"),
    *("comparisons", "mde", "mde_low", "mde_high", "by_rate"),
)


def noise(evidence: Evidence, comparisons: pd.DataFrame) -> pd.DataFrame:
    """One row a task that has the primary metric, with `NOISE_COLUMNS`; `comparisons` is the result of `compare`.

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
    return pd.DataFrame(rows, columns=list(NOISE_COLUMNS))


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
