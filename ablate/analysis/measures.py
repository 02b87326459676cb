"""What variants can be compared by: the metrics of a task, the numbers of a run's stability, and derived metrics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ablate.analysis.paired import Floats
from ablate.analysis.runs import NOT_RUN, Runs, Side
from ablate.core.derived import DERIVED, Derived, Kind, Offer
from ablate.core.facts import Facts, TaskFacts
from ablate.core.metric import HELD_OUT
from ablate.core.speed import CALLS


@dataclass(frozen=True)
class Measure:
    """One of them, on one task."""

    name: str
    kind: Kind
    task: TaskFacts
    derived: Derived | None = None

    def side(self, runs: Runs, variant: str) -> Side:
        """The runs of a variant, as the metric sees them."""
        if self.name in self.task.metrics or self.kind in ("spread", "time"):
            return runs.of(variant, self.task)
        seen, derived = runs.of(variant, self.task), self.derived
        metric = derived.refined(derived.metric, seen) if derived else self.task.stability[self.name]
        # Whether a run solves the task decides nothing about how steadily it trains.
        alone = replace(self.task, metrics={self.name: metric}, outcome="graded")
        if derived is None:
            return _NumberedSide(runs, variant, alone, self.name)
        return _DerivedSide(runs, variant, alone, derived, seen)


def measure_of(name: str, task: TaskFacts, facts: Facts) -> Measure | None:
    """How to compare variants by the metric `name` of a claim; None where the task cannot tell it."""
    if name in task.metrics:
        return Measure(name, "mean", task)
    if name in task.stability:
        return Measure(name, "mean", task)
    derived = DERIVED.get(name)
    offer = Offer(task.metrics, "stress" in facts.features, timed=CALLS, target=facts.target)
    if derived is None or derived.lacks(offer):
        return None
    if derived.kind == "spread" and facts.metric not in task.metrics:
        return None
    return Measure(name, derived.kind, task, derived)


@dataclass(frozen=True)
class _NumberedSide(Side):
    """The runs of a variant, compared by a number of which some other variant may have none."""

    number: str

    @property
    def obstacle(self) -> str:
        """That none of its runs has it."""
        completed = self.status == "completed"
        lacks = completed.any() and np.isnan(self.values(self.number)[completed]).all()
        return f"{self.variant} has no {self.number}" if lacks else ""

    @cached_property
    def moved_by(self) -> dict[str, str]:
        """Path of the training → its value, where a search chose it for some variant; the outcome is no such number."""
        if self.number == HELD_OUT:
            return {}
        task, variants = self.task.name, {variant.name: variant for variant in self.runs.facts.variants}
        chosen, mine = {name: of.tuned.get(task, {}) for name, of in variants.items()}, variants[self.variant]
        paths = {path for of in chosen.values() for path in of if path.startswith("training.")}
        return {path: chosen[mine.name].get(path) or str(mine.levels.get(path, "")) for path in paths}


@dataclass(frozen=True)
class _DerivedSide(Side):
    """The runs of a variant, with a derived metric in place of their own."""

    derived: Derived
    seen: Side
    "The same runs as they are."

    @cached_property
    def _by_seed(self) -> Floats:
        return self.derived.by_seed(self.seen)

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """Completed where the metric has a value, diverged where it counts with the floor, else not run."""
        values = np.where(np.isnan(self._by_seed), NOT_RUN, "completed").astype(object)
        return np.where(np.isinf(self._by_seed), "diverged", values)

    def values(self, metric: str) -> Floats:
        """The metric by seed; NaN where it has no value of its own."""
        return np.where(np.isinf(self._by_seed), np.nan, self._by_seed)

    @property
    def lost(self) -> str:
        """Of a rate, nothing: a run has the event or has not."""
        return self.derived.event if self.derived.kind == "mean" and self.derived.event else super().lost

    @property
    def obstacle(self) -> str:
        """Why its values say nothing; nothing where they do."""
        found = self.derived.obstacle(self.seen)
        return f"{self.variant}: {found}" if found else ""
