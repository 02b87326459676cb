"""How differently two sides of a comparison were treated: another budget, tuned or not, at the edge of a grid."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from ablate.analysis.budgets import BudgetRow, budgets
from ablate.analysis.search_table import table_of
from ablate.core.facts import Evidence, VariantFacts
from ablate.core.treatment import Treatment

LEAST_RATIO = 1.5
"""The ratio of the FLOPs of two trainings from which on a larger model is trained on another budget."""
_LENGTHS = re.compile(r"(?:(?:max|num|n|total|train|training)_)*(?:steps|epochs|iterations|iters|updates)")
"""Names of settings that say how long a run trains."""
NEAR = 0.01
"""The share by which lengths of training may differ without a word."""
REACHED = 0.1
"""The share by which the last steps that runs of one's own code report may differ without a word."""
BATCH = "training.batch_size"


class Treatments:
    """The differences in treatment of any two sides of a study."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._variants = {variant.name: variant for variant in evidence.facts.variants}

    def between(self, a: Sequence[str], b: Sequence[str], task: str) -> Treatment | None:
        """Returns the first difference of two groups of variants on a task, in the order of their weight.

        A budget outweighs tuning, and tuning an edge; last is a model whose training costs much more, or less, of
        which sizes tell too. None where both were treated alike.
        """
        sides = (self._known(a), self._known(b))
        if not all(sides):
            return None
        differences = (
            self._length(*sides),
            self._reached(*sides, task),
            self._batch(*sides, task),
            self._settings(*sides, task),
            self._untuned(*sides, task),
            self._rate(*sides),
            self._edge(*sides, task),
            self._compute(*sides, task),
        )
        return next(filter(None, differences), None)

    def _known(self, names: Sequence[str]) -> list[VariantFacts]:
        return [self._variants[name] for name in names if name in self._variants]

    def _length(self, a: list[VariantFacts], b: list[VariantFacts]) -> Treatment | None:
        """Returns the setting that has them train for another number of steps."""
        for path in self._length_paths:
            values = _levels(a, b, path)
            if values is not None and not _are_near(*values):
                return Treatment("steps", path, *values)
        return None

    def _reached(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the last steps that runs report, where nothing else says how long they train."""
        if any(variant.examples.get(task) is not None for variant in (*a, *b)):
            return None
        reached = [[self._last_steps.get((variant.name, task)) for variant in side] for side in (a, b)]
        known = [[step for step in side if step] for side in reached]
        if not all(len(some) == len(side) for some, side in zip(known, reached, strict=True)):
            return None
        variant, baseline = (sum(side) / len(side) for side in known)
        if math.isclose(variant, baseline, rel_tol=REACHED):
            return None
        return Treatment("steps", "step", f"{variant:g}", f"{baseline:g}")

    @cached_property
    def _last_steps(self) -> dict[tuple[str, str], float]:
        """(variant, task) → the median of the last steps of its completed runs; of those with curves."""
        trials = self._evidence.trials
        curves = self._evidence.curves
        if trials.empty or curves.empty:
            return {}
        completed = trials[trials["status"] == "completed"]
        last = completed["id"].map(curves.groupby("id")["step"].max())
        medians = last.dropna().groupby([completed["variant"], completed["task"]]).median()
        return {(str(variant), str(task)): float(step) for (variant, task), step in medians.items()}

    @cached_property
    def _length_paths(self) -> list[str]:
        """Paths that some variant changes whose last name says how long a run trains."""
        paths = {path: None for variant in self._variants.values() for path in variant.levels}
        return [path for path in paths if is_length(path)]

    def _batch(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the batch size or, where it is not varied, the number of examples that a training processes."""
        examples = _values(a, b, lambda variant: variant.examples.get(task))
        if examples is None:
            return None
        sizes = _levels(a, b, BATCH)
        if sizes is not None:
            return Treatment("budget", BATCH, *sizes)
        return Treatment("budget", "examples", *examples)

    def _compute(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the FLOPs of the whole training where their ratio is large."""
        variant = _mean_compute(a, task)
        baseline = _mean_compute(b, task)
        if variant is None or baseline is None:
            return None
        if max(variant, baseline) < LEAST_RATIO * min(variant, baseline):
            return None
        return Treatment("compute", "", f"{variant:.6g}", f"{baseline:.6g}")

    def _settings(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns how many settings were tried of each, where both were searched."""
        counts = _values(a, b, lambda variant: self._tried(variant.name, task))
        return None if counts is None else Treatment("settings", "", *counts)

    def _tried(self, variant: str, task: str) -> int | None:
        budget = self._budgets.get((variant, task))
        return None if budget is None else budget.settings

    @cached_property
    def _budgets(self) -> dict[tuple[str, str], BudgetRow]:
        """(variant, task) → the budget of its search; empty where variants were not tuned one by one."""
        searched = table_of(self._evidence)
        if searched is None or self._evidence.facts.searched != "tuning":
            return {}
        frame = budgets(searched, self._evidence.facts)
        names = list(BudgetRow.__dataclass_fields__)
        rows = [BudgetRow(**row) for row in frame[names].to_dict("records")]
        return {(row.variant, row.task): row for row in rows}

    def _untuned(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns which side was tuned, where one alone was."""
        tuned = [all(variant.tuned.get(task) for variant in side) for side in (a, b)]
        untuned = [not any(variant.tuned.get(task) for variant in side) for side in (a, b)]
        if tuned[0] and untuned[1]:
            return Treatment("untuned", "", "tuned", "")
        if untuned[0] and tuned[1]:
            return Treatment("untuned", "", "", "tuned")
        return None

    def _rate(self, a: list[VariantFacts], b: list[VariantFacts]) -> Treatment | None:
        """Returns the learning rates, where one side set its own beside other changes, and nothing tuned any."""
        rates = self._evidence.facts.rates
        values = _values(a, b, lambda variant: rates.get(variant.name))
        return None if values is None else Treatment("rate", "", *values)

    def _edge(self, a: list[VariantFacts], b: list[VariantFacts], task: str) -> Treatment | None:
        """Returns the searched path on which the chosen value of one side alone lies at an edge."""
        edges = [list(self._edges(side, task)) for side in (a, b)]
        at_edge = [dict(found) for found in edges]
        for path in dict.fromkeys([*at_edge[0], *at_edge[1]]):
            if (path in at_edge[0]) != (path in at_edge[1]):
                return Treatment("edge", path, at_edge[0].get(path, ""), at_edge[1].get(path, ""))
        return None

    def _edges(self, side: list[VariantFacts], task: str) -> Iterator[tuple[str, str]]:
        for variant in side:
            budget = self._budgets.get((variant.name, task))
            if budget is not None:
                yield from budget.edges.items()


def is_length(path: str) -> bool:
    """Returns whether the last name of a path, or of a column such as `config/steps`, says how long a run trains."""
    return _LENGTHS.fullmatch(re.split(r"[./]", path)[-1]) is not None


def _mean_compute(side: list[VariantFacts], task: str) -> float | None:
    """Returns the mean FLOPs of the trainings of some variants; None where those of one are not known."""
    costs = [variant.compute(task) for variant in side]
    known = [cost for cost in costs if cost]
    return sum(known) / len(known) if len(known) == len(costs) else None


def _levels(a: list[VariantFacts], b: list[VariantFacts], path: str) -> tuple[str, str] | None:
    """Returns what both sides have at a path, where that differs; else None."""
    return _values(a, b, lambda variant: variant.levels.get(path))


def _are_near(variant: str, baseline: str) -> bool:
    """Returns whether two values are numbers that differ by less than `NEAR`."""
    try:
        return math.isclose(float(variant), float(baseline), rel_tol=NEAR)
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
