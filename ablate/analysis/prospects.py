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
from ablate.analysis.rates import detectable_failure_rate, seeds_for_failure_rate, seeds_without_failure
from ablate.analysis.runs import Runs, solving_metric
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, TaskFacts
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


@dataclass(frozen=True)
class Terms:
    """What planned comparisons are judged by."""

    n: int
    "Seeds of each variant."
    alpha: float
    margin: float | None = None
    detect: float | None = None
    "A difference that they should find, in the metric's units."


def outlook(
    task: TaskFacts, name: str, variants: Sequence[str], evidence: Evidence | None, terms: Terms
) -> Outlook:
    """Of `variants` on one task, by its metric called `name`; `evidence` has known pairs, also under other seeds."""
    metric, n = task.metrics[name], terms.n
    if terms.detect is not None and metric.span is not None and terms.detect > metric.span:
        terms = replace(terms, detect=None)
    if task.outcome == "all_or_nothing" and solving_metric(task, name) is not None:
        rate = detectable_failure_rate(n, terms.alpha) if n > 1 else math.nan
        worth = terms.margin is not None and metric.span
        return Outlook(
            *(task.name, name, terms.margin, True),
            failure_rate=None if math.isnan(rate) else rate,
            equivalent_seeds=seeds_without_failure(terms.margin or 0.0, worth, terms.alpha)
            if worth
            else None,
            seeds=seeds_for_failure_rate(terms.detect / metric.span, terms.alpha)
            if terms.detect and metric.span
            else None,
        )
    tasks = () if evidence is None else evidence.facts.tasks
    found = next((of for of in tasks if of.name == task.name and name in of.metrics), None)
    prospects = [Prospect(variant, why=str(Reason("pairs"))) for variant in variants]
    if evidence is not None and found is not None:
        runs = Runs(evidence)
        baseline, grouped = [[runs.of(BASELINE, found)]], runs.suspect(found, name)
        for index, variant in enumerate(variants):
            contrast = Contrast.between([[runs.of(variant, found)]], baseline, name)
            prospects[index] = _prospect(variant, replace(contrast, metric=metric, grouped=grouped), terms)
    effect = detectable_effect(n, terms.alpha) if n > 1 else None
    return Outlook(task.name, name, terms.margin, False, effect, prospects)


def _prospect(variant: str, c: Contrast, terms: Terms) -> Prospect:
    """Of one variant, by its known pairs."""
    d, n, alpha = c.differences, terms.n, terms.alpha
    same = c.n > 1 and not c.metric.resolution and np.ptp(d.values) <= ROUNDING * np.abs([c.a, c.b]).max()
    if c.n < 2 or d.all_zero or same:
        few = Reason("few", {"n": c.n, "least": 2}) if c.n else Reason("pairs")
        return Prospect(variant, c.n, why=str(few if c.n < 2 else Reason("degenerate", {"n": c.n})))
    size = equal = takes = seeds = why = None
    if n > 1:
        size = d.mde(alpha, n)
        size = math.inf if c.metric.span is not None and size > c.metric.span else size
    if (margin := terms.margin) is not None and not c.grouped:
        equal = _equivalence(d, margin, n, alpha) if n > 1 else None
        takes = smallest(lambda count: _equivalence(d, margin, count, alpha) >= POWER)
    if terms.detect is not None:
        seeds, why = _seeds_to_detect(d, terms.detect, alpha)
    if why is None and (c.diverged or c.grouped):
        why = Reason("unstable", {"diverged": c.diverged}) if c.diverged else Reason("groups")
    return Prospect(variant, c.n, d.sd, size, equal, takes, seeds, str(why or ""))


def _seeds_to_detect(d: Differences, difference: float, alpha: float) -> tuple[float, Reason | None]:
    """The seeds that detect a difference; infinite, with the reason, where none do."""

    def needed(given: Differences) -> float:
        return smallest(lambda n: given.mde(alpha, n) <= difference)

    if math.isfinite(seeds := needed(d)):
        return seeds, None
    # The first limit without which some number of seeds would do is the reason.
    if math.isfinite(needed(replace(d, examples=None))):
        return math.inf, Reason("examples")
    if math.isfinite(needed(replace(d, overlap=0.0))):
        return math.inf, Reason("pool")
    return math.inf, Reason("open", {"seeds": MAX_SEEDS + 1})


def _equivalence(d: Differences, margin: float, n: int, alpha: float) -> float:
    """The power of equivalence within `margin` at a true difference of 0."""
    return equivalence_power(margin / d.sd_at(n), n, 0.0, alpha / 2)
