"""What runs show beside their verdicts: whether they learned their task, and had stopped improving; how far the
baseline's seeds are apart, and what was detectable; how steadily they train.

A comparison is of little use where the baseline did not learn, or where training ended too early. All of it is
description: a claim about stability is judged, a row is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from ablate.analysis.contrast import at_floor
from ablate.analysis.estimates import clopper_pearson
from ablate.analysis.judge import p_of
from ablate.analysis.measure import Measure
from ablate.analysis.measures import ESTIMATORS, measure_of
from ablate.analysis.paired import NAN, Differences, Floats, MeanSquares, mean_interval, mean_of, sd_of
from ablate.analysis.power import ALPHA, sd_interval
from ablate.analysis.runs import Runs, solving_metric
from ablate.core.derived import DERIVED
from ablate.core.facts import Evidence
from ablate.core.metric import Metric, sign, validated
from ablate.core.reason import Interval


@dataclass(frozen=True)
class Learned:
    """Whether the baseline learned a task, and how that is told: by runs that solved it, or by their mean.

    name: of the metric that tells. solved: runs that solved an all-or-nothing task, of those with an outcome; else
    None. spread: the standard deviation over seeds; NaN of one.
    """

    task: str
    ok: bool
    name: str
    metric: Metric
    solved: tuple[int, int] | None = None
    mean: float = NAN
    spread: float = NAN


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
            ok = not at_floor(metric, sign(metric) * values)
            found.append(Learned(task.name, ok, facts.metric, metric, None, mean_of(values), sd_of(values)))
    return found


def _validated(evidence: Evidence) -> pd.DataFrame:
    """The primary metric on validation data, a row a trial id and a column a step; NaN where it has no finite value."""
    curves = evidence.curves[evidence.curves["metric"] == validated(evidence.facts.metric)]
    curves = curves.astype({"step": int, "value": float})
    return curves[np.isfinite(curves["value"])].pivot(index="id", columns="step", values="value")


def convergence(evidence: Evidence) -> pd.DataFrame:
    """One row a variant and task that has the primary metric: variant, task, n, gain, improving.

    For each completed run the mean of the primary metric on validation data over the last tenth of its evaluations,
    rounded up, is compared with the mean over as many before them. `gain` is the mean over seeds, oriented. A variant
    is still improving, "not converged", when the gain exceeds the metric's resolution and its 90 % interval over seeds
    lies above 0. Fewer than two runs cannot tell.
    """
    curves, rows = _validated(evidence), []
    for side in Runs(evidence).sides():
        if (metric := side.task.metrics.get(evidence.facts.metric)) is None:
            continue
        tenths = []
        for run in curves.reindex(side.ids[side.status == "completed"]).to_numpy():
            values = run[~np.isnan(run)]
            tenth = -(-len(values) // 10)
            if len(values) > 1:
                tenths.append((values[-2 * tenth : -tenth].mean(), values[-tenth:].mean()))
        before, last = sign(metric) * np.reshape(tenths, (-1, 2)).T
        gain = Differences.between(last, before, metric.resolution)
        improving = gain.interval(2 * ALPHA)[0] > 0 and gain.mean > metric.resolution
        rows.append((side.variant, side.task.name, gain.n, gain.mean, bool(improving)))
    return pd.DataFrame(rows, columns=["variant", "task", "n", "gain", "improving"])


NOISE_COLUMNS = (
    *("task", "metric", "n", "diverged", "sd", "test_share", "placebo_diff", "placebo_low", "placebo_high"),
    *("mde", "mde_low", "mde_high", "by_rate"),
)


def noise(evidence: Evidence, comparisons: pd.DataFrame) -> pd.DataFrame:
    """One row a task that has the primary metric, with `NOISE_COLUMNS`; `comparisons` is the result of `compare`.

    - `n` runs of the baseline have a value, of which `diverged` counted with the metric's floor; `sd` is their standard
      deviation, `test_share` the share of its square that is due to a test set that all seeds share; NaN
      where unknown.
    - `placebo_*`: its difference from the baseline, with its 95 % interval.
    - `mde*`: median, least and largest of what the planned comparisons detect; `by_rate`: in seeds.
    """
    facts, runs, rows = evidence.facts, Runs(evidence), []
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    for task in (task for task in facts.tasks if facts.metric in task.metrics):
        side = runs.of(facts.variants[0].name, task)
        scored = side.scored(facts.metric)
        sd = sd_of(values := scored[~np.isnan(scored)])
        here = comparisons[(comparisons["task"] == task.name) & (comparisons["metric"] == facts.metric)]
        bounds = here.loc[here["variant"].isin(placebos), ["diff", "ci_low", "ci_high"]].to_numpy(float)
        known = here.loc[~here["exploratory"].astype(bool), "mde"].dropna().to_numpy(float)
        sizes = (np.median(known), known.min(), known.max()) if len(known) else (NAN,) * 3
        placebo = bounds[0] if len(bounds) else (NAN,) * 3
        share, examples = NAN, side.by_example(facts.metric)
        if examples is not None and sd > 0:
            # How runs differ by example; one that is hard for all runs moves all seeds alike.
            squares = MeanSquares.of(examples[~np.isnan(scored)], 0.0)
            share = min(1.0, squares.rest / squares.m / sd**2)
        rows.append(
            (
                *(task.name, facts.metric, len(values), side.diverged, sd, share),
                *(*placebo, *sizes, task.outcome == "all_or_nothing"),
            )
        )
    return pd.DataFrame(rows, columns=list(NOISE_COLUMNS))


STABILITY_COLUMNS = (
    *("variant", "baseline", "task", "metric", "kind", "n", "mean_variant", "mean_baseline"),
    *("low_variant", "high_variant", "low_baseline", "high_baseline", "diff", "ci_low", "ci_high"),
    *("p", "reason", "placebo"),
)


def stability(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `STABILITY_COLUMNS`.

    Of variants that were settled on fewer seeds than others, on these.

    - `kind`: of the metric. `mean_*`: the mean over paired seeds of a `mean`, the rate of a `rate`, the standard
      deviation of a `spread`; `low_*` and `high_*`: its 95 % interval, of t, of Clopper and Pearson, and of chi-square.
    - `diff` is oriented, with its 95 % interval; a rate has none. `p` is that of no difference; `reason` what keeps
      the row from saying anything (`core.reason`).
    """
    facts, runs, rows = evidence.facts, Runs(evidence), []
    for variant, task, (name, derived) in product(facts.variants[1:], facts.tasks, DERIVED.items()):
        measure = measure_of(name, task, facts) if derived.described else None
        if measure is None or (variant.placebo and ESTIMATORS[name].estimate is not None):
            continue  # what is trained or measured beside has no placebo
        names = (variant.name, facts.variants[0].name)
        values = _row(runs, measure, names)
        rows.append((*names, task.name, name, measure.kind, *values, variant.placebo))
    return pd.DataFrame(rows, columns=list(STABILITY_COLUMNS))


def _row(runs: Runs, measure: Measure, names: Sequence[str]) -> tuple[object, ...]:
    """The columns from `n` to `reason`."""
    estimate = measure.estimate(runs, [[name] for name in names])
    blocked = [block.reason for block in estimate.blocks if block.wholly]
    if measure.kind == "spread":
        sides = np.stack([runs.of(name, measure.task).values(runs.facts.metric) for name in names])
        described = [_spread(side) for side in sides[:, ~np.isnan(sides).any(axis=0)]]
    else:
        c = measure.contrast(runs, [[name] for name in names])
        of_one = _rate if measure.kind == "rate" else mean_interval
        described = [of_one(side[0]) for side in (c.a, c.b)]
    (mean, bounds), (base, base_bounds) = described
    unknown = any(reason.code == "incomplete" for reason in blocked)
    return (
        *(estimate.n, mean, base, *bounds, *base_bounds),
        *(estimate.mean, *(estimate.interval(ALPHA) or (NAN, NAN))),
        NAN if unknown else p_of(estimate),
        str(blocked[0]) if blocked else "",
    )


def _rate(values: Floats) -> tuple[float, Interval]:
    return mean_of(values), clopper_pearson(int(values.sum()), len(values))


def _spread(values: Floats) -> tuple[float, Interval]:
    sd = sd_of(values)
    return sd, sd_interval(sd, len(values) - 1) if sd > 0 else (NAN, NAN)
