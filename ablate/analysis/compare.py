"""Every variant against the baseline, paired by seed, on every metric of every task (METHODS §2, §3)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ablate.analysis.learning import convergence, mcnemar_p
from ablate.analysis.paired import NAN, Floats, PairedStatistics, paired, seeds_needed
from ablate.analysis.power import MAX_SEEDS
from ablate.analysis.runs import Flags, Runs
from ablate.analysis.stability import rate
from ablate.analysis.verdicts import Bound, Verdict, holm, relevance_unsettled, shared_bound, verdict
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, TaskFacts, VariantFacts
from ablate.core.metric import Metric

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
    facts, runs = evidence.facts, Runs(evidence)
    trend = convergence(evidence)
    improving = {(r.variant, r.task) for r in trend[trend["improving"]].itertuples()}
    judged_tasks = sum(facts.metric in task.metrics for task in facts.tasks)
    family_size = judged_tasks * sum(not variant.placebo for variant in facts.variants[1:])
    comparisons = []
    for variant in facts.variants[1:]:
        for task in facts.tasks:
            sides = _Sides.of(runs, facts, variant, task, improving)
            for name, metric in task.metrics.items():
                confirmatory = name == facts.metric and not variant.placebo
                m = family_size if confirmatory else 1
                comparisons.append(_Comparison.of(runs, facts, sides, name, metric, m, confirmatory))
    family = [c for c in comparisons if c.confirmatory]
    adjusted = iter(holm([NAN if c.sides.unstable or c.bound else c.statistics.p for c in family]))
    rows = [c.row(next(adjusted) if c.confirmatory else NAN) for c in comparisons]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True)
class _Sides:
    """What a variant and the baseline did on one task, whatever the metric."""

    variant: VariantFacts
    baseline: str
    task: TaskFacts
    statuses: tuple[np.ndarray, np.ndarray]
    "Of variant and baseline, shape (num_seeds,) each."
    diverged: tuple[int, int]
    ended: tuple[int, int]
    solved: tuple[float, float]
    p_solved: float
    solved_note: str
    improving: bool
    "Whether the variant was still improving when training ended."

    @classmethod
    def of(
        cls, runs: Runs, facts: Facts, variant: VariantFacts, task: TaskFacts, improving: set[tuple[str, str]]
    ) -> _Sides:
        names = (variant.name, facts.variants[0].name)
        ended = [runs.ended(name, task.name) for name in names]
        both = ended[0] & ended[1]
        a, b = (runs.solved(name, task) for name in names)
        rates, p, note = (NAN, NAN), NAN, "the task declares no threshold for solved"
        if a is not None and b is not None:
            rates, p = (_share(a[ended[0]]), _share(b[ended[1]])), mcnemar_p(a[both], b[both])
            note = _solved_note(rates, int(both.sum()))
        return cls(
            variant=variant,
            baseline=names[1],
            task=task,
            statuses=(runs.status(names[0], task.name), runs.status(names[1], task.name)),
            diverged=(
                int(runs.diverged(names[0], task.name).sum()),
                int(runs.diverged(names[1], task.name).sum()),
            ),
            ended=(int(ended[0].sum()), int(ended[1].sum())),
            solved=rates,
            p_solved=p,
            solved_note=note,
            improving=(names[0], task.name) in improving,
        )

    @property
    def unstable(self) -> bool:
        return sum(self.diverged) > 0


def _share(flags: Flags) -> float:
    return float(flags.mean()) if len(flags) else NAN


def _solved_note(rates: tuple[float, float], pairs: int) -> str:
    """Why the solved rates say nothing."""
    if not pairs:
        return "solved rates cannot be compared: no seed on which both runs have an outcome"
    if rates == (0.0, 0.0):
        return "neither solved the task on any seed"
    return ""


@dataclass(frozen=True)
class _Comparison:
    """One row before Holm's adjustment."""

    sides: _Sides
    metric: str
    statistics: PairedStatistics
    m: int
    confirmatory: bool
    margin: float | None
    bound: Bound | None
    causes: dict[str, list[int]]
    "Why a planned seed has no pair, divergence apart → the seeds."

    @classmethod
    def of(
        cls,
        runs: Runs,
        facts: Facts,
        sides: _Sides,
        name: str,
        metric: Metric,
        m: int,
        confirmatory: bool,
    ) -> _Comparison:
        a = runs.values(sides.variant.name, sides.task.name, name)
        b = runs.values(sides.baseline, sides.task.name, name)
        both = ~np.isnan(a) & ~np.isnan(b)
        return cls(
            sides=sides,
            metric=name,
            statistics=paired(a[both], b[both], metric, m),
            m=m,
            confirmatory=confirmatory,
            margin=facts.margin if name == facts.metric else None,
            bound=shared_bound(a[both], b[both], metric),
            causes=_causes(sides, (a, b), facts.seeds),
        )

    def row(self, p_holm: float) -> dict[str, object]:
        s, sides = self.statistics, self.sides
        p = p_holm if self.confirmatory else s.p
        found = verdict(s, p, diverged=sides.unstable, bound=self.bound, margin=self.margin)
        needed = seeds_needed(s.differences, self.m, self.margin) if found == "inconclusive" else NAN
        return {
            "variant": sides.variant.name,
            "baseline": sides.baseline,
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
            "solved_rate": sides.solved[0],
            "baseline_solved_rate": sides.solved[1],
            "p_solved": sides.p_solved,
            "diverged": sides.diverged[0],
            "baseline_diverged": sides.diverged[1],
            "missing": len(sides.statuses[0]) - s.n,
            "placebo": sides.variant.placebo,
            "note": "; ".join(self.notes(found, p, needed)),
        }

    def notes(self, found: Verdict, p: float, needed: float) -> list[str]:
        """What a reader must know beside the numbers."""
        sides = self.sides
        anew = ", tuned anew," if sides.variant.tuned else ""
        placebo = f"placebo: the baseline{anew} with other random streams, the noise floor"
        notes = [placebo] if sides.variant.placebo else []
        notes += self._verdict_notes(found, p, needed)
        notes += [f"{cause} ({_seeds(seeds)})" for cause, seeds in self.causes.items()]
        if sides.improving:
            notes.append("not converged: still improving when training ended")
        return [*notes, sides.solved_note] if sides.solved_note else notes

    def _verdict_notes(self, found: Verdict, p: float, needed: float) -> list[str]:
        s, margin = self.statistics, self.margin
        if found == "unstable":
            (a, b), (total_a, total_b) = self.sides.diverged, self.sides.ended
            names = self.sides.variant.name, self.sides.baseline
            rates = f"{rate(a, total_a)} of {names[0]}, {rate(b, total_b)} of {names[1]}"
            pairs = wording.counted(s.n, "pair") + " that converged"
            means = f"means are of the {pairs}" if s.n else "no pair converged"
            return [
                f"diverged: {rates}; {means}",
                *(["counted as p = 1 by Holm"] if self.confirmatory else []),
            ]
        if s.n < 2:
            return [f"{wording.counted(s.n, 'pair')}: no interval and no test"]
        if found == "degenerate":
            at_bound = f"both at the metric's {self.bound} on every seed"
            return [at_bound if self.bound else "every difference is 0"]
        if found == "equivalent":
            delta = margin or 0.0
            text = f"90 % interval {wording.interval(s.ci90, delta, -delta)} inside ±{wording.exact(delta)}"
            holds_zero = s.ci95[0] <= 0 <= s.ci95[1]
            return [text if holds_zero else f"{text}, though the 95 % interval excludes 0"]
        if found == "inconclusive":
            places = wording.decimals(s.mde)
            text = f"{s.n} seeds detect {wording.number(s.mde, places)} with 80 % power; {_needed(needed)}"
            if self.m > 1 and s.p < 0.05:
                alone = f"significant alone ({wording.p_value(s.p)})"
                return [f"{alone}, not after Holm over {self.m} ({wording.p_value(p)})", text]
            return [text]
        if margin is not None and relevance_unsettled(s.ci95, margin):
            bounds = wording.interval(s.ci95, margin, -margin)
            clears = f"95 % interval {bounds} does not clear the margin {wording.exact(margin)}"
            return [f"relevance unsettled: {clears}"]
        return []


def _causes(sides: _Sides, values: tuple[Floats, Floats], seeds: list[int]) -> dict[str, list[int]]:
    causes: dict[str, list[int]] = {}
    for name, statuses, numbers in zip(
        (sides.variant.name, sides.baseline), sides.statuses, values, strict=True
    ):
        for seed, status, value in zip(seeds, statuses, numbers, strict=True):
            if status == "completed" and math.isnan(value):
                causes.setdefault(f"{name} has no value", []).append(seed)
            elif status not in ("completed", "diverged"):
                causes.setdefault(f"{name} {status}", []).append(seed)
    return causes


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _needed(needed: float) -> str:
    if math.isinf(needed):
        return f"more than {MAX_SEEDS:,} seeds would be needed to settle the observed difference"
    return f"about {needed:.0f} seeds would settle it if the observed difference is the true one"
