"""The steps of a path: at each, every change that is left is trained on tuning seeds, and the best one is taken.

The seeds that choose never judge. The best of several is in part the luckiest, and its luck is that of its runs: the
same runs would flatter it on test data as on validation data (winner's curse). See `study.designs.path`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from ablate.analysis.compare import added, path_of
from ablate.base import wording
from ablate.base.errors import Invalid, StudyError
from ablate.core.events import Progress
from ablate.core.facts import Facts
from ablate.core.metric import Metric, sign
from ablate.core.record import Record, lost_to_its_variant
from ablate.core.trial import Cell
from ablate.search.objectives import measured
from ablate.study.designs.design import Variant
from ablate.study.experiment import Experiment
from ablate.study.patch import key_of
from ablate.study.sections.seeds import TUNING_SEEDS_FROM, in_words


def as_walked(experiment: Experiment, facts: Facts) -> Experiment:
    """The study with the path that its report has; as it is where that does not lead to its target."""
    walk, path = Walk(experiment), path_of(facts)
    walk.taken = [added(variant, before)[0] for before, variant in pairwise(path)]
    return walk.walked if set(walk.taken) == set(walk.target.patches) else experiment


class Walk:
    """A plan that asks for the changes left, adds the best, and asks again; see `core.plan.Plan`."""

    def __init__(self, experiment: Experiment) -> None:
        assert experiment.design.kind is not None
        config = experiment.design.kind.config
        self.experiment = experiment
        self.target = next(v for v in experiment.variants if v.name == config.to)
        self.seeds = range(TUNING_SEEDS_FROM, TUNING_SEEDS_FROM + config.seeds)
        self.taken: list[str] = []
        "The paths of the steps that are chosen."
        self.cells: list[Cell] = []
        "All that were asked for."
        self.remarks: list[str] = []
        "How each step was chosen, in words."
        self._open: dict[str, list[Cell]] = {}
        "Path → the cells of the configuration that adds its change."
        self._source = "validation"

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """The changes that may come next, once the step before is chosen; none where one is left, or some failed."""
        while True:
            if self._open:
                scores = {path: self._score(cells, records) for path, cells in self._open.items()}
                if None in scores.values():
                    return []
                self._take({path: score for path, score in scores.items() if score is not None})
            left = [path for path in self.target.patches if path not in self.taken]
            self._open = {}
            if len(left) > 1:
                self._open = {path: cells for path in left if (cells := self._candidate(path))}
                if not self._open:
                    raise StudyError(self._dead_end(left).problems)
            else:
                self.taken += left
            asked = [cell for cells in self._open.values() for cell in cells]
            self.cells += asked
            # A change that changes nothing there is a configuration that is known.
            if not asked or any(cell.id not in records for cell in asked):
                return [cell for cell in asked if cell.id not in records]

    def hear(self, report: Progress) -> bool:
        """Ends no trial."""
        return False

    @property
    def left(self) -> int:
        """The largest number of trainings that may follow those already asked for."""
        rest = len(self.target.patches) - len(self.taken) - bool(self._open)
        return max(0, rest * (rest + 1) // 2 - 1) * len(self.seeds)

    @property
    def later(self) -> int:
        """The largest number of trainings that follow on the seeds of the study."""
        return len(self.experiment.cells()) + self.between

    @property
    def between(self) -> int:
        """The number of trainings of the configurations between the baseline and the target."""
        return (len(self.target.patches) - 1) * self.experiment.study.seeds.count

    @property
    def over(self) -> bool:
        """Whether every step is chosen."""
        return len(self.taken) == len(self.target.patches)

    @property
    def walked(self) -> Experiment:
        """The study with the configurations of the path, in their order, before its other variants."""
        baseline, *others = self.experiment.variants
        known = {key_of(v.configs): v for v in others if not v.placebo}
        path = [self._variant(self.taken[: i + 1]) for i in range(len(self.taken))]
        steps = [known.get(key_of(variant.configs), variant) for variant in path]
        rest = [variant for variant in others if variant not in steps]
        found = self.experiment.judging([baseline, *steps, *rest], self.experiment.design.paths, "")
        # Its variants are chosen: it is trained as it is.
        remarks = [*self.experiment.remarks, *self.remarks]
        return dataclasses.replace(
            found, design=dataclasses.replace(found.design, kind=None), remarks=remarks
        )

    def _variant(self, paths: Sequence[str]) -> Variant:
        """The configuration with some changes of the target; raises `Invalid` where it cannot be."""
        patches = {path: value for path, value in self.target.patches.items() if path in paths}
        labels = {path: self.experiment.design.labels(path)[self.target.name] for path in patches}
        name = ",".join(f"{path}={label}" for path, label in labels.items())
        config = self.experiment.patched(self.experiment.design.variants[0].configs[0], patches)
        return Variant(name, [config], patches, ("design",))

    def _candidate(self, path: str) -> list[Cell]:
        """The cells of a next step; none where it cannot be taken before another."""
        try:
            variant = self._variant([*self.taken, path])
        except Invalid:
            return []
        task, (config,) = self.experiment.tasks[0], variant.configs
        name, trial = variant.name, self.experiment.trial
        return [
            Cell(name, task, seed, trial(config, seed), f"{name} seed {seed}", role="step")
            for seed in self.seeds
        ]

    def _dead_end(self, left: Sequence[str]) -> Invalid:
        try:
            self._variant([*self.taken, left[0]])
        except Invalid as error:
            return error.under("variants", self.target.name)
        raise AssertionError("a step that cannot be taken has a problem")

    @property
    def _metric(self) -> Metric:
        return self.experiment.describe(self.experiment.variants[0])[0].metrics[self.experiment.metric]

    def _score(self, cells: Sequence[Cell], records: Mapping[str, Record]) -> float | None:
        """The mean over seeds on validation data, oriented; None where a run failed or is missing."""
        oriented, floor = sign(self._metric), self._metric.floor
        worst = -math.inf if floor is None else oriented * floor
        values = []
        for cell in cells:
            record = records.get(cell.id)
            if record is None or (
                record.status == "failed" and not lost_to_its_variant(record.status, record.reason)
            ):
                return None
            value, self._source = measured(record, self.experiment.metric, self.experiment.study.metric.at)
            values.append(
                oriented * value if record.status == "completed" and math.isfinite(value) else worst
            )
        return fmean(values)

    def _take(self, scores: Mapping[str, float]) -> None:
        best = max(scores, key=lambda path: scores[path])
        self.taken.append(best)
        said = {
            path: f"{path} ({wording.number(sign(self._metric) * score, 3)})"
            for path, score in scores.items()
        }
        others = wording.joined([words for path, words in said.items() if path != best] or ["nothing else"])
        self.remarks.append(
            f"step {len(self.taken)} of the path to {self.target.name} takes {said[best]} before {others}, by "
            f"{self._source} {self.experiment.metric} on seeds {in_words(self.seeds)}"
        )
