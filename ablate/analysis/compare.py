"""The table of comparisons: every pair on every metric, judged where it was planned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ablate.analysis.agreeing import binding_resolution, lacks_pairs, main_estimate
from ablate.analysis.alike import are_seedless
from ablate.analysis.comparison_row import ALSO, ComparisonRow
from ablate.analysis.contrast import unseen
from ablate.analysis.estimates import Rate
from ablate.analysis.family import Pair, alpha_at, is_judged, pairs
from ablate.analysis.guides import refuse_own_guides
from ablate.analysis.judge import DECIDED, Row
from ablate.analysis.learning import improving_sides
from ablate.analysis.looks import Look, at_looks, p_sequential
from ablate.analysis.pair_verdicts import PairVerdict, pair_verdict
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, runs_of
from ablate.analysis.seeds_to_settle import with_needed_seeds, with_needed_seeds_in_every
from ablate.analysis.treatments import treatments_of
from ablate.core.facts import Evidence, TaskFacts, VariantFacts
from ablate.core.improving_side import ImprovingSide
from ablate.core.metric import plain
from ablate.core.reason import Reason
from ablate.core.rows import frame_of_rows, list_as_text
from ablate.core.treatment import Treatment
from ablate.core.unequal_run import UnequalRun


def compare(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of comparisons, planned ones first, with the columns of `ComparisonRow`.

    Raises `Invalid` where the metric chooses its own best step.
    """
    runs = runs_of(evidence)
    refuse_own_guides(runs.evidence)
    return frame_of_rows([comparison.row() for comparison in all_comparisons(runs)], ComparisonRow)


def all_comparisons(runs: Runs) -> Iterator[Comparison]:
    """Yields every pair on every metric of its task, but for slices on which neither side has values.

    A pair over conditions has the primary metric alone.
    """
    for pair in pairs(runs.facts):
        primary = primary_comparison(runs, pair)
        if pair.form != "each":
            yield primary
            continue
        for metric in pair.tasks[0].metrics:
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
            if described.verdict.n or not is_slice:
                yield described


def primary_comparison(runs: Runs, pair: Pair) -> Comparison:
    """Returns a pair on the primary metric at the look that settled it, else at the last look of its runs."""
    key = (pair.name, pair.against, pair.form, pair.place)
    return runs.memo(lambda _: _at_its_look(runs, pair), "primary comparison", *key)


def _at_its_look(runs: Runs, pair: Pair) -> Comparison:
    """Returns a pair on the primary metric, as `primary_comparison`."""
    judged = is_judged(pair, runs.facts)
    earlier_p: list[float] = []
    for look, runs_at_look in at_looks(runs, [(task, pair.variants) for task in pair.tasks]):
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
    """Whether the comparison gets a verdict: it was planned, is in the family, and the metric is the primary one."""
    earlier_p: tuple[float, ...] = ()
    """Two-sided p at each earlier look."""

    @cached_property
    def verdict(self) -> PairVerdict:
        """The verdict at this look, where the pair is compared, with its numbers."""
        return pair_verdict(self.runs, self.pair, self.metric, self.alpha, judged=self.judged)

    @property
    def decision(self) -> Row:
        """The word, the p and the reason of the verdict."""
        return self.verdict.row

    @property
    def open(self) -> bool:
        """True where more seeds may settle the comparison.

        They cannot where a trial failed or is missing, which no seed makes good, nor where a condition is better and
        another worse.
        """
        if self.decision.verdict in DECIDED:
            return False
        if lacks_pairs([self.verdict.estimate, *(one.estimate for one in self.verdict.in_conditions)]):
            return False
        why = self.decision.reason
        # Incomplete, too, where a run at a runner-up is missing, which the estimates do not show.
        return why is None or why.code not in ("incomplete", "varies")

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
        return all(are_seedless(self.runs, self.pair.variants, task) for task in self.pair.tasks)

    @property
    def mde(self) -> float:
        """The minimum detectable difference with all planned seeds; infinite beyond the range of the metric.

        NaN where the seed changes nothing.
        """
        facts = self.runs.facts
        if self.is_seedless:
            return NAN
        verdict = self.verdict
        alpha = self.alpha
        num_seeds = None  # As many as the estimate has.
        if self.judged:
            planned = facts.plan.looks or [len(facts.seeds)]
            last_look = Look(number=len(planned), count=len(planned), seeds=planned[-1])
            alpha = alpha_at(self.runs, last_look)
            num_seeds = last_look.seeds if facts.plan.looks else None
        difference = verdict.estimate.mde(alpha, num_seeds)
        is_mean = isinstance(main_estimate(verdict.estimate), Differences)
        if is_mean and verdict.span is not None and difference > verdict.span:
            return math.inf
        return difference * verdict.unit

    @property
    def reason(self) -> Reason | None:
        """The reason of the verdict, with the seeds that would settle an open one.

        Of an equivalence, the share of runs that may fail without having been seen.
        """
        contrasts = self.verdict.contrasts
        by_rate = any(contrast.by_rate for contrast in contrasts)
        are_documents = self.runs.facts.replication.unit == "document"
        if self.decision.verdict == "equivalent" and not by_rate and not are_documents:
            num_runs = min(min(contrast.a.shape[1], contrast.b.shape[1]) for contrast in contrasts)
            numbers = {"failures": unseen(num_runs)}
            if any(contrast.metric.span is None for contrast in contrasts):
                numbers["untested"] = 1.0
            return Reason("unseen", numbers)
        if self.is_seedless and self.decision.reason == Reason("open"):
            return Reason("seedless")
        # A baseline that did not learn does not tell how many seeds are needed.
        if all(contrast.baseline_at_floor for contrast in contrasts):
            return self.decision.reason
        verdict = self.verdict
        why = with_needed_seeds(verdict.row.reason, verdict.estimate, alpha=self.alpha, margin=verdict.margin)
        if verdict.in_conditions:
            return with_needed_seeds_in_every(why, verdict.in_conditions, self.alpha)
        return why

    @property
    def settings(self) -> str:
        """The settings tuned for the variant, and the runner-ups at which it was judged too."""
        settings = []
        for variant in self.runs.facts.variants:
            if variant.name == self.pair.name:
                settings += _tuned_settings(variant, self.pair.tasks)
        if self.judged:
            for name in self.pair.a:
                for task in self.pair.tasks:
                    for runner_up in self.runs.runner_ups(name, task):
                        if self.runs.of(runner_up, task).ended.any():
                            settings.append(f"{ALSO}{runner_up}")
        return "; ".join(dict.fromkeys(settings))

    @property
    def plan(self) -> str:
        """The mark of a judged comparison that is not as first planned: `changed`, `added` or `known`; else empty."""
        return self.runs.facts.plan_mark(self.pair.variants) if self.judged else ""

    @property
    def treatment(self) -> Treatment | None:
        """The first difference in treatment of the sides of a judged comparison; None where they were treated alike."""
        if not self.judged:
            return None
        treatments = treatments_of(self.runs.evidence)
        by_task = (treatments.between(self.pair.a, self.pair.b, task.name) for task in self.pair.tasks)
        return next(filter(None, by_task), None)

    @property
    def unequal_runs(self) -> list[UnequalRun]:
        """The runs of a judged comparison that ended before the others of their variant, or after them."""
        if not self.judged:
            return []
        treatments = treatments_of(self.runs.evidence)
        unequal = []
        for task in self.pair.tasks:
            unequal += treatments.unequal_runs(self.pair.variants, task.name)
        return unequal

    @property
    def improving(self) -> list[ImprovingSide]:
        """The variants of a judged comparison that were still improving when training ended."""
        if not self.judged:
            return []
        tasks = [task.name for task in self.pair.tasks]
        return improving_sides(self.runs, self.pair.variants, tasks)

    @property
    def _solved(self) -> tuple[float, float]:
        """The runs of each side that solved the task; NaN where no such counts decide."""
        solved = self.verdict.contrasts[0].solved
        if solved is None or not isinstance(main_estimate(self.verdict.estimate), Rate):
            return NAN, NAN
        return int(solved[0].sum()), int(solved[1].sum())

    @property
    def _solved_alone(self) -> tuple[float, float]:
        """The seeds that each side alone solved; NaN where no such counts decide."""
        estimate = main_estimate(self.verdict.estimate)
        return estimate.only if isinstance(estimate, Rate) and not np.isnan(self._solved[0]) else (NAN, NAN)

    def row(self) -> ComparisonRow:
        """Returns the row of the table."""
        verdict = self.verdict
        ci_low, ci_high = verdict.estimate.interval(self.alpha) or (NAN, NAN)
        solved_variant, solved_baseline = self._solved
        only_variant, only_baseline = self._solved_alone
        return ComparisonRow(
            variant=self.pair.name,
            baseline=self.pair.against,
            task=self.pair.place,
            metric=self.metric,
            n=verdict.n,
            mean_variant=verdict.mean_a,
            mean_baseline=verdict.mean_b,
            diff=verdict.diff,
            ci_low=ci_low * verdict.unit,
            ci_high=ci_high * verdict.unit,
            level=1 - self.alpha,
            p=self.p,
            mde=self.mde,
            verdict=self.decision.verdict if self.judged else "",
            reason=str(self.reason or "") if self.judged else "",
            exploratory=not (self.pair.planned and self.metric == self.runs.facts.metric),
            settings=self.settings,
            solved_variant=solved_variant,
            solved_baseline=solved_baseline,
            only_variant=only_variant,
            only_baseline=only_baseline,
            look=self.look.number,
            plan=self.plan,
            treatment=str(self.treatment or ""),
            resolution=binding_resolution(verdict.estimate) * verdict.unit,
            unequal_runs=list_as_text(self.unequal_runs),
            improving=list_as_text(self.improving),
        )


def _tuned_settings(variant: VariantFacts, tasks: Sequence[TaskFacts]) -> list[str]:
    """Returns the settings that were tuned for a variant, with their task where tasks differ in them."""
    by_task = [variant.tuned.get(task.name, {}) for task in tasks]
    if all(tuned == by_task[0] for tuned in by_task):
        return [f"{path}={label}" for path, label in by_task[0].items()]
    settings = []
    for task, tuned in zip(tasks, by_task, strict=True):
        settings += [f"{path}={label} ({task.name})" for path, label in tuned.items()]
    return settings
