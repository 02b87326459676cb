"""The table of comparisons: every pair on every metric, judged where it was planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from ablate.analysis.agreeing import Estimated, chosen
from ablate.analysis.contrast import Contrast, at_floor, unseen
from ablate.analysis.estimates import Rate
from ablate.analysis.family import Look, Pair, at_looks, level, p_sequential, pairs
from ablate.analysis.judge import ALPHA, DECIDED, Row, row
from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN, Differences, mean_of, seeds_needed
from ablate.analysis.power import LEAST_PAIRS, MAX_SEEDS
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence
from ablate.core.metric import plain, sign
from ablate.core.reason import Reason

COLUMNS = (
    *("variant", "baseline", "task", "metric", "n", "mean_variant", "mean_baseline", "diff", "ci_low", "ci_high"),
    *("level", "p", "mde", "verdict", "reason", "exploratory", "settings"),
    *("solved_variant", "solved_baseline", "only_variant", "only_baseline", "look"),
)  # fmt: skip


def compare(evidence: Evidence, *, planned: bool = True) -> pd.DataFrame:
    """One row a pair and metric, those that were planned first, with `COLUMNS`; without `planned` none of them was.

    - `n` pairs, seeds on which both runs have an outcome: a diverged run counts with the metric's floor.
    - `mean_*`: over the pairs, in the metric's units and direction. `diff` and the interval, at `level`, are oriented,
      so that more is better: 1 − 0.05/M of a planned comparison (`analysis.family`), 0.95 of others.
    - `p` is two-sided, of no difference; over looks p_seq. `mde`: what is detected with 80 % power at that level; in
      seeds that one side alone solves where these decide, infinite where the metric can show no such difference.
    - `verdict` and `reason` (`core.reason`): of planned comparisons alone; others are `exploratory`.
    - `settings`: of the variant, where they were tuned for it, and the others at which it was judged too.
    - `solved_*`: runs that solved an all-or-nothing task, `only_*` seeds that one side alone solved; NaN elsewhere.
    - `look`: where seeds were added until it was settled, the one whose seeds the numbers are of.
    """
    return pd.DataFrame([one.row for one in every(Runs(evidence), planned=planned)], columns=list(COLUMNS))


def every(runs: Runs, *, planned: bool = True) -> Iterator[Compared]:
    """Every pair on every metric of its task; not on slices that neither can read."""
    for pair in pairs(runs.facts):
        first = compared(runs, pair, judged=pair.planned and planned)
        for name in pair.task.metrics:
            one = Compared(pair, name, first.runs, first.look, ALPHA, judged=False)
            if name == runs.facts.metric:
                yield first
            elif one.contrast.n or plain(name) == name:
                yield one


@dataclass(frozen=True)
class Compared:
    """A pair on one metric, at one look; `before` are the p of earlier looks."""

    pair: Pair
    metric: str
    runs: Runs
    look: Look
    alpha: float
    judged: bool
    before: tuple[float, ...] = ()

    @cached_property
    def contrast(self) -> Contrast:
        """Its pairs of runs."""
        return Measure(self.metric, "mean", self.pair.task).contrast(self.runs, (self.pair.a, self.pair.b))

    @property
    def margin(self) -> float | None:
        """That of the study, which is one of the primary metric."""
        return self.runs.facts.margin if self.metric == self.runs.facts.metric else None

    @cached_property
    def estimate(self) -> Estimated:
        """Of what is described, the plain mean."""
        if not self.judged:
            return self.contrast.differences
        return Measure(self.metric, "mean", self.pair.task).estimate(self.runs, (self.pair.a, self.pair.b))

    @cached_property
    def decision(self) -> Row:
        """At this look."""
        return row(self.estimate, self.margin, self.alpha)

    @property
    def open(self) -> bool:
        """Whether more seeds may settle it: not where a trial failed or is missing, which no seed makes good."""
        why = self.decision.reason
        return self.decision.verdict not in DECIDED and (why is None or why.code != "incomplete")

    @property
    def mde(self) -> float:
        """Of all seeds that were planned; infinite where the metric can show no such difference."""
        facts, span = self.runs.facts, self.contrast.metric.span
        planned = facts.looks or [len(facts.seeds)]
        last = level(self.runs, Look(len(planned), len(planned), planned[-1])) if self.judged else self.alpha
        found = self.estimate.mde(last, planned[-1] if facts.looks and self.judged else None)
        return (
            np.inf
            if isinstance(chosen(self.estimate), Differences) and span is not None and found > span
            else found
        )

    @property
    def reason(self) -> Reason | None:
        """Why the verdict is what it is, with what would settle it; of likeness, what it does not exclude."""
        why, c = self.decision.reason, self.contrast
        if self.decision.verdict == "equivalent" and not c.by_rate and self.runs.facts.given != "documents":
            untested = {} if c.metric.span is not None else {"untested": 1.0}
            return Reason("unseen", {"failures": unseen(min(c.a.shape[1], c.b.shape[1])), **untested})
        # How many seeds it takes is not told by those of what did not learn.
        if at_floor(c.metric, sign(c.metric) * c.b):
            return why
        return with_seeds(why, self.estimate, self.alpha, self.margin)

    @property
    def row(self) -> tuple[object, ...]:
        """As `COLUMNS`."""
        c, task, facts = self.contrast, self.pair.task, self.runs.facts
        low, high = self.estimate.interval(self.alpha) or (NAN, NAN)
        p = self.decision.p
        counts: tuple[float, ...] = (NAN,) * 4
        if isinstance(rate := chosen(self.estimate), Rate) and c.solved is not None:
            counts = (*(int(side.sum()) for side in c.solved), *rate.only)
        if self.judged and not np.isnan([*self.before, p]).all():
            p = p_sequential([*self.before, p], self.look.count)
        tuned = next((v.tuned.get(task.name, {}) for v in facts.variants if v.name == self.pair.name), {})
        near = [name for of in self.pair.a for name in self.runs.runner_ups(of, task) if self.judged]
        trained = [name for name in near if self.runs.of(name, task).ended.any()]
        return (
            *(self.pair.name, self.pair.against, task.name, self.metric, c.n),
            *(mean_of(c.a.mean(axis=0)), mean_of(c.b.mean(axis=0)), c.differences.mean, low, high),
            *(1 - self.alpha, p, self.mde),
            self.decision.verdict if self.judged else "",
            str(self.reason or "") if self.judged else "",
            not self.judged,
            "; ".join(
                [*(f"{path}={label}" for path, label in tuned.items()), *(f"also {n}" for n in trained)]
            ),
            *(*counts, self.look.number),
        )


def with_seeds(
    why: Reason | None, estimate: Estimated, alpha: float, margin: float | None, x: float | None = 0.0
) -> Reason | None:
    """Why something is open, with the seeds that would settle whether it differs from `x` or is within `margin`.

    It is not told by two seeds, nor of rates.
    """
    d = chosen(estimate)
    if why is None or why.code != "open" or not isinstance(d, Differences) or d.n < LEAST_PAIRS:
        return why
    seeds, on_all = (seeds_needed(of, alpha, margin, x) for of in (d, replace(d, examples=None)))
    if np.isinf(seeds) and np.isfinite(on_all):
        return Reason("examples")
    return Reason("open", {d.unit: seeds if np.isfinite(seeds) else MAX_SEEDS + 1})


def compared(runs: Runs, pair: Pair, *, judged: bool = True) -> Compared:
    """A pair on the primary metric at the look that settled it, else at the last of its runs."""
    facts, p = runs.facts, list[float]()
    for look, fewer in at_looks(runs, [(pair.task, (*pair.a, *pair.b))]):
        alpha = level(runs, look) if judged else ALPHA
        one = Compared(pair, facts.metric, fewer, look, alpha, judged, tuple(p))
        if judged and one.decision.verdict in DECIDED:
            break
        p.append(one.decision.p)
    return one
