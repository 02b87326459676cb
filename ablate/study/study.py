"""A valid study, ready to run: its variants, trials, descriptions and claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.core.facts import Claim
from ablate.core.judged_variants import JudgedVariant, JudgedVariants
from ablate.core.metric import Description
from ablate.core.sizes import known_size
from ablate.core.trial import Cell, Level, Trial
from ablate.core.workload import Workload
from ablate.study.checks import attempt
from ablate.study.designs import Config, Design, Resolve, Variant
from ablate.study.document import Document
from ablate.study.ids import TrialIds
from ablate.study.patch import apply_patches, has_path, short_label, value_at
from ablate.study.schema import PLACEBO, StudyConfig
from ablate.study.stage_config import StageConfig


@dataclass(frozen=True)
class Selection:
    """The choice of a study's variants by trainings, where there was one."""

    # `path`, `sweep` or `tuning`; `report`: those of another report; empty where the design alone has.
    by: str = ""
    # The trainings that chose them.
    cells: Sequence[Cell] = ()


@dataclass(frozen=True)
class Study:
    """Everything that a run, a plan or a report needs to know of a study."""

    path: Path
    # The file, with the line of every key.
    document: Document
    # What its file says, with defaults filled in.
    config: StudyConfig
    workload: Workload
    design: Design
    # The conditions on which it is judged, which are its tasks where it has no others; one empty name where it has
    # neither.
    tasks: list[str]
    claims: list[Claim]
    resolve: Resolve
    ids: TrialIds
    # As they are trained, the baseline first: those of the design, or what stages make of them.
    variants: list[Variant]
    # A resolved config that trainings try → the one that is trained on this task.
    adjust: Callable[[Config, str], Config] = lambda config, task: config
    # The keys of stages that its file was read with.
    stage_configs: Sequence[type[StageConfig]] = ()
    # The paths whose values trainings choose for each variant.
    selected_paths: Collection[str] = ()
    # The trainings that stages add beside each judged one.
    companions_per_cell: int = 0
    # How its variants were chosen.
    selection: Selection = Selection()
    # What its report says of it beside its verdicts: that it confirms another, and how far.
    notes: Sequence[str] = ()
    # What the options of its run change of the study as written.
    overrides: Sequence[str] = ()
    # The conditions, or tasks, of its file on which it is not judged.
    left_out_tasks: Sequence[str] = ()
    # Variants that are not judged, since the run did not search for them.
    not_judged: list[str] = dataclasses.field(default_factory=list)
    _described: dict[str, dict[str, Description]] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def baseline_config(self) -> Config:
        """The config of the baseline on the first task on which the study is judged."""
        return self.variants[0].configs[self.tasks[0]]

    @property
    def baseline_description(self) -> Description:
        """The description of the baseline on the first task on which the study is judged."""
        return self.describe(self.variants[0])[self.tasks[0]]

    @cached_property
    def first_description(self) -> Description:
        """The description of the baseline on the first task of the study file, judged or not: it names the metric."""
        baseline = self.variants[0]
        first_task = next(iter(baseline.configs))
        if first_task in self.tasks:
            return self.describe(baseline)[first_task]
        return self.workload.describe(baseline.first_config)

    def describe(self, variant: Variant) -> Mapping[str, Description]:
        """Returns task → parameters, FLOPs and metrics of a variant there, of the tasks that it has a config for."""
        if variant.name not in self._described:
            descriptions: dict[str, Description] = {}
            for task in self.tasks:
                if task in variant.configs:
                    descriptions[task] = self.workload.describe(variant.configs[task])
            self._described[variant.name] = descriptions
        return self._described[variant.name]

    def size(self, variant: Variant, task: str) -> Mapping[str, int | None]:
        """Returns the size of a variant's model on a task, as records keep it."""
        return known_size(self.describe(variant)[task])

    @property
    def metric(self) -> str:
        """The primary metric: the one that the study names, else the first of the first task of its file."""
        if self.config.metric.name:
            return self.config.metric.name
        return next(iter(self.first_description.metrics))

    def on(self, task: str) -> str:
        """Returns ` on TASK` where the study has several tasks or conditions, else nothing."""
        return f" on {task}" if len(self.tasks) > 1 else ""

    def cells(self, seeds: Sequence[int] | None = None) -> list[Cell]:
        """Returns a cell for each variant, task and seed, of the seeds of the study or of others.

        They come seed by seed, so that the first blocks are complete early.
        """
        if seeds is None:
            seeds = self.config.seeds.values
        places: list[_Place] = []
        for variant in self.variants:
            places += [self._place(variant, task) for task in self.tasks]
        cells: list[Cell] = []
        for seed_index, seed in enumerate(seeds):
            cells += [place.cell(seed_index, seed) for place in places]
        return cells

    def _place(self, variant: Variant, task: str) -> _Place:
        stream = PLACEBO if variant.placebo else ""
        configs = variant.by_seed.get(task) or [variant.configs[task]]
        return _Place(
            variant=variant.name,
            task=task,
            name=f"{variant.name}{self.on(task)}",
            levels=self.levels(variant, task),
            trials=[self._trials(config, stream) for config in configs],
            size=partial(self.size, variant, task),
        )

    def levels(self, variant: Variant, task: str) -> dict[str, Level]:
        """Returns path → what a variant has there as it is trained on a task.

        Paths are those that some variant changes. Numbers, words, switches and null stand for themselves, anything else
        is a label. Paths that the variant lacks are left out.
        """
        config = variant.configs[task]
        levels: dict[str, Level] = {}
        for path in self.design.paths:
            if not has_path(config, path):
                continue
            value = value_at(config, path)
            if _is_plain(value):
                levels[path] = value
            else:
                levels[path] = self.design.labels[path].get(variant.name) or short_label(value)
        return levels

    def trial(self, config: Config, seed: int, stream: str = "") -> Trial:
        """Returns the trial that trains a resolved config under one seed."""
        return self._trials(config, stream)(seed)

    def _trials(self, config: Config, stream: str) -> Callable[[int], Trial]:
        """Returns seed → trial of a config, which is identified once for all seeds."""
        identity = self.ids.identity(config)

        def trial(seed: int) -> Trial:
            # How a trial is kept changes nothing of its result, so that none of it is in the id.
            return Trial(
                id=identity(seed, stream),
                config=config,
                seed=seed,
                stream=stream,
                time_limit=self.config.time_limit,
                checkpoint=self.config.checkpoint,
                save_every=self.config.save_every,
                irrelevant=self.ids.irrelevant,
                files=identity.files,
            )

        return trial

    def patched(self, base: Config, patches: Mapping[str, Any], task: str) -> Config:
        """Returns a config on a task with `patches`, resolved, as trainings try it.

        Raises `Invalid` when it cannot be built.
        """
        config = self.resolve(apply_patches(base, patches))
        problems = attempt(self.workload.check, config).problems
        if problems:
            raise Invalid.many(problems)
        return self.adjust(config, task)

    def judging(self, variants: Sequence[Variant], paths: Sequence[str], selection: Selection) -> Study:
        """Returns the study with the chosen variants, the baseline first; `paths`: those on which they differ."""
        factors = {path: levels for path, levels in self.design.factors.items() if path in paths}
        return dataclasses.replace(
            self,
            design=Design(variants=list(variants), factors=factors, paths=list(paths), kind=self.design.kind),
            variants=list(variants),
            selection=selection,
            _described={},
        )

    def judged_on(self, tasks: Collection[str]) -> Study:
        """Returns the study as judged on some of its tasks, without the claims that name others or need more tasks.

        The others are added to `left_out_tasks`.
        """
        claims = [claim for claim in self.claims if claim.is_told_by(tasks)]
        judged = [task for task in self.tasks if task in tasks]
        left_out = [*self.left_out_tasks, *(task for task in self.tasks if task not in tasks)]
        return dataclasses.replace(self, tasks=judged, left_out_tasks=left_out, claims=claims, _described={})

    def reporting(self, name: str, overrides: Sequence[str]) -> Study:
        """Returns the study under the name of its report, with what its run changes."""
        config = self.config.model_copy(update={"name": name})
        return dataclasses.replace(self, config=config, overrides=overrides)

    def settling(self) -> Study:
        """Returns the study without the claims on variants that it does not have: a selection left them out."""
        names = {variant.name for variant in self.variants}
        decidable = [claim for claim in self.claims if names.issuperset(claim.variants)]
        return dataclasses.replace(self, claims=decidable)

    def judged_variants(self) -> JudgedVariants:
        """Returns the variants with their configs and who chose them, as plain data."""
        variants: list[JudgedVariant] = []
        for variant in self.variants:
            by_seed = {task: list(configs) for task, configs in variant.by_seed.items() if configs}
            variants.append(
                JudgedVariant(
                    name=variant.name,
                    configs=[*variant.configs.values()],
                    patches=dict(variant.patches),
                    at=list(variant.at),
                    placebo=variant.placebo,
                    tuned={task: dict(labels) for task, labels in variant.tuned.items()},
                    by_seed=by_seed,
                )
            )
        return JudgedVariants(self.selection.by or "design", [*self.design.paths], variants)


@dataclass(frozen=True)
class _Place:
    """A variant on a task, with all that its cells have in common."""

    variant: str
    task: str
    # The name of its cells, up to their seeds.
    name: str
    levels: Mapping[str, Level]
    # Seed → its trial: one function for all seeds, or one for each seed of the study.
    trials: Sequence[Callable[[int], Trial]]
    size: Callable[[], Mapping[str, int | None]]

    def cell(self, seed_index: int, seed: int) -> Cell:
        """Returns the cell of a seed that is the `seed_index`-th of those asked for."""
        trial = self.trials[seed_index % len(self.trials)]
        return Cell(
            variant=self.variant,
            task=self.task,
            seed=seed,
            trial=trial(seed),
            name=f"{self.name} seed {seed}",
            levels=self.levels,
            size=self.size,
        )


def _is_plain(value: object) -> bool:
    """Returns whether a value of a config stands for itself in tables, without a label."""
    if isinstance(value, DataFile):
        return False
    return value is None or isinstance(value, str | int | float)
