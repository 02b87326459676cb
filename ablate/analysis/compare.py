"""Every variant against the baseline, paired by seed, on every metric of every task.

Runs of one seed share their data and their common initial values, so that most of the noise between seeds cancels
in their difference (common random numbers; Bouthillier et al. 2021, "Accounting for Variance in Machine Learning
Benchmarks", MLSys). `paired` has the statistics, `verdicts` the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ablate.analysis.learning import convergence, mcnemar_p
from ablate.analysis.paired import NAN, Floats, PairedStatistics, paired, seeds_needed
from ablate.analysis.power import ALPHA, MAX_SEEDS
from ablate.analysis.runs import Runs, Side, pairs, solving_metric
from ablate.analysis.stability import rate
from ablate.analysis.verdicts import Bound, Verdict, holm, shared_bound, verdict
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import TaskFacts, VariantFacts

COLUMNS = (
    *("variant", "baseline", "task", "metric", "n", "mean_variant", "mean_baseline", "diff"),
    *("ci_low", "ci_high", "p", "p_holm", "d_z", "prob_better", "mde", "verdict", "exploratory"),
    *("ci90_low", "ci90_high", "bonferroni_low", "bonferroni_high", "correlation", "seeds_needed"),
    *("solved_rate", "baseline_solved_rate", "p_solved", "diverged", "baseline_diverged"),
    *("missing", "placebo", "note"),
)


def compare(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `COLUMNS`.

    - `n` pairs, seeds on which both runs completed; `missing` planned seeds are the rest.
    - `mean_variant`, `mean_baseline`: over the pairs, in the metric's units and direction. `diff` and all
      intervals are oriented, so that more is better. `ci_*` is the marginal 95 % interval, `bonferroni_*`
      that at level 1 − .05/m.
    - `p_holm`: over the family of the primary metric, all m planned pairs of a variant (no placebo) and a
      task. A test that is missing or cannot give a verdict (unstable, degenerate) counts as p = 1. NaN
      outside the family, where rows are `exploratory` and judged on the raw p at .05.
    - `mde`: the difference detected with 80 % power, two-sided at α/m (α where exploratory).
    - `seeds_needed`: of an inconclusive row, see `paired.seeds_needed`; infinite above 1000.
    - `solved_rate`: over the runs with an outcome; diverged runs have not solved the task. `p_solved`: exact
      McNemar over the seeds on which both have an outcome.
    - `diverged`: number of runs of the variant that diverged.
    """
    facts, runs, trend = evidence.facts, Runs(evidence), convergence(evidence)
    baseline, *variants = facts.variants
    improving = {(row.variant, row.task) for row in trend[trend["improving"]].itertuples()}
    planned = [
        _Sides(v, task, runs.of(v.name, task), runs.of(baseline.name, task), (v.name, task.name) in improving)
        for v in variants
        for task in facts.tasks
    ]
    m = sum(facts.metric in sides.task.metrics and not sides.variant.placebo for sides in planned)
    margins = {facts.metric: facts.margin}
    comparisons = [
        _Comparison(sides, name, confirmatory, m if confirmatory else 1, margins.get(name))
        for sides in planned
        for name in sides.task.metrics
        for confirmatory in [name == facts.metric and not sides.variant.placebo]
    ]
    # NaN counts as 1: the verdict does not depend on p.
    adjusted = iter(
        holm([NAN if c.sides.unstable or c.bound else c.statistics.p for c in comparisons if c.confirmatory])
    )
    rows = [c.row(next(adjusted) if c.confirmatory else NAN) for c in comparisons]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True)
class _Sides:
    """A variant and the baseline on one task, whatever the metric."""

    variant: VariantFacts
    task: TaskFacts
    a: Side
    "The runs of the variant."
    b: Side
    "The runs of the baseline."
    improving: bool
    "Whether the variant was still improving when training ended."

    @property
    def unstable(self) -> bool:
        """Whether a run of either side diverged."""
        return self.a.diverged + self.b.diverged > 0

    @cached_property
    def solved(self) -> tuple[float, float, float, str]:
        """The solved rates of variant and baseline, p of their difference, and why these say nothing."""
        if solving_metric(self.task, self.a.runs.facts.metric) is None:
            return NAN, NAN, NAN, "the task declares no threshold for solved"
        both = self.a.ended & self.b.ended
        rates = self.a.solved_rate, self.b.solved_rate
        note = "neither solved the task on any seed" if rates == (0.0, 0.0) else ""
        if not both.any():
            note = "solved rates cannot be compared: no seed on which both runs have an outcome"
        return *rates, mcnemar_p(self.a.solved[both], self.b.solved[both]), note


@dataclass(frozen=True)
class _Comparison:
    """One row before Holm's adjustment."""

    sides: _Sides
    metric: str
    confirmatory: bool
    "Whether it belongs to the family that Holm corrects over."
    m: int
    "The size of that family; 1 outside it."
    margin: float | None

    @cached_property
    def statistics(self) -> PairedStatistics:
        """Over the pairs."""
        return paired(*self._pairs, self.sides.task.metrics[self.metric], self.m)

    @cached_property
    def bound(self) -> Bound | None:
        """The bound of the metric at which both sides are on every seed."""
        return shared_bound(*self._pairs, self.sides.task.metrics[self.metric])

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        return pairs(self.sides.a, self.sides.b, self.metric)

    def row(self, p_holm: float) -> dict[str, object]:
        """The row in the order of `COLUMNS`."""
        s, sides = self.statistics, self.sides
        p = p_holm if self.confirmatory else s.p
        found = verdict(s, p, diverged=sides.unstable, bound=self.bound, margin=self.margin)
        needed = seeds_needed(s.differences, self.m, self.margin) if found == "inconclusive" else NAN
        solved_rate, baseline_solved_rate, p_solved, solved_note = sides.solved
        notes = [
            f"placebo: {placebo_words(sides.variant)}, the noise floor" if sides.variant.placebo else "",
            _deciding(self, found, p, needed),
            *_missing(self),
            "not converged: still improving when training ended" if sides.improving else "",
            solved_note,
        ]
        return {
            "variant": sides.a.variant,
            "baseline": sides.b.variant,
            "task": sides.task.name,
            "metric": self.metric,
            "n": s.n,
            "mean_variant": s.mean_variant,
            "mean_baseline": s.mean_baseline,
            "diff": s.diff,
            "ci_low": s.ci95[0],
            "ci_high": s.ci95[1],
            "p": s.p,
            "p_holm": p_holm,
            "d_z": s.d_z,
            "prob_better": s.prob_better,
            "mde": s.mde,
            "verdict": found,
            "exploratory": not self.confirmatory,
            "ci90_low": s.ci90[0],
            "ci90_high": s.ci90[1],
            "bonferroni_low": s.bonferroni[0] if self.confirmatory else NAN,
            "bonferroni_high": s.bonferroni[1] if self.confirmatory else NAN,
            "correlation": s.correlation,
            "seeds_needed": needed,
            "solved_rate": solved_rate,
            "baseline_solved_rate": baseline_solved_rate,
            "p_solved": p_solved,
            "diverged": sides.a.diverged,
            "baseline_diverged": sides.b.diverged,
            "missing": len(sides.a.status) - s.n,
            "placebo": sides.variant.placebo,
            "note": "; ".join(note for note in notes if note),
        }


def placebo_words(variant: VariantFacts) -> str:
    """A description of a placebo."""
    return f"the baseline{', tuned anew,' if variant.tuned else ''} with other random streams"


def _deciding(c: _Comparison, found: Verdict, p: float, needed: float) -> str:
    """The evidence behind a verdict, beyond the numbers of the row."""
    s = c.statistics
    if found == "unstable":
        return _unstable(c)
    if s.n < 2:
        return f"{wording.counted(s.n, 'pair')}: no interval and no test"
    if found == "degenerate":
        return f"both at the metric's {c.bound} on every seed" if c.bound else "every difference is 0"
    if found == "inconclusive":
        return _inconclusive(c, p, needed)
    return "" if c.margin is None else _relevance(s, c.margin, found)


def _unstable(c: _Comparison) -> str:
    rates = [f"{rate(s.diverged, int(s.ended.sum()))} of {s.variant}" for s in (c.sides.a, c.sides.b)]
    n = c.statistics.n
    means = f"means are of the {wording.counted(n, 'pair')} that converged" if n else "no pair converged"
    counted = "; counted as p = 1 by Holm" if c.confirmatory else ""
    return f"diverged: {', '.join(rates)}; {means}{counted}"


def _inconclusive(c: _Comparison, p: float, needed: float) -> str:
    s, alone = c.statistics, wording.p_value(c.statistics.p)
    lost = f"significant alone ({alone}), not after Holm over {c.m} ({wording.p_value(p)}); "
    settle = f"about {needed:.0f} seeds would settle it if the observed difference is the true one"
    if math.isinf(needed):
        settle = f"more than {MAX_SEEDS:,} seeds would be needed to settle the observed difference"
    difference = wording.number(s.mde, wording.decimals(s.mde))
    return (
        f"{lost if c.m > 1 and s.p < ALPHA else ''}{s.n} seeds detect {difference} with 80 % power; {settle}"
    )


def _relevance(s: PairedStatistics, margin: float, found: Verdict) -> str:
    """The position of the interval relative to the margin, where the verdict does not say it."""
    if found == "equivalent":
        inside = f"90 % interval {wording.interval(s.ci90, margin, -margin)} inside ±{wording.exact(margin)}"
        return inside if s.ci95[0] <= 0 <= s.ci95[1] else f"{inside}, though the 95 % interval excludes 0"
    if s.ci95[0] > margin or s.ci95[1] < -margin:
        return ""
    bounds = wording.interval(s.ci95, margin, -margin)
    return f"relevance unsettled: 95 % interval {bounds} does not clear the margin {wording.exact(margin)}"


def _missing(c: _Comparison) -> list[str]:
    """Why planned seeds have no pair, divergence apart: `a failed (seeds 1, 4)`."""
    causes: dict[str, list[str]] = {}
    for side in (c.sides.a, c.sides.b):
        absent = np.isnan(side.values(c.metric)) & (side.status != "diverged")
        for seed, status in zip(np.array(side.runs.seeds)[absent], side.status[absent], strict=True):
            cause = "has no value" if status == "completed" else status
            causes.setdefault(f"{side.variant} {cause}", []).append(str(seed))
    return [f"{cause} (seed{'s' * (len(s) > 1)} {', '.join(s)})" for cause, s in causes.items()]
