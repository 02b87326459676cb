"""The paired difference over training steps, on validation data, so that "worse" can be told from "slower".

Verdicts before the end are exploratory: they say how a difference came about, and whether more steps might change it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.analysis.contrast import Contrast, overlap
from ablate.analysis.paired import Differences, Floats
from ablate.analysis.runs import Runs, reached, solving_metric
from ablate.analysis.verdicts import Verdict, judge
from ablate.core.evidence import Evidence
from ablate.core.facts import TaskFacts
from ablate.core.metric import Metric, sign

COLUMNS = ("variant", "task", "step", "n", "diff", "low", "high")


def trajectory(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and step at which every run of both sides was evaluated, with `COLUMNS`.

    `diff` is the mean over seeds of variant − baseline on the primary metric and validation data, oriented; `low` and
    `high` its 95 % interval over seeds, NaN for fewer than two. A diverged run counts with the metric's floor once its
    curve has ended.
    """
    rows = []
    for pair in _pairs(evidence):
        for place, step in enumerate(pair.steps):
            d = pair.at(place)
            rows.append((pair.variant, pair.task.name, step, d.n, d.mean, *d.interval()))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def halfway(evidence: Evidence, m: int, suspect: Mapping[str, bool]) -> dict[tuple[str, str], Verdict]:
    """The verdicts on validation data at half of the steps that differ from those at the end, by variant and task.

    `m`: the size of the family. `suspect`: by task, as in `Contrast.p_equivalent`.
    """
    found = {}
    for pair in _pairs(evidence):
        early = [place for place, step in enumerate(pair.steps) if step <= pair.steps[-1] / 2]
        if early:
            grouped = suspect.get(pair.task.name, False)
            then, now = (
                judge(pair.contrast(place), m, evidence.facts.margin, grouped).verdict
                for place in (early[-1], len(pair.steps) - 1)
            )
            if then != now:
                found[pair.variant, pair.task.name] = then
    return found


@dataclass(frozen=True)
class _Pair:
    """The curves of a variant beside the baseline's, on the seeds on which both have an outcome."""

    variant: str
    task: TaskFacts
    metric: Metric
    steps: list[int]
    "At which every run has a value; not empty."
    a: Floats
    "Of the variant, (n, num_steps), n ≥ 1; so is the next."
    b: Floats
    lost: NDArray[np.int64]
    "Runs of each side that had diverged by then, (2, num_steps)."
    solves: bool
    "Whether the metric says when the task is solved."

    def at(self, place: int) -> Differences:
        """The oriented differences at one of the steps."""
        a, b = (sign(self.metric) * side[:, place] for side in (self.a, self.b))
        return Differences.between(a, b, self.metric.resolution, overlap=overlap(self.task))

    def contrast(self, place: int) -> Contrast:
        """The comparison at one of the steps."""
        d, a, b = self.at(place), self.a[:, place], self.b[:, place]
        lost = int(self.lost[0, place]), int(self.lost[1, place])
        solved = (reached(a, self.metric), reached(b, self.metric)) if self.solves else None
        return Contrast(
            self.task, self.metric, a[None], b[None], d, np.ones(d.n, bool), lost, 0, solved, self.solves
        )


def _pairs(evidence: Evidence) -> Iterator[_Pair]:
    facts, runs = evidence.facts, Runs(evidence)
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
        if known and (steps := sorted(set.intersection(*(set(curve) for curve in known)))):
            # A run that diverged has the floor at every step that it did not reach.
            a, b = (np.array([[c.get(step, floor) for step in steps] for c in side]) for side in found)
            lost = np.array([[sum(step not in c for c in side) for step in steps] for side in found])
            solves = solving_metric(task, facts.metric) == facts.metric
            yield _Pair(variant.name, task, metric, steps, a, b, lost, solves)
