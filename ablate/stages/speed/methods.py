"""The two ways in which variants are timed: by calls that are repeated in one process, and by whole runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from statistics import fmean
from typing import Any, ClassVar

from ablate.base.wording import counted
from ablate.core.speed import RunTime, TimedCall
from ablate.execution.run_trial import WorkloadRef
from ablate.records.store import Store
from ablate.stages.speed.blocks import BUDGET
from ablate.stages.speed.calls import Request, measure_group
from ablate.stages.speed.group import Group, GroupTimes
from ablate.stages.speed.measuring import measured
from ablate.stages.speed.section import SpeedSection
from ablate.stages.speed.whole_runs import RUNS_A_BLOCK, RunRequest, measure_runs
from ablate.study.sources import source_digest
from ablate.study.study import Study

START_SECONDS = 4.0
"""Seconds in which a process imports and builds, about."""


class Method(ABC):
    """The way in which the variants of a study are timed."""

    replicate: ClassVar[str]
    """The name of a replicate in messages."""
    replicates: ClassVar[str]
    """The name of several."""

    @abstractmethod
    def described(self, number: int) -> str:
        """Returns so many replicates in words."""

    @property
    @abstractmethod
    def times(self) -> Sequence[TimedCall | RunTime]:
        """What is timed of each variant that has it."""

    @abstractmethod
    def conditions(self) -> Mapping[str, Any]:
        """Returns all on which a measurement depends beside configs, threads and the machine."""

    @abstractmethod
    def measured(
        self, number: int, groups: Sequence[Group], where: WorkloadRef, advice: Callable[[str, str, str], str]
    ) -> Generator[tuple[str, GroupTimes]]:
        """Yields the key and the times of each group in the replicate of a number, as `measuring.measured`."""

    @abstractmethod
    def expected(self, num_places: int) -> float | None:
        """Returns the seconds that a replicate takes, about; None where nobody knows."""


def method_of(study: Study, store: Store, section: SpeedSection) -> Method:
    """Returns the way in which the variants of a study are timed by a section."""
    if study.workload.times_runs:
        return _WholeRuns(study, store, section)
    return _Calls(study, section)


def _num_copies(study: Study) -> int:
    """Returns the number of configs that are timed at a place, of which the baseline is one twice."""
    return 1 + sum(not variant.placebo for variant in study.variants)


class _Calls(Method):
    """Calls of a model, many times in each of some processes."""

    replicate = "process"
    replicates = "processes"

    def __init__(self, study: Study, section: SpeedSection) -> None:
        self._study = study
        self._section = section

    def described(self, number: int) -> str:
        return f"{number} processes"

    @property
    def times(self) -> Sequence[TimedCall]:
        return self._section.calls

    def conditions(self) -> Mapping[str, Any]:
        source = source_digest([type(self._study.workload), measure_group])
        return {"calls": list(self.times), "source": source}

    def measured(
        self, number: int, groups: Sequence[Group], where: WorkloadRef, advice: Callable[[str, str, str], str]
    ) -> Generator[tuple[str, GroupTimes]]:
        request = Request(number, self.times, groups, BUDGET)
        return measured(where, measure_group, request, advice)

    def expected(self, num_places: int) -> float:
        """Returns the seconds that a process takes; more where a call alone takes a good part of a second."""
        return START_SECONDS + num_places * _num_copies(self._study) * len(self.times) * BUDGET


class _WholeRuns(Method):
    """Whole runs of the trial of the first seed, twice in each of some blocks."""

    replicate = "block"
    replicates = "blocks"

    def __init__(self, study: Study, store: Store, section: SpeedSection) -> None:
        self._study = study
        self._store = store
        self._metric = section.metric or ""
        self._times = section.run_times
        self._seed = study.config.seeds.values[0]

    def described(self, number: int) -> str:
        runs = RUNS_A_BLOCK * _num_copies(self._study)
        return f"{counted(number, 'block')} of {counted(runs, 'run')}"

    @property
    def times(self) -> Sequence[RunTime]:
        return self._times

    def conditions(self) -> Mapping[str, Any]:
        return {
            "calls": list(self.times),
            "source": source_digest([measure_runs]),
            "seed": self._seed,
            "metric": self._metric,
        }

    def measured(
        self, number: int, groups: Sequence[Group], where: WorkloadRef, advice: Callable[[str, str, str], str]
    ) -> Generator[tuple[str, GroupTimes]]:
        request = RunRequest(number, self._seed, self._metric, groups)
        return measured(where, measure_runs, request, advice)

    def expected(self, num_places: int) -> float | None:
        """Returns the seconds that a block takes if its runs take what those of the first seed did."""
        seconds: list[float] = []
        for cell in self._study.cells():
            record = self._store.load(cell.trial) if cell.seed == self._seed else None
            if record is not None and record.seconds:
                seconds.append(record.seconds)
        if not seconds:
            return None
        sizes = num_places / len(self._study.tasks)
        return sizes * RUNS_A_BLOCK * _num_copies(self._study) * fmean(seconds)
