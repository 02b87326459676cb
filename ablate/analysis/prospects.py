"""What planned seeds can tell, before they are trained: from the spread of pairs that are known.

Of a mean, the smallest true difference that is found with 80 % power at the level of the family, with
V(n) = s_d²/n + σ²_example/N for n seeds and N shared test examples; and the power of equivalence at a true difference
of 0. Of an all-or-nothing task, what needs no spread: the failure rate that is told from 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ablate.analysis.contrast import Contrast
from ablate.analysis.paired import ROUNDING, Differences
from ablate.analysis.power import MAX_SEEDS, POWER, detectable_effect, equivalence_power, smallest
from ablate.analysis.rates import (
    detectable_failure_rate,
    least_count,
    seeds_for_failure_rate,
    seeds_without_failure,
)
from ablate.analysis.runs import Runs, solving_metric
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, TaskFacts
from ablate.core.metric import Metric
from ablate.core.reason import Reason


@dataclass(frozen=True)
class Prospect:
    """One planned comparison with the baseline. Numbers are None where they are not known; `why` says why."""

    variant: str
    pairs: int = 0
    "Known pairs, which give the spread."
    spread: float | None = None
    "s_d, the standard deviation of the paired differences, in the metric's units; so is the next."
    detectable: float | None = None
    "Found with 80 % power; infinite where the metric can show no such difference."
    equivalent: float | None = None
    "The probability that equivalence within the margin is shown at a true difference of 0."
    equivalent_seeds: float | None = None
    "The seeds that make it 80 %; infinite above `MAX_SEEDS`."
    seeds: float | None = None
    "The seeds that detect the difference that was asked for; infinite where none do."
    why: str = ""
    "A reason, as text (`core.reason`)."


@dataclass(frozen=True)
class Outlook:
    """The primary metric of one task: what its planned comparisons can tell."""

    task: str
    metric: str
    margin: float | None
    by_rate: bool
    "Whether the seeds that only one side solves decide."
    effect: float | None = None
    "By the mean: what is detected, in units of s_d, where no test examples are shared; None of a single seed."
    prospects: Sequence[Prospect] = ()
    failure_rate: float | None = None
    "By the rate: the smallest failure rate that is told from 0 with 80 % power; None where no outcome decides."
    equivalent_seeds: int | None = None
    "The seeds that `equivalent` takes, if no run fails alone."
    seeds: float | None = None
    "The seeds that tell the failure rate which is worth the difference that was asked for."


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
    "M, the size of the family."
    level: float
    "α/M, at which each comparison is judged; of seeds until settled, what the last look has of it."
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
    metric = task.metrics[name]
    if task.outcome == "all_or_nothing" and solving_metric(task, name) is not None:
        decides = n > 1 and math.isfinite(least_count(n, alpha))
        equal = margin is not None and metric.span
        return Outlook(
            *(task.name, name, margin, True),
            failure_rate=detectable_failure_rate(n, alpha) if decides else None,
            equivalent_seeds=seeds_without_failure(margin or 0.0, metric.span or 1.0, alpha)
            if equal
            else None,
            seeds=seeds_for_failure_rate(min(1.0, detect / metric.span), alpha)
            if detect and metric.span
            else None,
        )
    tasks = () if evidence is None else evidence.facts.tasks
    found = next((of for of in tasks if of.name == task.name and name in of.metrics), None)
    prospects = []
    for variant in variants:
        contrast = None
        if evidence is not None and found is not None:
            runs = Runs(evidence)
            a, b = ([[runs.of(of, found)]] for of in (variant, BASELINE))
            contrast = replace(Contrast.between(a, b, name), grouped=runs.suspect(found, name))
        shown = None if contrast is not None and contrast.grouped else margin
        prospects.append(_prospect(variant, contrast, metric, n, alpha, shown, detect))
    effect = detectable_effect(n, alpha) if n > 1 else None
    return Outlook(task.name, name, margin, False, effect, prospects)


def _prospect(
    variant: str,
    c: Contrast | None,
    metric: Metric,
    n: int,
    alpha: float,
    margin: float | None,
    detect: float | None,
) -> Prospect:
    if c is None or (nothing := _no_spread(c, metric)):
        why = Reason("pairs") if c is None else nothing
        return Prospect(variant, 0 if c is None else c.n, why=str(why))
    d, size, equal, takes = c.differences, None, None, None
    if n > 1:
        size = d.mde(alpha, n)
        size = math.inf if metric.span is not None and size > metric.span else size
    if margin is not None:
        equal = _equivalence(d, margin, n, alpha) if n > 1 else None
        takes = smallest(lambda count: _equivalence(d, margin, count, alpha) >= POWER)
    seeds, why = (None, None) if detect is None else _seeds_to_detect(d, detect, alpha)
    if c.diverged and why is None:
        why = Reason("unstable", {"diverged": c.diverged})
    elif c.grouped and why is None:
        why = Reason("groups")
    return Prospect(variant, c.n, d.sd, size, equal, takes, seeds, str(why or ""))


def _no_spread(c: Contrast, metric: Metric) -> Reason | None:
    """Why the known pairs have no spread to plan by; None where they have."""
    if c.n < 2:
        return Reason("few", {"n": c.n, "least": 2}) if c.n else Reason("pairs")
    scale = float(np.abs([c.a, c.b]).max())
    same = not metric.resolution and np.ptp(c.differences.values) <= ROUNDING * scale
    return Reason("degenerate", {"n": c.n}) if c.differences.all_zero or same else None


def _seeds_to_detect(d: Differences, difference: float, alpha: float) -> tuple[float, Reason | None]:
    """The seeds that detect a difference; infinite, with the reason, where none do."""

    def needed(given: Differences) -> float:
        return smallest(lambda n: given.mde(alpha, n) <= difference)

    if math.isfinite(seeds := needed(d)):
        return seeds, None
    if d.squares is not None and math.isfinite(needed(replace(d, examples=None))):
        return math.inf, Reason("examples")
    if d.overlap and math.isfinite(needed(replace(d, overlap=0.0))):
        return math.inf, Reason("pool")
    return math.inf, Reason("open", {"seeds": MAX_SEEDS + 1})


def _equivalence(d: Differences, margin: float, n: int, alpha: float) -> float:
    """The power of equivalence within `margin` at a true difference of 0."""
    return equivalence_power(margin / d.sd_at(n), n, 0.0, alpha / 2)
