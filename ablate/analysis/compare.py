"""Every variant against the baseline, paired by seed, on every metric of every task.

Runs of one seed share their data and their common initial values, so that most of the noise between seeds cancels
in their difference (common random numbers; Bouthillier et al. 2021, "Accounting for Variance in Machine Learning
Benchmarks", MLSys). `contrast` has the comparison of one pair, `verdicts` the rules, `notes` their words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ablate.analysis.contrast import Contrast, suspect
from ablate.analysis.halfway import halfway
from ablate.analysis.learning import convergence
from ablate.analysis.notes import comparison_note
from ablate.analysis.paired import NAN, Floats, correlation, seeds_needed
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, Side, solving_metric
from ablate.analysis.verdicts import Judgement, judge
from ablate.core.evidence import Evidence
from ablate.core.facts import TaskFacts, VariantFacts

COLUMNS = (
    *("variant", "baseline", "task", "metric", "n", "mean_variant", "mean_baseline", "diff"),
    *("ci_low", "ci_high", "p", "p_adjusted", "d_z", "prob_better", "mde", "verdict", "exploratory"),
    *("decided_by", "p_equivalent", "seeds_low", "seeds_high", "family_low", "family_high", "tost_low"),
    *("tost_high", "mde_low", "mde_high", "correlation", "seeds_needed", "sd_seed", "sd_example", "sd_rest"),
    *("solved_rate", "baseline_solved_rate", "only_variant", "only_baseline", "p_solved", "diverged"),
    *("baseline_diverged", "missing", "placebo", "half", "at", "note"),
)


def compare(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `COLUMNS`.

    - `n` pairs, seeds on which both runs have an outcome: a diverged run counts with the metric's floor. `missing`
      planned seeds are the rest.
    - `mean_variant`, `mean_baseline`: over the pairs, in the metric's units and direction. `diff` and all intervals
      are oriented, so that more is better. `ci_*` is the marginal 95 % interval, over seeds and examples where these
      are shared by all seeds; `seeds_*` the same over seeds alone, which decides nothing. `family_*` at level
      1 − .05/m excludes 0 exactly where t decides a difference; `tost_*` at level 1 − .1/m lies inside the margin
      exactly where the paired equivalence test decides.
    - The family is all m planned pairs of a variant (no placebo) and a task on the primary metric, whatever became of
      them. `p` is that of no difference, `p_adjusted` = min(1, m·p), NaN outside the family: rows there are
      `exploratory` and judged at .05. `p_equivalent` is judged at .05/m too.
    - `decided_by`: `t`, or `rate`, where the seeds that only one side solved decide. `p_solved` is p of the rates.
    - `mde`: the difference that is detected with 80 % power, two-sided at .05/m, and at both ends of the 95 %
      interval of s_d. `seeds_needed`: of an inconclusive row, see `paired.seeds_needed`; infinite above 1000.
    - `sd_seed`, `sd_example`, `sd_rest`: components of the differences, where examples are shared.
    - `solved_rate`: over the runs with an outcome; diverged runs have not solved the task. `only_*`: the number of
      seeds that only this side solved.
    - `at`: what the verdict is conditional on, such as `at lr 0.003, not tuned`; empty where it was tuned.
    - `half`: the verdict on validation data at half of the steps, where it differs from the verdict.
    """
    facts, runs, trend = evidence.facts, Runs(evidence), convergence(evidence)
    baseline, *variants = facts.variants
    slow = {(row.variant, row.task): row.why for row in trend.itertuples() if row.why}
    planned = [(v, task) for v in variants for task in facts.tasks]
    m = sum(facts.metric in task.metrics and not v.placebo for v, task in planned)
    grouped = {
        task.name: suspect([runs.of(v.name, task) for v in facts.variants], facts.metric)
        for task in facts.tasks
        if facts.metric in task.metrics
    }
    half = halfway(evidence, max(m, 1), grouped)
    rows = []
    for v, task in planned:
        a, b = runs.of(v.name, task), runs.of(baseline.name, task)
        for name in task.metrics:
            primary = name == facts.metric
            confirmatory = primary and not v.placebo
            compared = Comparison(
                v,
                task,
                name,
                a,
                b,
                confirmatory,
                m if confirmatory else 1,
                facts.margin if primary else None,
                primary and grouped.get(task.name, False),
                slow.get((v.name, task.name), ""),
                half.get((v.name, task.name), "") if primary else "",
            )
            rows.append(compared.row())
    return pd.DataFrame(rows, columns=list(COLUMNS))


@dataclass(frozen=True)
class Comparison:
    """One row."""

    variant: VariantFacts
    task: TaskFacts
    metric: str
    a: Side
    "The runs of the variant."
    b: Side
    "The runs of the baseline."
    confirmatory: bool
    "Whether it belongs to the family of planned comparisons."
    m: int
    "The size of that family; 1 outside it."
    margin: float | None
    suspect: bool
    "Whether the runs of a graded task fall into groups."
    unfinished: str
    "Why the variant may not have learned all that it would, or nothing."
    then: str
    "The verdict on validation data at half of the steps, where there is one."

    @cached_property
    def contrast(self) -> Contrast:
        """The pairs."""
        return Contrast.of([self.a], [self.b], self.metric)

    @cached_property
    def judgement(self) -> Judgement:
        """The verdict with its numbers."""
        return judge(self.contrast, self.m, self.margin, self.suspect)

    @property
    def half(self) -> str:
        """`then`, where there is a verdict and it is another."""
        return self.then if self.judgement.verdict not in ("incomplete", self.then) else ""

    @property
    def level(self) -> float:
        """α/m."""
        return ALPHA / self.m

    @cached_property
    def seeds_needed(self) -> float:
        """Of a comparison that t has left open; else NaN."""
        if self.judgement.verdict != "inconclusive" or self.contrast.by_rate:
            return NAN
        return seeds_needed(self.contrast.differences, self.m, self.margin)

    def row(self) -> dict[str, object]:
        """The row, with `COLUMNS`."""
        c, d, found = self.contrast, self.contrast.differences, self.judgement
        solvable = solving_metric(self.task, self.a.runs.facts.metric) is not None
        family = d.interval(self.level) if self.confirmatory else (NAN, NAN)
        tost = d.interval(2 * self.level) if self.margin is not None else (NAN, NAN)
        squares = d.squares
        return {
            "variant": self.a.variant,
            "baseline": self.b.variant,
            "task": self.task.name,
            "metric": self.metric,
            "n": c.n,
            "mean_variant": _mean(c.a[0]),
            "mean_baseline": _mean(c.b[0]),
            "diff": d.mean,
            "ci_low": d.interval()[0],
            "ci_high": d.interval()[1],
            "p": found.p,
            "p_adjusted": min(1.0, self.m * found.p) if self.confirmatory else NAN,
            "d_z": d.d_z,
            "prob_better": d.prob_better,
            "mde": d.mde(self.level),
            "verdict": found.verdict,
            "exploratory": not self.confirmatory,
            "decided_by": "rate" if c.by_rate else "t",
            "p_equivalent": found.p_equivalent,
            "seeds_low": d.seed_interval()[0],
            "seeds_high": d.seed_interval()[1],
            "family_low": family[0],
            "family_high": family[1],
            "tost_low": tost[0],
            "tost_high": tost[1],
            "mde_low": d.mde_range(self.level)[0],
            "mde_high": d.mde_range(self.level)[1],
            "correlation": correlation(c.a[0], c.b[0]),
            "seeds_needed": self.seeds_needed,
            "sd_seed": squares.by_seed**0.5 if squares else NAN,
            "sd_example": squares.by_example**0.5 if squares else NAN,
            "sd_rest": squares.rest**0.5 if squares else NAN,
            "solved_rate": self.a.solved_rate if solvable else NAN,
            "baseline_solved_rate": self.b.solved_rate if solvable else NAN,
            "only_variant": c.only[0] if solvable else NAN,
            "only_baseline": c.only[1] if solvable else NAN,
            "p_solved": c.p_rate,
            "diverged": c.diverged[0],
            "baseline_diverged": c.diverged[1],
            "missing": c.missing,
            "placebo": self.variant.placebo,
            "half": self.half,
            "at": f"at {rate}, not tuned" if (rate := self.a.runs.facts.rate) else "",
            "note": comparison_note(self),
        }


def _mean(values: Floats) -> float:
    """Independent of the order of the seeds."""
    return float(np.sort(values).mean()) if len(values) else NAN
