"""The table of comparisons: every pair on every metric, judged where it was planned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ablate.analysis.agreeing import Estimated, binding_resolution, main_estimate
from ablate.analysis.alike import are_seedless
from ablate.analysis.comparison_row import ComparisonRow
from ablate.analysis.contrast import Contrast, unseen
from ablate.analysis.estimates import Rate
from ablate.analysis.family import Pair, alpha_at, pairs
from ablate.analysis.guides import refuse_own_guides
from ablate.analysis.judge import ALPHA, DECIDED, Row, row
from ablate.analysis.looks import Look, at_looks, p_sequential
from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN, Differences, mean_of, seeds_needed
from ablate.analysis.power import LEAST_PAIRS, MAX_SEEDS
from ablate.analysis.runs import Runs, runs_of
from ablate.analysis.treatments import treatments_of
from ablate.core.facts import Evidence
from ablate.core.metric import plain
from ablate.core.reason import Reason
from ablate.core.rows import frame_of_rows
from ablate.core.treatment import Treatment
from ablate.core.unequal_run import UnequalRun, as_text


def compare(evidence: Evidence, *, planned: bool = True) -> pd.DataFrame:
    """Returns the table of comparisons, planned ones first, with the columns of `ComparisonRow`.

    Without `planned`, all of them count as exploratory. Raises `Invalid` where the metric chooses its own best step.
    """
    runs = runs_of(evidence)
    refuse_own_guides(runs.evidence)
    comparisons = all_comparisons(runs, planned=planned)
    return frame_of_rows([comparison.row() for comparison in comparisons], ComparisonRow)


def all_comparisons(runs: Runs, *, planned: bool = True) -> Iterator[Comparison]:
    """Yields every pair on every metric of its task, but for slices on which neither side has values."""
    for pair in pairs(runs.facts):
        primary = primary_comparison(runs, pair, judged=pair.planned and planned)
        for metric in pair.task.metrics:
            if metric == runs.facts.metric:
                yield primary
                continue
            described = Comparison(
                pair=pair,
                metric=metric,
                runs=primary.runs,
                look=primary.look,
                alpha=ALPHA,
                judged=False,
            )
            is_slice = plain(metric) != metric
            if described.contrast.n or not is_slice:
                yield described


def primary_comparison(runs: Runs, pair: Pair, *, judged: bool = True) -> Comparison:
    """Returns a pair on the primary metric at the look that settled it, else at the last look of its runs."""
    earlier_p: list[float] = []
    for look, runs_at_look in at_looks(runs, [(pair.task, (*pair.a, *pair.b))]):
        comparison = Comparison(
            pair=pair,
            metric=runs.facts.metric,
            runs=runs_at_look,
            look=look,
            alpha=alpha_at(runs, look) if judged else ALPHA,
            judged=judged,
            earlier_p=tuple(earlier_p),
        )
        if judged and comparison.decision.verdict in DECIDED:
            break
        earlier_p.append(comparison.decision.p)
    return comparison


@dataclass(frozen=True)
class Comparison:
    """A pair on one metric at one look."""

    pair: Pair
    metric: str
    runs: Runs
    """The runs of the seeds of the look."""
    look: Look
    alpha: float
    """The α of the verdict, and of the interval."""
    judged: bool
    """Whether the comparison gets a verdict: it was planned, and the metric is the primary one."""
    earlier_p: tuple[float, ...] = ()
    """Two-sided p at each earlier look."""

    @property
    def measure(self) -> Measure:
        """The metric on the task of the pair."""
        return Measure(self.metric, "mean", self.pair.task)

    @cached_property
    def contrast(self) -> Contrast:
        """The pairs of runs, variant against baseline."""
        return self.measure.contrast(self.runs, (self.pair.a, self.pair.b))

    @cached_property
    def estimate(self) -> Estimated:
        """The difference: as it is judged, or the plain mean where nothing is judged."""
        if not self.judged:
            return self.contrast.differences
        return self.measure.estimate(self.runs, (self.pair.a, self.pair.b))

    @property
    def margin(self) -> float | None:
        """The margin that the study declares, in units of the primary metric; None for other metrics."""
        facts = self.runs.facts
        return facts.margin if self.metric == facts.metric else None

    @cached_property
    def decision(self) -> Row:
        """The verdict at this look."""
        return row(self.estimate, self.margin, self.alpha)

    @property
    def open(self) -> bool:
        """True where more seeds may settle the comparison.

        They cannot where a trial failed or is missing, which no seed makes good.
        """
        if self.decision.verdict in DECIDED:
            return False
        why = self.decision.reason
        return why is None or why.code != "incomplete"

    @property
    def p(self) -> float:
        """Two-sided p of no difference; p_seq over the looks so far where the comparison is judged."""
        p_by_look = [*self.earlier_p, self.decision.p]
        if not self.judged or np.isnan(p_by_look).all():
            return self.decision.p
        return p_sequential(p_by_look, self.look.count)

    @cached_property
    def is_seedless(self) -> bool:
        """Whether more seeds would show nothing new."""
        return are_seedless(self.runs, (*self.pair.a, *self.pair.b), self.pair.task)

    @property
    def mde(self) -> float:
        """The minimum detectable difference with all planned seeds; infinite beyond the range of the metric.

        NaN where the seed changes nothing.
        """
        facts = self.runs.facts
        if self.is_seedless:
            return NAN
        alpha = self.alpha
        num_seeds = None  # As many as the estimate has.
        if self.judged:
            planned = facts.plan.looks or [len(facts.seeds)]
            last_look = Look(number=len(planned), count=len(planned), seeds=planned[-1])
            alpha = alpha_at(self.runs, last_look)
            num_seeds = last_look.seeds if facts.plan.looks else None
        difference = self.estimate.mde(alpha, num_seeds)
        span = self.contrast.metric.span
        if isinstance(main_estimate(self.estimate), Differences) and span is not None and difference > span:
            return math.inf
        return difference

    @property
    def reason(self) -> Reason | None:
        """The reason of the verdict, with the seeds that would settle an open one.

        Of an equivalence, the share of runs that may fail without having been seen.
        """
        contrast = self.contrast
        are_documents = self.runs.facts.replication.unit == "document"
        if self.decision.verdict == "equivalent" and not contrast.by_rate and not are_documents:
            num_runs = min(contrast.a.shape[1], contrast.b.shape[1])
            numbers = {"failures": unseen(num_runs)}
            if contrast.metric.span is None:
                numbers["untested"] = 1.0
            return Reason("unseen", numbers)
        if self.is_seedless and self.decision.reason == Reason("open"):
            return Reason("seedless")
        # A baseline that did not learn does not tell how many seeds are needed.
        if contrast.baseline_at_floor:
            return self.decision.reason
        return with_seeds(self.decision.reason, self.estimate, alpha=self.alpha, margin=self.margin)

    @property
    def settings(self) -> str:
        """The settings tuned for the variant, and the runner-ups at which it was judged too."""
        task = self.pair.task
        settings = []
        for variant in self.runs.facts.variants:
            if variant.name == self.pair.name:
                tuned = variant.tuned.get(task.name, {})
                settings += [f"{path}={label}" for path, label in tuned.items()]
        if self.judged:
            for name in self.pair.a:
                for runner_up in self.runs.runner_ups(name, task):
                    if self.runs.of(runner_up, task).ended.any():
                        settings.append(f"also {runner_up}")
        return "; ".join(settings)

    @property
    def plan(self) -> str:
        """The mark of a judged comparison that is not as first planned: `changed`, `added` or `known`; else empty."""
        return self.runs.facts.plan_mark((*self.pair.a, *self.pair.b)) if self.judged else ""

    @property
    def treatment(self) -> Treatment | None:
        """The first difference in treatment of the sides of a judged comparison; None where they were treated alike."""
        if not self.judged:
            return None
        treatments = treatments_of(self.runs.evidence)
        return treatments.between(self.pair.a, self.pair.b, self.pair.task.name)

    @property
    def unequal_runs(self) -> list[UnequalRun]:
        """The runs of a judged comparison that ended before the others of their variant, or after them."""
        if not self.judged:
            return []
        treatments = treatments_of(self.runs.evidence)
        return treatments.unequal_runs((*self.pair.a, *self.pair.b), self.pair.task.name)

    def row(self) -> ComparisonRow:
        """Returns the row of the table."""
        contrast = self.contrast
        ci_low, ci_high = self.estimate.interval(self.alpha) or (NAN, NAN)
        solved_variant: float = NAN
        solved_baseline: float = NAN
        only_variant: float = NAN
        only_baseline: float = NAN
        estimate = main_estimate(self.estimate)
        if isinstance(estimate, Rate) and contrast.solved is not None:
            solved_variant, solved_baseline = (int(solved.sum()) for solved in contrast.solved)
            only_variant, only_baseline = estimate.only
        return ComparisonRow(
            variant=self.pair.name,
            baseline=self.pair.against,
            task=self.pair.task.name,
            metric=self.metric,
            n=contrast.n,
            mean_variant=mean_of(contrast.a.mean(axis=0)),
            mean_baseline=mean_of(contrast.b.mean(axis=0)),
            diff=contrast.differences.mean,
            ci_low=ci_low,
            ci_high=ci_high,
            level=1 - self.alpha,
            p=self.p,
            mde=self.mde,
            verdict=self.decision.verdict if self.judged else "",
            reason=str(self.reason or "") if self.judged else "",
            exploratory=not self.judged,
            settings=self.settings,
            solved_variant=solved_variant,
            solved_baseline=solved_baseline,
            only_variant=only_variant,
            only_baseline=only_baseline,
            look=self.look.number,
            plan=self.plan,
            treatment=str(self.treatment or ""),
            resolution=binding_resolution(self.estimate),
            unequal_runs=as_text(self.unequal_runs),
        )


def with_seeds(
    why: Reason | None, estimate: Estimated, *, alpha: float, margin: float | None, x: float | None = 0.0
) -> Reason | None:
    """Returns the reason of an open verdict with the number of seeds that would settle it.

    They settle whether the difference is other than `x`, or lies within `margin`. Any other reason is returned as it
    is, and so is that of a rate or of fewer than three pairs, which tell of no number of seeds. Of folds no number
    settles anything.
    """
    differences = main_estimate(estimate)
    if why is None or why.code != "open":
        return why
    if not isinstance(differences, Differences) or differences.n < LEAST_PAIRS:
        return why
    if differences.unit == "folds":
        # More folds of the same data are no further evidence.
        return Reason("folds")
    seeds = seeds_needed(differences, alpha, margin, x)
    if math.isfinite(seeds):
        return Reason("open", {differences.unit: seeds})
    if math.isfinite(seeds_needed(differences.without_examples(), alpha, margin, x)):
        return Reason("examples")
    return Reason("open", {differences.unit: MAX_SEEDS + 1})
