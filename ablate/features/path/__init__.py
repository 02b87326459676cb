"""`design: path`, a greedy path from the baseline to a variant that changes several things.

At each step every change that is left is trained on tuning seeds, and the best one is taken. The seeds that choose
never judge: the best of several is in part the luckiest, and the same runs would flatter it on test data as on
validation data (winner's curse).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import PartConfig, register
from ablate.core.feature import Feature
from ablate.core.metric import sign
from ablate.core.record import Record, lost_to_its_variant, on_validation
from ablate.core.trial import Cell
from ablate.study.designs import Kind, T

if TYPE_CHECKING:
    from ablate.core.events import Progress
    from ablate.route.running import Run
    from ablate.study.designs import Variant
    from ablate.study.experiment import Experiment

MAX_CHANGES = 20


@register("design", "path")
class Path(Kind):
    """A greedy path from the baseline to a variant: each step adds the change that helps most.

    Which change that is, validation data say on tuning seeds, which never judge: the best of several is lucky, and on
    the seeds that chose it would look better than it is. Each configuration of the path is then trained on the seeds
    of the study, and judged against the baseline and against the one before it. After the ablation paths
    of Fawcett and Hoos 2016, J. Heuristics 22, 431–458.
    """

    class Config(PartConfig):
        """Where the path leads, and how much its choices may cost."""

        to: str
        "The variant, named under `variants:`, that changes several paths."
        seeds: Annotated[int, Field(ge=1, le=1_000)] = 3
        "Tuning seeds, from 10,000 on, on which steps are chosen."

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """See `Kind`: a target of several changes, on one task, without factors of its own."""
        to, variants = self.config.to, study.variants
        count = len(variants.get(to, ()))
        with Gather() as at:
            rule = "is no variant that is named under `variants:`"
            at.refuse(to not in variants, "design.to", rule, to, listed(variants), nearest(to, variants))
            rule = f"changes {count} paths, and a path takes from 2 to {MAX_CHANGES}"
            at.refuse(to in variants and not 2 <= count <= MAX_CHANGES, "design.to", rule, to)
            at.refuse(levels, "factors", "have no part in a path, whose changes are those of its variant")
            at.refuse(
                len(getattr(study, "tasks", ())) > 1, "tasks", "are several, and a path is chosen on one"
            )

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`: none before the steps are chosen."""
        return iter(())


class PathFeature(Feature):
    """Trains the steps of a path, and has its configurations judged."""

    def settles(self, experiment: Experiment, options: Any = None) -> bool:
        """Whether the study has a path."""
        return isinstance(experiment.design.kind, Path)

    def settle(self, run: Run) -> Experiment:
        """The study with the configurations of the path, in their order, before its other variants."""
        steps = Steps(run.experiment)
        later = len(run.experiment.cells()) + self.adds(run.experiment) * run.experiment.study.seeds.count
        records = run.drive(steps, later=later, fresh=run.options.fresh)
        cells = [*steps.cells.values()]
        run.folder.trial_list.add(cells)
        if len(steps.taken) < len(steps.changes):
            raise run.unfinished("path", cells, records)
        return steps.walked()

    def adds(self, experiment: Experiment) -> int:
        """The configurations between the baseline and the target."""
        return len(Steps(experiment).changes) - 1 if self.settles(experiment) else 0

    def at_most(self, experiment: Experiment, left: int) -> int:
        """With the steps, and the configurations between the baseline and the target."""
        return left + Steps(experiment).left + self.adds(experiment) * experiment.study.seeds.count


class Steps:
    """A plan that asks for the changes left, adds the best, and asks again; see `core.events.Plan`."""

    def __init__(self, experiment: Experiment) -> None:
        from ablate.study.sections import TUNING_SEEDS_FROM

        config = experiment.design.kind.config
        self.experiment = experiment
        self.target = next(v for v in experiment.variants if v.name == config.to)
        self.changes = list(self.target.patches)
        self.seeds = range(TUNING_SEEDS_FROM, TUNING_SEEDS_FROM + config.seeds)
        self.taken: list[str] = []
        self.cells: dict[str, Cell] = {}
        self.remarks: list[str] = []
        self.asked = 0
        "Steps of which the candidates were asked for."

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """The changes that may come next, once the step before is chosen; none where one is left, or some failed."""
        from ablate.report.words import say
        from ablate.study.sections import in_words

        while len(rest := [path for path in self.changes if path not in self.taken]) > 1:
            self.asked = len(self.taken) + 1
            candidates = {path: cells for path in rest if (cells := self._candidate(path))}
            if not candidates:
                self._variant([*self.taken, rest[0]])  # it cannot be built, and says why
            asked = {cell.id: cell for cells in candidates.values() for cell in cells}
            self.cells |= asked
            # A change that changes nothing there is a configuration that is known.
            if missing := [cell for cell in asked.values() if cell.id not in records]:
                return missing
            found = {path: [records[cell.id] for cell in cells] for path, cells in candidates.items()}
            if any(_failed(record) for each in found.values() for record in each):
                return []
            best, *others = sorted(found, key=lambda path: -self._score(found[path]))
            self.taken.append(best)
            step, seeds = (len(self.taken), self.target.name, best, others), in_words(self.seeds)
            self.remarks.append(say("figures.path_step", *step, self.experiment.metric, seeds))
        self.taken += rest
        return []

    def hear(self, report: Progress) -> bool:
        """Ends no trial."""
        return False

    @property
    def left(self) -> int:
        """The largest number of trainings that may follow those already asked for."""
        rest = len(self.changes) - self.asked
        return max(0, rest * (rest + 1) // 2 - 1) * len(self.seeds)

    def walked(self) -> Experiment:
        """The study with the configurations of the path, in their order, before its other variants."""
        from ablate.study.experiment import Choice
        from ablate.study.patch import key_of

        baseline, *others = self.experiment.variants
        known = {key_of(v.configs): v for v in others if not v.placebo}
        path = [self._variant(self.taken[: i + 1]) for i in range(len(self.taken))]
        steps = [known.get(key_of(variant.configs), variant) for variant in path]
        rest = [variant for variant in others if variant not in steps]
        paths = self.experiment.design.paths
        found = self.experiment.judging(
            [baseline, *steps, *rest], paths, Choice("path", [*self.cells.values()])
        )
        return replace(found, remarks=[*self.experiment.remarks, *self.remarks])

    def _variant(self, paths: Sequence[str]) -> Variant:
        """The configuration with some changes of the target; raises `Invalid` where it cannot be."""
        patches = {path: value for path, value in self.target.patches.items() if path in paths}
        labels = {path: self.experiment.design.labels[path][self.target.name] for path in patches}
        name = ",".join(f"{path}={label}" for path, label in labels.items())
        config = self.experiment.patched(self.experiment.variants[0].configs[0], patches)
        return replace(self.target, name=name, configs=[config], patches=patches, at=("design",))

    def _candidate(self, path: str) -> list[Cell]:
        """The cells of a next step; none where it cannot be taken before another."""
        try:
            variant = self._variant([*self.taken, path])
        except Invalid:
            return []
        task, (config,), name = self.experiment.tasks[0], variant.configs, variant.name
        trials = [self.experiment.trial(config, seed) for seed in self.seeds]
        return [Cell(name, task, t.seed, t, f"{name} seed {t.seed}", role="step") for t in trials]

    def _score(self, records: Sequence[Record]) -> float:
        """The mean over seeds on validation data, oriented; a run without a value counts as guessing."""
        name, at = self.experiment.metric, self.experiment.study.metric.at
        metric = self.experiment.describe(self.experiment.variants[0])[0].metrics[name]
        worst = -math.inf if metric.floor is None else sign(metric) * metric.floor
        values = [
            sign(metric) * on_validation(record, name, at)[0] if record.status == "completed" else worst
            for record in records
        ]
        return fmean(value if math.isfinite(value) else worst for value in values)


def _failed(record: Record) -> bool:
    """Whether a trial has failed for no reason of its change, so that nothing is known of it."""
    return record.status == "failed" and not lost_to_its_variant(record.status, record.reason)
