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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import PartConfig, register
from ablate.core.events import FixedPlan
from ablate.core.feature import Feature
from ablate.core.metric import sign
from ablate.core.record import Record, on_validation
from ablate.core.trial import Cell
from ablate.study.designs import Kind, T, Variant
from ablate.study.patch import key_of
from ablate.study.sections import TUNING_SEEDS_FROM, in_words

if TYPE_CHECKING:
    from ablate.route.running import Run
    from ablate.study.experiment import Experiment


@register("design", "path")
class Path(Kind):
    """A greedy path from the baseline to a variant: each step adds the change that helps most.

    Which change that is, validation data say on tuning seeds, which never judge: the best of several is lucky, and on
    the seeds that chose it would look better than it is. Each configuration of the path is then trained on the seeds
    of the study, and judged against the baseline. After the ablation paths of Fawcett and Hoos 2016, J. Heuristics 22,
    431–458.
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
        with Gather() as at:
            at.refuse(
                to not in variants,
                "design.to",
                "is no variant that is named under `variants:`",
                to,
                listed(variants),
                nearest(to, variants),
            )
            at.refuse(
                len(variants.get(to, "two")) < 2,
                "design.to",
                "changes one path only, and a path takes several",
                to,
            )
            at.refuse(levels, "factors", "have no part in a path, whose changes are those of its variant")
            at.refuse(
                len(getattr(study, "tasks", ())) > 1, "tasks", "are several, and a path is chosen on one"
            )

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`: none before the steps are chosen."""
        return iter(())


class PathFeature(Feature):
    """Trains the steps of a path, and has its configurations judged."""

    after: ClassVar[Sequence[str]] = ("probe",)

    def settles(self, experiment: Experiment, options: Any = None) -> bool:
        """Whether the study has a path."""
        return isinstance(experiment.design.kind, Path)

    def settle(self, run: Run) -> Experiment:
        """The study with the configurations of the path, in their order, before its other variants."""
        from ablate.study.experiment import Choice

        experiment, (baseline, *others) = run.experiment, run.experiment.variants
        path, cells, remarks = list[Variant](), dict[str, Cell](), list[str]()
        rest = [*_target(experiment).patches]
        while rest:
            candidates = _candidates(experiment, rest)
            best = rest[0]
            if len(rest) > 1:
                asked = {change: _cells(experiment, variant) for change, variant in candidates.items()}
                cells |= {cell.id: cell for each in asked.values() for cell in each}
                best, remark = self._best(run, asked, [*cells.values()], len(path) + 1)
                remarks.append(remark)
            path.append(candidates[best])
            rest.remove(best)
        known = {key_of(variant.configs): variant for variant in others if not variant.placebo}
        path = [known.get(key_of(variant.configs), variant) for variant in path]
        judged = [baseline, *path, *(variant for variant in others if variant not in path)]
        return replace(
            experiment.judging(judged, experiment.design.paths, Choice("path", [*cells.values()])),
            remarks=[*experiment.remarks, *remarks],
        )

    def _best(
        self, run: Run, asked: Mapping[str, Sequence[Cell]], cells: Sequence[Cell], number: int
    ) -> tuple[str, str]:
        """Trains a step, of which all `cells` so far have a record then; the best change, and what is said of it."""
        from ablate.report.words import say

        experiment = run.experiment
        step = [cell for each in asked.values() for cell in each]
        run.folder.trial_list.add(cells)
        judged = len(experiment.cells()) + self.adds(experiment) * experiment.study.seeds.count
        later = _steps(len(asked) - 1) * len(_seeds(experiment)) + judged
        records = run.drive(FixedPlan(step), later=later, fresh=run.options.fresh)
        if any(cell.id not in records or records[cell.id].faulty for cell in step):
            raise run.unfinished("path", cells, records)
        scores = {change: _score(experiment, [records[c.id] for c in each]) for change, each in asked.items()}
        best, *others = sorted(scores, key=lambda change: -scores[change])
        to, seeds = _target(experiment).name, in_words(_seeds(experiment))
        return best, say("figures.path_step", number, to, best, others, experiment.metric, seeds)

    def adds(self, experiment: Experiment) -> int:
        """The configurations between the baseline and the target."""
        return len(_target(experiment).patches) - 1 if self.settles(experiment) else 0

    def at_most(self, experiment: Experiment, left: int) -> int:
        """With the steps, and the configurations between the baseline and the target."""
        adds = self.adds(experiment)
        return left + _steps(adds + 1) * len(_seeds(experiment)) + adds * experiment.study.seeds.count


def _steps(rest: int) -> int:
    """How many configurations are trained to choose the steps among `rest` changes; the last needs no choice."""
    return max(0, rest * (rest + 1) // 2 - 1)


def _target(experiment: Experiment) -> Variant:
    return next(v for v in experiment.variants if v.name == experiment.study.design.to)


def _seeds(experiment: Experiment) -> range:
    return range(TUNING_SEEDS_FROM, TUNING_SEEDS_FROM + experiment.study.design.seeds)


def _candidates(experiment: Experiment, rest: Sequence[str]) -> dict[str, Variant]:
    """The configurations that may come next, by the change that each adds; one may have to wait for another.

    Raises `Invalid` where none can be.
    """
    target, found, problems = _target(experiment), dict[str, Variant](), list[Invalid]()
    for change in rest:
        patches = {
            path: value for path, value in target.patches.items() if path == change or path not in rest
        }
        name = ",".join(f"{path}={experiment.design.labels[path][target.name]}" for path in patches)
        try:
            config = experiment.patched(experiment.variants[0].configs[0], patches)
        except Invalid as error:
            problems.append(error)
        else:
            found[change] = replace(target, name=name, configs=[config], patches=patches, at=("design",))
    if not found:
        raise problems[0]
    return found


def _cells(experiment: Experiment, variant: Variant) -> list[Cell]:
    """A configuration on the tuning seeds."""
    task, name = experiment.tasks[0], variant.name
    trials = [experiment.trial(variant.configs[0], seed) for seed in _seeds(experiment)]
    return [Cell(name, task, t.seed, t, f"{name} seed {t.seed}", role="step") for t in trials]


def _score(experiment: Experiment, records: Sequence[Record]) -> float:
    """The mean over seeds on validation data, oriented; a run without a value counts as guessing."""
    name, at = experiment.metric, experiment.study.metric.at
    metric = experiment.describe(experiment.variants[0])[0].metrics[name]
    worst = -math.inf if metric.floor is None else sign(metric) * metric.floor
    values = [sign(metric) * on_validation(r, name, at)[0] for r in records if r.status == "completed"]
    known = [value for value in values if math.isfinite(value)]
    return fmean([*known, *[worst] * (len(records) - len(known))])
