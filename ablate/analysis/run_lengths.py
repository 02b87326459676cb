"""How long the runs of a variant trained: their usual length, and runs that ended before the others or after them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose

from ablate.core.facts import Evidence
from ablate.core.provenance import Given
from ablate.core.unequal_run import UnequalRun

SAME_LENGTH = 0.01
"""The relative difference up to which lengths count as one.

Where half of a variant's runs are exactly as long, a run that misses one step is unequal.
"""
_FAR = 0.5
"""The relative difference from a median up to which lengths count as one, where runs share none: in early stopping.

Runs below half of the median, and above twice, are unequal.
"""
_FEWEST = 3
"""The fewest runs whose median is a usual length."""
_STEP = "step"

Lengths = Mapping[int, float]
"""Seed → how far its run came."""


@dataclass(frozen=True)
class UsualLength:
    """The usual length of a variant's runs, and the relative difference up to which another length is the same."""

    value: float
    tolerance: float

    def is_that_of(self, length: float) -> bool:
        """Returns whether a run of this length trained as long as is usual."""
        return isclose(length, self.value, rel_tol=self.tolerance)


def common_length(own: Sequence[float], of_task: Sequence[float] = ()) -> UsualLength | None:
    """Returns the length that at least half of some runs share; None where none is shared.

    Of several the one that more runs of the task have, `of_task`, and then the longest.
    """
    if not own:
        return None

    def shares(length: float, lengths: Sequence[float]) -> int:
        return sum(isclose(other, length, rel_tol=SAME_LENGTH) for other in lengths)

    value = max(
        {*own}, key=lambda length: (shares(length, own), own.count(length), shares(length, of_task), length)
    )
    if 2 * shares(value, own) < len(own):
        return None
    return UsualLength(value, 0.0 if 2 * own.count(value) >= len(own) else SAME_LENGTH)


def unequal_runs(of_variants: Mapping[str, Lengths], counted_in: str) -> list[UnequalRun]:
    """Returns the runs of one task that ended before the usual length of their variant, or after it.

    counted_in: what lengths are counted in, such as `step`.
    """
    return _unequal_to(usual_lengths(of_variants), of_variants, counted_in)


def _unequal_to(
    usual: Mapping[str, UsualLength], of_variants: Mapping[str, Lengths], counted_in: str
) -> list[UnequalRun]:
    """Returns the runs of one task whose length is not the usual one of their variant."""
    unequal = []
    for variant, lengths in of_variants.items():
        length = usual.get(variant)
        for seed, reached in lengths.items():
            if length is not None and not length.is_that_of(reached):
                unequal.append(UnequalRun(variant, seed, counted_in, reached, length.value))
    return unequal


def usual_lengths(of_variants: Mapping[str, Lengths]) -> dict[str, UsualLength]:
    """Returns variant → the length that its runs are expected to have on one task; of variants that have one.

    It is the length that half of its runs share; else the longest that runs of another variant share and one of its own
    runs has; else, of three runs or more, their median, from which a run may lie further.
    """
    of_task = [length for lengths in of_variants.values() for length in lengths.values()]
    common = {
        variant: common_length([*lengths.values()], of_task) for variant, lengths in of_variants.items()
    }
    usual: dict[str, UsualLength] = {}
    for variant, lengths in of_variants.items():
        own = common[variant]
        reached = [
            other for other in common.values() if other and any(map(other.is_that_of, lengths.values()))
        ]
        if own is None and reached:
            own = max(reached, key=lambda length: length.value)
        if own is None and len(lengths) >= _FEWEST:
            own = UsualLength(statistics.median(lengths.values()), _FAR)
        if own is not None:
            usual[variant] = own
    return usual


class RunLengths:
    """How long the runs of a study trained, as far as they say it; of the built-in workload, its settings do."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._facts = evidence.facts
        provenance = evidence.facts.provenance
        self._given = provenance if isinstance(provenance, Given) else Given()

    @property
    def counted_in(self) -> str:
        """The word for what lengths are counted in: `step`, `epochs_trained`."""
        return self._given.length_column or _STEP

    def typical(self, variant: str, task: str) -> float | None:
        """Returns the usual length of the runs of a variant, or their median; None where it is not known."""
        lengths = self._of_tasks.get(task, {})
        if variant not in lengths:
            return None
        usual = self._usual[task].get(variant)
        return statistics.median(lengths[variant].values()) if usual is None else usual.value

    def unequal(self, variants: Sequence[str], task: str) -> list[UnequalRun]:
        """Returns the runs of some variants that ended before the others of their variant, or after them."""
        shared = self._shared_seeds(variants, task)
        runs = self._unequal.get(task, [])
        return [run for run in runs if run.variant in variants and (shared is None or run.seed in shared)]

    def _shared_seeds(self, variants: Sequence[str], task: str) -> set[int] | None:
        """Returns the seeds that pair given runs of some variants; None where all of their runs count."""
        known = {variant.name for variant in self._facts.variants}
        seeds = [{*self._facts.seeds_of(name, task)} for name in variants if name in known]
        shared = set.intersection(*seeds) if seeds else set()
        return shared if self._facts.replication.has_numbers and len(shared) > 1 else None

    @cached_property
    def _usual(self) -> dict[str, dict[str, UsualLength]]:
        """Task → variant → the usual length of its runs, of those that have one."""
        return {task: usual_lengths(lengths) for task, lengths in self._of_tasks.items()}

    @cached_property
    def _unequal(self) -> dict[str, list[UnequalRun]]:
        """Task → the runs of all variants that trained for another length than the usual one."""
        return {
            task: _unequal_to(self._usual[task], lengths, self.counted_in)
            for task, lengths in self._of_tasks.items()
        }

    @cached_property
    def _of_tasks(self) -> dict[str, dict[str, dict[int, float]]]:
        """Task → variant → seed → how far its run came; of completed runs that say it."""
        if self._given.own_lengths:
            tasks: dict[str, dict[str, dict[int, float]]] = {}
            for variant, of_variant in self._given.own_lengths.items():
                for task, lengths in of_variant.items():
                    tasks.setdefault(task, {})[variant] = lengths
            return tasks
        return self._last_steps()

    def _last_steps(self) -> dict[str, dict[str, dict[int, float]]]:
        """Returns the last steps of the curves of runs whose variants do not say how long they train."""
        trials = self._evidence.trials
        curves = self._evidence.curves
        if trials.empty or curves.empty:
            return {}
        last = curves.groupby("id")["step"].max()
        known = {
            (variant.name, task)
            for variant in self._facts.variants
            for task, examples in variant.examples.items()
            if examples is not None
        }
        tasks: dict[str, dict[str, dict[int, float]]] = {}
        completed = trials[(trials["status"] == "completed") & trials["id"].isin(last.index)]
        for row in completed[["id", "variant", "task", "seed"]].to_dict("records"):
            if (row["variant"], row["task"]) not in known:
                lengths = tasks.setdefault(row["task"], {}).setdefault(row["variant"], {})
                lengths[int(row["seed"])] = float(last[row["id"]])
        return tasks
