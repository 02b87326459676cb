"""Over the tasks of a study: on how many a verdict holds, the mean of their differences, performance profiles.

The aggregate is the mean over tasks of the per-seed difference, each in a unit that the study declared in advance, and
is tested over seeds; the tasks are fixed, no sample of all tasks. It is exploratory beside the verdicts on each task.
Interquartile means and performance profiles describe (Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of
the Statistical Precipice", NeurIPS): scores of 0 at guessing and 1 at the best value, pooled over tasks and seeds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ablate.analysis.compare import planned
from ablate.analysis.contrast import Contrast
from ablate.analysis.looks import looks, p_sequential
from ablate.analysis.paired import NAN, Differences, Floats
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric

COUNTED = ("better", "worse", "equivalent")
COLUMNS = ("variant", "tasks", *COUNTED, "open", "n", "diff", "ci_low", "ci_high", "p", "iqm", "iqm_baseline")
POINTS = 101
"""Scores at which a profile is given."""


def across(evidence: Evidence, comparisons: pd.DataFrame) -> pd.DataFrame:
    """One row a variant, with `COLUMNS`; none where the study has one task. `comparisons` is the result of `compare`.

    - `better`, `worse`, `equivalent`, `open`: the number of the `tasks` with this verdict on the primary metric; all
      others are `open`.
    - `diff` with its 95 % interval and two-sided `p` over the `n` seeds that have a score on every task: the aggregate
      in units of `Facts.units`, oriented; NaN where none are declared, below two seeds, and where a trial is missing.
      Both allow for all looks, as in `compare`.
    - `iqm`, `iqm_baseline`: the mean of the middle half of all scores; NaN where the metric has no range.
    """
    facts, runs = evidence.facts, Runs(evidence)
    mine = planned(comparisons)
    mine = mine[mine["metric"] == facts.metric]
    rows = []
    for variant in facts.variants[1:] if len(facts.tasks) > 1 else ():
        verdicts = mine.loc[mine["variant"] == variant.name, "verdict"]
        counts = {verdict: int((verdicts == verdict).sum()) for verdict in COUNTED}
        d = aggregate(runs, variant.name)
        taken = [look for look in looks(facts) if look.seeds <= d.n]
        p = (
            p_sequential([d.on(np.arange(d.n) < look.seeds).p() for look in taken], taken[-1].count)
            if taken
            else NAN
        )
        low, high = d.interval(ALPHA * taken[-1].weight if taken else ALPHA)
        rows.append(
            {
                "variant": variant.name,
                "tasks": len(verdicts),
                **counts,
                "open": len(verdicts) - sum(counts.values()),
                "n": d.n,
                "diff": d.mean if d.n > 1 else np.nan,
                "ci_low": low,
                "ci_high": high,
                "p": p if d.n > 1 else NAN,
                "iqm": _middle(scores(runs, variant.name)),
                "iqm_baseline": _middle(scores(runs, BASELINE)),
            }
        )
    return pd.DataFrame([row for row in rows if row["tasks"]], columns=list(COLUMNS))


def aggregate(runs: Runs, variant: str) -> Differences:
    """The differences of a variant from the baseline, averaged over tasks in the declared units, seed by seed.

    Where examples are shared by all seeds, these differences hold for them.
    """
    facts = runs.facts
    tasks = [task for task in facts.tasks if task.name in facts.units and facts.metric in task.metrics]
    if len(tasks) < len(facts.tasks):
        return Differences(np.array([]), 1e-100)
    contrasts = [
        Contrast.of([runs.of(variant, task)], [runs.of(BASELINE, task)], facts.metric) for task in tasks
    ]
    if any(c.missing or c.without_score for c in contrasts):
        return Differences(np.array([]), 1e-100)
    most = min(c.n for c in contrasts)  # the first seeds, where looks asked for fewer on some task
    parts = [c.differences.values[:most] / facts.units[c.task.name] for c in contrasts]
    floors = [c.differences.floor / facts.units[c.task.name] for c in contrasts]
    overlap = max(c.differences.overlap for c in contrasts)
    return Differences(np.mean(parts, axis=0), float(np.mean(floors)), overlap=overlap)


def profiles(evidence: Evidence) -> pd.DataFrame:
    """variant, score, share: of the runs of a variant that reach each score, every task counting alike.

    None where some task's metric has no range, or where the study has one task.
    """
    facts, runs = evidence.facts, Runs(evidence)
    at, frames = np.linspace(0, 1, POINTS), []
    for variant in facts.variants if len(facts.tasks) > 1 else ():
        found = scores(runs, variant.name)
        if found and all(map(len, found)):
            share = np.mean([(of[:, None] >= at).mean(axis=0) for of in found], axis=0)
            frames.append(pd.DataFrame({"variant": variant.name, "score": at, "share": share}))
    return pd.concat(frames) if frames else pd.DataFrame(columns=["variant", "score", "share"])


def scores(runs: Runs, variant: str) -> list[Floats]:
    """Of the runs with an outcome on each task, 0 at the floor and 1 at the ceiling; none where a metric lacks them."""
    facts = runs.facts
    metrics = [task.metrics.get(facts.metric) for task in facts.tasks]
    if any(metric is None or not metric.span for metric in metrics):
        return []
    sides = [runs.of(variant, task) for task in facts.tasks]
    return [_score(side, metric, facts.metric) for side, metric in zip(sides, metrics, strict=True) if metric]


def _score(side: Side, metric: Metric, name: str) -> Floats:
    values = side.scored(name)
    assert metric.floor is not None
    assert metric.ceiling is not None
    return (values[~np.isnan(values)] - metric.floor) / (metric.ceiling - metric.floor)


def _middle(found: list[Floats]) -> float:
    from scipy.stats import trim_mean

    pooled = np.concatenate(found) if found else np.array([])
    return float(trim_mean(pooled, 0.25)) if len(pooled) else np.nan
