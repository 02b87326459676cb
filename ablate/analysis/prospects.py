"""What planned seeds can tell, before they are trained: from the spread of pairs that are known.

Of a graded task, the smallest true difference that a comparison finds with 80 % power at the level that the family
leaves, α/m, with V(n) = s_d²/n + σ²_example/N for n seeds and N shared test examples; and the power of equivalence at a
true difference of 0. Of an all-or-nothing task, what needs no spread: the failure rate that is told from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ablate.analysis.contrast import Contrast
from ablate.analysis.paired import ROUNDING, Differences
from ablate.analysis.power import POWER, detectable_effect, equivalence_power, smallest
from ablate.analysis.rates import detectable_failure_rate, seeds_for_failure_rate
from ablate.analysis.runs import Runs, solving_metric
from ablate.analysis.solving import seeds_without_failure
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, TaskFacts
from ablate.core.metric import Metric

Limit = Literal["", "examples", "pool", "seeds"]
"""What keeps any number of seeds from detecting a difference; `seeds`: it takes more than `MAX_SEEDS`."""


@dataclass(frozen=True)
class Prospect:
    """One planned comparison with the baseline. Numbers are None where they are not known; `why` says why."""

    variant: str
    pairs: int = 0
    "Known pairs, which give the spread."
    spread: float | None = None
    "s_d, the standard deviation of the paired differences, in the metric's units; so are the next three."
    detectable: float | None = None
    "Found with 80 % power; infinite where the metric can show no such difference."
    detectable_low: float | None = None
    "The same at the lower end of the 95 % interval of s_d; so is the next, at its upper end."
    detectable_high: float | None = None
    equivalent: float | None = None
    "The probability that equivalence within the margin is shown at a true difference of 0."
    equivalent_seeds: float | None = None
    "The seeds that make it 80 %; infinite above `MAX_SEEDS`."
    seeds: float | None = None
    "The seeds that detect the difference that was asked for; infinite where none do."
    limit: Limit = ""
    "Why none do."
    why: str = ""


@dataclass(frozen=True)
class Outlook:
    """One metric of one task: what its planned comparisons can tell."""

    task: str
    metric: str
    margin: float | None
    by: Literal["mean", "rate"]
    "rate: an all-or-nothing task, on which the seeds that only one side solves decide."
    effect: float | None
    "By the mean: what is detected, in units of s_d, where no test examples are shared; None of a single seed."
    prospects: Sequence[Prospect] = ()
    failure_rate: float | None = None
    "By the rate: the smallest failure rate that is told from 0 with 80 % power; None where none is."
    equivalent_seeds: int | None = None
    "The seeds that `equivalent` takes, if all runs solve the task."
    seeds: float | None = None
    "The seeds that tell the failure rate which is worth the difference that was asked for."
    unsolved: int = 0
    "The known runs, where none of them solved the task; else 0."
    examples: int = 0
    "Test examples that all seeds share."

    @property
    def known(self) -> bool:
        """Whether it says what can be detected."""
        return self.by == "rate" or any(one.spread is not None for one in self.prospects)


@dataclass(frozen=True)
class Asked:
    """A difference that the study is to detect, and what that takes."""

    difference: float
    "In the metric's units."
    median: float | None
    "Seeds that the median comparison takes; None where no spread is known, infinite where no number does."
    seeds: int | None
    "Seeds with which every comparison detects it that can; None where none can, or no spread is known."
    trials: int = 0
    "Of so many seeds."
    to_train: int = 0
    "Those that are not in the store."
    seconds: float | None = None
    "That the latter take on so many `workers`; None where no training has been timed."
    workers: int = 0
    tuned: bool = False
    "Whether trials that tune come before them."


@dataclass(frozen=True)
class Power:
    """What a study can detect."""

    metric: str
    "The primary one."
    seeds: int
    comparisons: int
    "m, the size of the family."
    level: float
    "α/m, at which each comparison is judged; of seeds until settled, what the last look has of it."
    looks: int
    "K, at each of which a comparison may end; 1 of a fixed number of seeds, which is else the largest."
    source: str
    "Where the spread comes from, in words; empty where none is known."
    tasks: Sequence[Outlook]
    asked: Asked | None = None


def outlook(
    task: TaskFacts,
    name: str,
    variants: Sequence[str],
    evidence: Evidence | None,
    n: int,
    alpha: float,
    margin: float | None = None,
    detect: float | None = None,
) -> Outlook:
    """Of `n` seeds of each of `variants` on one task, by its metric called `name`, each judged at `alpha`.

    `evidence` has the pairs that are known, also under other seeds; `detect` is a difference in the metric's units.
    """
    tasks = () if evidence is None else evidence.facts.tasks
    found = next((of for of in tasks if of.name == task.name and name in of.metrics), None)
    runs = None if evidence is None or found is None else Runs(evidence)
    if task.outcome == "all_or_nothing" and solving_metric(task, name) is not None:
        return _by_rate(task, name, runs, n, alpha, margin, detect)

    def contrast(variant: str) -> Contrast | None:
        if runs is None or found is None:
            return None
        return Contrast.of([runs.of(variant, found)], [runs.of(BASELINE, found)], name)

    grouped = runs is not None and found is not None and runs.suspect(found, name)
    # Equivalence of such a task is not shown by the mean.
    shown = margin if task.outcome == "graded" and not grouped else None
    prospects = [
        _prospect(variant, contrast(variant), task.metrics[name], n, alpha, shown, detect, grouped)
        for variant in variants
    ]
    effect = detectable_effect(n, alpha) if n > 1 else None
    shared = task.sampling.test if task.sampling.pool == "held_out" else 0
    return Outlook(task.name, name, margin, "mean", effect, prospects, examples=shared)


def _by_rate(
    task: TaskFacts, name: str, runs: Runs | None, n: int, alpha: float, *limits: float | None
) -> Outlook:
    """`limits`: the margin and the difference that is to be detected."""
    metric, (margin, detect) = task.metrics[name], limits
    rate = detectable_failure_rate(n, alpha) if n > 1 else math.nan
    sides = [side for side in runs.sides() if side.task.name == task.name] if runs is not None else []
    some = any(bool(side.solved[side.ended].any()) for side in sides if solving_metric(side.task, name))
    takes = seeds = None
    if metric.span and metric.solved is not None and margin is not None:
        takes = seeds_without_failure(margin, metric.span, alpha)
    if metric.span and detect is not None:
        seeds = seeds_for_failure_rate(min(1.0, detect / metric.span), alpha)
    return Outlook(
        *(task.name, name, margin, "rate", None),
        failure_rate=None if math.isnan(rate) else rate,
        equivalent_seeds=takes,
        seeds=seeds,
        unsolved=0 if some else sum(int(side.ended.sum()) for side in sides),
    )


def _prospect(
    variant: str,
    c: Contrast | None,
    metric: Metric,
    n: int,
    alpha: float,
    margin: float | None,
    detect: float | None,
    grouped: bool,
) -> Prospect:
    nothing = _no_spread(c, metric)
    why = [nothing, _diverged(c)]
    if c is None or nothing:
        return Prospect(variant, 0 if c is None else c.n, why="; ".join(filter(None, why)))
    d = c.differences
    equal = takes = middle = low = high = None
    if n > 1:
        span = math.inf if metric.span is None else metric.span
        sizes = (d.mde(alpha, n=n), *d.mde_range(alpha, n))
        middle, low, high = (size if size <= span else math.inf for size in sizes)
    why += ["no difference that the metric can show"] * (middle == math.inf)
    why += ["runs fall into groups: no equivalence"] * grouped
    if margin is not None:
        equal = _equivalence(d, margin, n, alpha) if n > 1 else None
        takes = smallest(lambda count: _equivalence(d, margin, count, alpha) >= POWER)
    seeds = (None, "") if detect is None else _seeds_to_detect(d, detect, alpha)
    said = "; ".join(filter(None, why))
    return Prospect(variant, c.n, d.sd, middle, low, high, equal, takes, *seeds, said)


def _no_spread(c: Contrast | None, metric: Metric) -> str:
    """Why the known pairs have no spread to plan by; empty where they have."""
    if c is None or not c.n:
        return "no pair with the baseline is known"
    if c.n < 2:
        return "one pair is known, a spread takes two"
    if c.differences.all_zero:
        return "every known difference is 0: no spread to plan by"
    scale = float(np.abs([c.a, c.b]).max())
    same = not metric.resolution and np.ptp(c.differences.values) <= ROUNDING * scale
    return "the known differences are all the same: no spread to plan by" if same else ""


def _seeds_to_detect(d: Differences, difference: float, alpha: float) -> tuple[float | None, Limit]:
    """The seeds that detect a difference; infinite, with the reason, where none do."""

    def needed(given: Differences) -> float:
        return smallest(lambda n: given.mde(alpha, n=n) <= difference)

    if math.isfinite(seeds := needed(d)):
        return seeds, ""
    if d.squares is not None and math.isfinite(needed(replace(d, examples=None))):
        return math.inf, "examples"
    if d.overlap and math.isfinite(needed(replace(d, overlap=0.0))):
        return math.inf, "pool"
    return math.inf, "seeds"


def _equivalence(d: Differences, margin: float, n: int, alpha: float) -> float:
    """The power of equivalence within `margin` at a true difference of 0."""
    return equivalence_power(margin / d.sd_at(n), n, 0.0, alpha)


def _diverged(contrast: Contrast | None) -> str:
    if contrast is None or not contrast.any_diverged:
        return ""
    runs = f"{wording.counted(sum(contrast.diverged), 'known run')} diverged"
    if contrast.without_score:
        return f"{runs}: without a floor to score them, the metric tells nothing where one does"
    return f"{runs}, scored at the metric's floor"
