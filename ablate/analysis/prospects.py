"""What planned seeds can tell, before they are trained: from the spread of pairs that are known.

Of a mean, the smallest true difference that is found with 80 % power at the level of the family, with
V(n) = s_d²/n + σ²_example/N for n seeds and N shared test examples; and the power of equivalence at a true difference
of 0. Of an all-or-nothing task, what needs no spread: the failure rate that is told from 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ablate.analysis.contrast import Contrast
from ablate.analysis.estimates import detectable_failure_rate, seeds_for_failure_rate, seeds_without_failure
from ablate.analysis.paired import ROUNDING, Differences
from ablate.analysis.power import (
    LEAST_PAIRS,
    MAX_SEEDS,
    POWER,
    detectable_effect,
    equivalence_power,
    smallest,
)
from ablate.analysis.runs import Runs, solving_metric
from ablate.core.facts import BASELINE, Evidence, TaskFacts
from ablate.core.reason import Reason


@dataclass(frozen=True)
class Prospect:
    """One planned comparison with the baseline. Numbers are None where they are not known; `why` is the reason.

    pairs: known ones, which give the spread, the standard deviation of their differences in the metric's units.
    detectable: found with 80 % power; infinite where the metric can show no such difference. equivalent: the
    probability that equivalence within the margin is shown at a true difference of 0; equivalent_seeds make it 80 %.
    seeds: detect the difference that was asked for. Both are infinite above `MAX_SEEDS`.
    """

    variant: str
    pairs: int = 0
    spread: float | None = None
    detectable: float | None = None
    equivalent: float | None = None
    equivalent_seeds: float | None = None
    seeds: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Outlook:
    """What the planned comparisons can tell on one task.

    by_rate: whether the seeds that only one side solves decide. By the mean, `effect` is what is detected in units of
    s_d, where no test examples are shared; None of a single seed. By the rate: the smallest failure_rate that is told
    from 0 with 80 % power, None where no outcome decides; the seeds that `equivalent` takes, if no run fails alone; the
    seeds that tell the failure rate which is worth the difference that was asked for.
    """

    task: str
    metric: str
    margin: float | None
    by_rate: bool
    effect: float | None = None
    prospects: Sequence[Prospect] = ()
    failure_rate: float | None = None
    equivalent_seeds: int | None = None
    seeds: float | None = None


@dataclass(frozen=True)
class Power:
    """What a study can detect on its primary metric.

    comparisons: M, the size of the family. level: at which each is judged; with looks, the share of the last one.
    source: where the spread comes from, in words; empty where none is known. asked: a difference that it is to detect.
    """

    metric: str
    seeds: int
    comparisons: int
    level: float
    looks: int
    source: str
    tasks: Sequence[Outlook]
    asked: float | None = None


@dataclass(frozen=True)
class Terms:
    """What planned comparisons are judged by; `detect` is a difference that they should find."""

    n: int
    alpha: float
    margin: float | None = None
    detect: float | None = None


def outlook(
    task: TaskFacts, name: str, variants: Sequence[str], evidence: Evidence | None, terms: Terms
) -> Outlook:
    """Of `variants` on one task, by its metric called `name`; `evidence` has known pairs, also under other seeds."""
    span = task.metrics[name].span
    if terms.detect is not None and span is not None and terms.detect > span:
        terms = replace(terms, detect=None)
    n, alpha, margin, detect = terms.n, terms.alpha, terms.margin, terms.detect
    if task.outcome == "all_or_nothing" and solving_metric(task, name) is not None:
        # This needs no spread: it takes no more than the failures that would be significant.
        rate = detectable_failure_rate(n, alpha)
        return Outlook(
            *(task.name, name, margin, True),
            failure_rate=None if math.isnan(rate) else rate,
            equivalent_seeds=seeds_without_failure(margin, span, alpha)
            if span and margin is not None
            else None,
            seeds=seeds_for_failure_rate(detect / span, alpha) if span and detect else None,
        )
    prospects = [Prospect(variant, why=str(Reason("pairs"))) for variant in variants]
    tasks = evidence.facts.tasks if evidence else ()
    found = next((known for known in tasks if known.name == task.name and name in known.metrics), None)
    if evidence and found:
        runs, measured = Runs(evidence), task.metrics[name]
        bases = [runs.of(at, found) for at in (BASELINE, *runs.runner_ups(BASELINE, found))]
        every = [
            [Contrast.between([[runs.of(v, found)]], [[base]], name) for base in bases] for v in variants
        ]
        # By the setting of the baseline at which differences vary most.
        most = [max(of, key=lambda c: c.differences.sd if c.n > 1 else -1.0) for of in every]
        prospects = [
            _prospect(v, replace(c, metric=measured), terms) for v, c in zip(variants, most, strict=True)
        ]
    return Outlook(task.name, name, margin, False, detectable_effect(n, alpha) if n > 1 else None, prospects)


def _prospect(variant: str, c: Contrast, terms: Terms) -> Prospect:
    """Of one variant, by its known pairs."""
    d, n, alpha, span = c.differences, terms.n, terms.alpha, c.metric.span
    same = c.n > 1 and not c.metric.resolution and np.ptp(d.values) <= ROUNDING * np.abs([c.a, c.b]).max()
    if c.n < LEAST_PAIRS or d.all_zero or same:
        few = Reason("few", {"n": c.n, "least": LEAST_PAIRS}) if c.n else Reason("pairs")
        return Prospect(variant, c.n, why=str(few if c.n < LEAST_PAIRS else Reason("degenerate", {"n": c.n})))

    def equivalence(seeds: int, margin: float) -> float:
        return equivalence_power(margin / d.sd_at(seeds), seeds, 0.0, alpha / 2)

    size = equal = takes = seeds = why = None
    if n > 1:
        size = math.inf if span is not None and d.mde(alpha, n) > span else d.mde(alpha, n)
    if (margin := terms.margin) is not None and not c.grouped:
        equal = equivalence(n, margin) if n > 1 else None
        takes = smallest(lambda count: equivalence(count, margin) >= POWER)
    if terms.detect is not None:
        seeds, why = _seeds_to_detect(d, terms.detect, alpha)
    if why is None and c.diverged:
        why = Reason("unstable", {"diverged": c.diverged})
    elif why is None and c.grouped:
        why = Reason("groups")
    return Prospect(variant, c.n, d.sd, size, equal, takes, seeds, str(why or ""))


def _seeds_to_detect(d: Differences, difference: float, alpha: float) -> tuple[float, Reason | None]:
    """The seeds that detect a difference; infinite, with the reason, where none do."""

    def needed(given: Differences) -> float:
        return smallest(lambda n: given.mde(alpha, n) <= difference)

    if math.isfinite(seeds := needed(d)):
        return seeds, None
    # The first limit without which some number of seeds would do is the reason.
    for why, without in (
        (Reason("examples"), replace(d, examples=None)),
        (Reason("pool"), replace(d, overlap=0.0)),
    ):
        if math.isfinite(needed(without)):
            return math.inf, why
    return math.inf, Reason("open", {"seeds": MAX_SEEDS + 1})
