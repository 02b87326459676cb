"""Differences in treatment of two sides of a comparison: unequal budgets, one side tuned, one at the edge of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

from ablate.analysis.budgets import BudgetRow, budgets
from ablate.analysis.length_names import sets_batch, sets_length
from ablate.analysis.run_lengths import SAME_LENGTH, RunLengths
from ablate.analysis.search_table import search_table_of
from ablate.base.once_per import once_per_owner
from ablate.core.facts import Evidence, VariantFacts
from ablate.core.treatment import Treatment
from ablate.core.unequal_run import UnequalRun

LEAST_RATIO = 1.5
"""The FLOPs ratio from which two trainings count as unequal budgets."""
REACHED = 0.1
"""The relative difference up to which the lengths that runs report count as equal between variants."""


@once_per_owner
def treatments_of(evidence: Evidence) -> Treatments:
    """Returns the differences in treatment of the sides of a study."""
    return Treatments(evidence)


class Treatments:
    """The differences in treatment of any two sides of a study."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._lengths = RunLengths(evidence)
        self._variants = {variant.name: variant for variant in evidence.facts.variants}

    def between(self, a: Sequence[str], b: Sequence[str], task: str) -> Treatment | None:
        """Returns the first difference of two groups of variants on a task, in the order of their weight.

        A budget outweighs tuning, and tuning an edge; last comes training cost, which the table of sizes shows too.
        None where both were treated alike.
        """
        side_a = self._facts_of(a)
        side_b = self._facts_of(b)
        if not side_a or not side_b:
            return None
        differences = (
            self._length(side_a, side_b),
            self._reached(side_a, side_b, task),
            self._batch(side_a, side_b, task),
            self._settings(side_a, side_b, task),
            self._untuned(side_a, side_b, task),
            self._rate(side_a, side_b),
            self._edge(side_a, side_b, task),
            self._compute(side_a, side_b, task),
        )
        return next(filter(None, differences), None)

    def unequal_runs(self, variants: Sequence[str], task: str) -> list[UnequalRun]:
        """Returns the runs of some variants that trained for another length than the others of their variant."""
        return self._lengths.unequal(variants, task)

    def _facts_of(self, names: Sequence[str]) -> list[VariantFacts]:
        """Returns the facts of the variants among these names, which may have a constant of a task too."""
        return [self._variants[name] for name in names if name in self._variants]

    def _length(self, a: list[VariantFacts], b: list[VariantFacts]) -> Treatment | None:
        """Returns the setting that makes one side train longer than the other."""
        for path in self._length_paths:
            levels = _levels(a, b, path)
            if levels is None:
                continue
            of_a, of_b = levels
            if not _are_near(of_a, of_b):
                return Treatment("steps", path, of_a, of_b)
        return None

    def _reached(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the last steps that runs report, where nothing else says how long they train."""
        of_a = self._mean_length(a, task)
        of_b = self._mean_length(b, task)
        if not of_a or not of_b or math.isclose(of_a, of_b, rel_tol=REACHED):
            return None
        return Treatment("steps", self._lengths.counted_in, f"{of_a:g}", f"{of_b:g}")

    def _mean_length(self, variants: list[VariantFacts], task: str) -> float | None:
        """Returns the mean of the usual lengths of the runs of variants; None where one is not known."""
        lengths: list[float] = []
        for variant in variants:
            length = self._lengths.typical(variant.name, task)
            if length is None:
                return None
            lengths.append(length)
        return sum(lengths) / len(lengths)

    @cached_property
    def _length_paths(self) -> list[str]:
        """The paths of lengths of training that some variant changes."""
        return [path for path in self._paths if sets_length(path)]

    @cached_property
    def _batch_paths(self) -> list[str]:
        """The paths of batch sizes that some variant changes."""
        return [path for path in self._paths if sets_batch(path)]

    @property
    def _paths(self) -> list[str]:
        """The paths that some variant changes."""
        paths: dict[str, None] = {}
        for variant in self._variants.values():
            paths |= dict.fromkeys(variant.levels)
        return [*paths]

    def _batch(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the batch sizes or, where these agree, the numbers of examples on which each side trains."""
        examples = _values(a, b, lambda variant: variant.examples.get(task))
        if examples is None:
            return None
        for path in self._batch_paths:
            sizes = _levels(a, b, path)
            if sizes is not None:
                of_a, of_b = sizes
                return Treatment("budget", path, of_a, of_b)
        of_a, of_b = examples
        return Treatment("budget", "examples", of_a, of_b)

    def _compute(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the FLOPs of the whole training of both sides, where their ratio is at least `LEAST_RATIO`."""
        variant = _mean_compute(a, task)
        baseline = _mean_compute(b, task)
        if variant is None or baseline is None:
            return None
        if max(variant, baseline) < LEAST_RATIO * min(variant, baseline):
            return None
        return Treatment("compute", "", f"{variant:.6g}", f"{baseline:.6g}")

    def _settings(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the number of settings that were tried for each side, where both were tuned."""
        counts = _values(a, b, lambda variant: self._num_tried(variant.name, task))
        if counts is None:
            return None
        of_a, of_b = counts
        return Treatment("settings", "", of_a, of_b)

    def _num_tried(self, variant: str, task: str) -> int | None:
        """Returns the number of settings that were tried for a variant; None where it was not tuned."""
        budget = self._budgets.get((variant, task))
        return None if budget is None else budget.settings

    @cached_property
    def _budgets(self) -> dict[tuple[str, str], BudgetRow]:
        """The budget of the search of each (variant, task); empty where variants were not tuned one by one."""
        searched = search_table_of(self._evidence)
        if searched is None or self._evidence.facts.plan.searched != "tuning":
            return {}
        frame = budgets(searched, self._evidence.facts)
        names = list(BudgetRow.__dataclass_fields__)
        rows = [BudgetRow(**row) for row in frame[names].to_dict("records")]
        return {(row.variant, row.task): row for row in rows}

    def _untuned(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns which side was tuned, where the other was not."""
        tuned_a = {bool(variant.tuned.get(task)) for variant in a}
        tuned_b = {bool(variant.tuned.get(task)) for variant in b}
        if tuned_a == {True} and tuned_b == {False}:
            return Treatment("untuned", "", "tuned", "")
        if tuned_a == {False} and tuned_b == {True}:
            return Treatment("untuned", "", "", "tuned")
        return None

    def _rate(self, a: list[VariantFacts], b: list[VariantFacts]) -> Treatment | None:
        """Returns the learning rates of both sides, where `facts.rates` has them and they differ."""
        rates = self._evidence.facts.rates
        differing = _values(a, b, lambda variant: rates.get(variant.name))
        if differing is None:
            return None
        of_a, of_b = differing
        return Treatment("rate", "", of_a, of_b)

    def _edge(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the tuned path on which one side alone chose a value at an edge of what was searched."""
        edges_a = self._edges(a, task)
        edges_b = self._edges(b, task)
        for path in {**edges_a, **edges_b}:
            if (path in edges_a) != (path in edges_b):
                return Treatment("edge", path, edges_a.get(path, ""), edges_b.get(path, ""))
        return None

    def _edges(self, side: list[VariantFacts], task: str) -> dict[str, str]:
        """Returns path → `lower` or `upper`, of the paths on which a variant of a side chose a value at an edge."""
        edges: dict[str, str] = {}
        for variant in side:
            budget = self._budgets.get((variant.name, task))
            if budget is not None:
                edges |= dict(budget.edges.keys())
        return edges


def _mean_compute(side: list[VariantFacts], task: str) -> float | None:
    """Returns the mean FLOPs of the trainings of some variants; None where one is not known."""
    costs = [variant.compute(task) for variant in side]
    positive = [cost for cost in costs if cost]
    return sum(positive) / len(positive) if len(positive) == len(costs) else None


def _levels(a: list[VariantFacts], b: list[VariantFacts], path: str) -> tuple[str, str] | None:
    """Returns the levels of both sides at `path` as text; None where they are equal or a variant has none."""
    return _values(a, b, lambda variant: variant.levels.get(path))


def _are_near(variant: str, baseline: str) -> bool:
    """Returns whether two values are numbers whose relative difference is at most `SAME_LENGTH`."""
    try:
        return math.isclose(float(variant), float(baseline), rel_tol=SAME_LENGTH)
    except ValueError:
        return False


def _values(
    a: list[VariantFacts], b: list[VariantFacts], value_of: Callable[[VariantFacts], object]
) -> tuple[str, str] | None:
    """Returns the values of both sides as text, where they differ and each variant has one; else None."""
    labels: list[list[str]] = []
    for side in (a, b):
        values = [value_of(variant) for variant in side]
        if any(value is None for value in values):
            return None
        labels.append(sorted({str(value) for value in values}))
    of_a, of_b = labels
    return None if of_a == of_b else (", ".join(of_a), ", ".join(of_b))
