"""A valid study, ready to run: its variants, trials, descriptions and claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid
from ablate.core.facts import Claim, StudyFacts, TaskFacts, VariantFacts
from ablate.core.metric import Description, Metric, plain, size_of
from ablate.core.trial import Cell, Level, Trial
from ablate.core.workload import Workload
from ablate.study.checks import attempt
from ablate.study.designs import Config, Design, Resolve, Variant
from ablate.study.document import Document
from ablate.study.ids import TrialIds
from ablate.study.judged import target_of
from ablate.study.patch import apply_patches, has_path, short_label, value_at
from ablate.study.schema import PLACEBO, StudyConfig
from ablate.study.stage_config import StageConfig


@dataclass(frozen=True)
class Selection:
    """How the variants of a study were chosen, where trainings have chosen them."""

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
    # Labels of the tasks; one empty label when the workload has none.
    tasks: list[str]
    claims: list[Claim]
    resolve: Resolve
    ids: TrialIds
    # As they are trained, the baseline first: those of the design, or what stages make of them.
    variants: list[Variant]
    # A resolved config that trainings try → the one that is trained on the task of this index.
    adjust: Callable[[Config, int], Config] = lambda config, task_index: config
    # The keys of stages that its file was read with.
    stage_configs: Sequence[type[StageConfig]] = ()
    # The paths whose values trainings choose for each variant.
    selected_paths: Collection[str] = ()
    # The trainings that stages add beside each judged one.
    companions_per_cell: int = 0
    # How its variants were chosen.
    selection: Selection = dataclasses.field(default_factory=lambda: Selection())
    # What its report says of it beside its verdicts: that it confirms another, and how far.
    notes: Sequence[str] = ()
    # What the options of its run change of the study as written.
    overrides: Sequence[str] = ()
    # Variants that are not judged, since the run did not search for them.
    not_judged: list[str] = dataclasses.field(default_factory=list)
    _described: dict[str, list[Description]] = dataclasses.field(default_factory=dict, repr=False)

    def describe(self, variant: Variant) -> list[Description]:
        """Parameters, FLOPs and metrics, one description a task."""
        if variant.name not in self._described:
            self._described[variant.name] = [self.workload.describe(config) for config in variant.configs]
        return self._described[variant.name]

    @property
    def metric(self) -> str:
        """The primary metric: the one that the study names, else the first of its first task."""
        return self.config.metric.name or next(iter(self.describe(self.variants[0])[0].metrics))

    def cells(self, seeds: Sequence[int] | None = None) -> list[Cell]:
        """All trials, or those of other `seeds`; seed by seed, so that the first blocks are complete early."""
        places = [
            (
                *(variant.name, task, f"{variant.name}{self.on(task)}", self.levels(variant, index)),
                # One for all seeds, or one for each.
                [
                    self._trials(c, PLACEBO if variant.placebo else "")
                    for c in variant.by_seed.get(task) or [config]
                ],
                partial(self.size, variant, index),
            )
            for variant in self.variants
            for index, (task, config) in enumerate(zip(self.tasks, variant.configs, strict=True))
        ]
        return [
            Cell(variant, task, seed, trials[i % len(trials)](seed), f"{name} seed {seed}", levels, size=size)
            for i, seed in enumerate(self.config.seeds.values if seeds is None else seeds)
            for variant, task, name, levels, trials, size in places
        ]

    def size(self, variant: Variant, index: int) -> Mapping[str, int | None]:
        """The size of a variant's model on a task, as records keep it."""
        return size_of(self.describe(variant)[index])

    def on(self, task: str) -> str:
        """` on TASK`, where the study has several."""
        return f" on {task}" if len(self.tasks) > 1 else ""

    def trial(self, config: Config, seed: int, stream: str = "") -> Trial:
        """The trial that trains a resolved config under one seed."""
        return self._trials(config, stream)(seed)

    def _trials(self, config: Config, stream: str) -> Callable[[int], Trial]:
        # How a trial is kept changes nothing of its result, so that none of it is in the id.
        study, identity = self.config, self.ids.identity(config)
        limit, checkpoint, every = study.time_limit, study.checkpoint, study.save_every
        return lambda seed: Trial(
            *(identity(seed, stream), config, seed, stream, limit, checkpoint),
            save_every=every,
            irrelevant=self.ids.irrelevant,
            files=identity.files,
        )

    def patched(self, base: Config, patches: Mapping[str, Any], task_index: int = 0) -> Config:
        """A config with `patches`, resolved, as trainings try it; raises `Invalid` when it cannot be."""
        config = self.resolve(apply_patches(base, patches))
        if problems := attempt(self.workload.check, config)[1]:
            raise Invalid.many(problems)
        return self.adjust(config, task_index)

    def judging(self, variants: Sequence[Variant], paths: Sequence[str], selection: Selection) -> Study:
        """The same study with the variants that were chosen, the baseline first, which differ on `paths`."""
        factors = {path: levels for path, levels in self.design.factors.items() if path in paths}
        return dataclasses.replace(
            self,
            design=Design(list(variants), factors, list(paths), self.design.kind),
            variants=list(variants),
            selection=selection,
            _described={},
        )

    def reporting(self, name: str, overrides: Sequence[str]) -> Study:
        """The same study under the name of its report, which says how its run differs from the study as written."""
        return dataclasses.replace(
            self, config=self.config.model_copy(update={"name": name}), overrides=overrides
        )

    def settling(self) -> Study:
        """The same study with the claims that its variants can settle."""
        names = {variant.name for variant in self.variants}
        claims = [claim for claim in self.claims if names.issuperset(claim.variants)]
        return dataclasses.replace(self, claims=claims)

    def judged_variants(self) -> Mapping[str, JsonValue]:
        """Returns the variants with their configs, one a task, and who chose them, as plain data."""
        variants: list[JsonValue] = []
        for variant in self.variants:
            by_seed: dict[str, JsonValue] = {
                task: list(configs) for task, configs in variant.by_seed.items() if configs
            }
            variants.append(
                {
                    "name": variant.name,
                    "configs": list(variant.configs),
                    "patches": dict(variant.patches),
                    "at": list(variant.at),
                    "placebo": variant.placebo,
                    "tuned": {task: dict(labels) for task, labels in variant.tuned.items()},
                    "by_seed": by_seed,
                }
            )
        paths: list[JsonValue] = [*self.design.paths]
        return {"by": self.selection.by or "design", "paths": paths, "variants": variants}

    def levels(self, variant: Variant, task_index: int = 0) -> dict[str, Level]:
        """Path that some variant changes → what this one has there as it is trained; without paths that it lacks."""
        config, found = variant.configs[task_index], {}
        for path in self.design.paths:
            if has_path(config, path):
                value = value_at(config, path)
                plain = value is None or (
                    isinstance(value, str | int | float) and not isinstance(value, DataFile)
                )
                found[path] = (
                    value if plain else self.design.labels[path].get(variant.name) or short_label(value)
                )
        return found


def facts_of(
    study: Study,
    claims: Sequence[Claim] = (),
    environment: Mapping[str, Any] | None = None,
    cautions: Sequence[str] = (),
) -> StudyFacts:
    """The facts of a study, with its dated claims and what limits its verdicts."""
    config, metric = study.config, study.config.metric
    described = [study.describe(variant) for variant in study.variants]
    name = study.metric
    timed = metric.target is not None or any(c.metric == "steps_to_target" for c in study.claims)
    return StudyFacts(
        study=config.name,
        question=config.question,
        notes=config.notes,
        metric=name,
        column=name if metric.at == "last" else f"{name}_at_{metric.at}",
        at=metric.at,
        margin=metric.margin,
        design=config.design.name,
        seeds=list(config.seeds.values),
        looks=config.seeds.looks,
        tasks=[
            # Some other variant may have attention where the first has none.
            TaskFacts(
                task,
                {**d.metrics, **_on_slices(others), **d.metrics},
                d.outcome,
                d.sampling,
                {key: number for each in (*others, d) for key, number in each.stability.items()},
                {name: dict(values) for name, values in d.constants.items()},
            )
            for task, d, *others in zip(study.tasks, *described, strict=True)
        ],
        variants=[_variant(study, variant) for variant in study.variants],
        factors={
            path: list(dict.fromkeys(filter(None, by_variant.values())))
            for path, by_variant in study.design.labels.items()
        },
        claims=list(claims),
        environment=dict(environment or {}),
        rate=_rate(study),
        cautions=list(cautions),
        labels=dict(config.labels),
        searched=study.selection.by,
        compare=config.compare,
        left_out=study.not_judged,
        differs=list(study.overrides),
        target=target_of(config, described[0][0].metrics) if timed else {},
    )


def _on_slices(described: Sequence[Description]) -> dict[str, Metric]:
    """Their metrics on evaluation slices, which the baseline may be unable to read."""
    return {name: of for each in described for name, of in each.metrics.items() if plain(name) != name}


def _rate(study: Study) -> str:
    """The learning rate that all variants share and nothing has tuned: `lr 0.003`; else empty."""
    path = study.workload.rate_path
    chosen = [of_task for variant in study.variants for of_task in variant.tuned.values()]
    if path is None or any(path in paths for paths in [*chosen, study.selected_paths]):
        return ""
    found = {value_at(config, path) for variant in study.variants for config in variant.configs}
    return f"{path.rpartition('.')[2]} {found.pop():g}" if len(found) == 1 else ""


def _variant(study: Study, variant: Variant) -> VariantFacts:
    tasks, labels = study.tasks, study.design.labels
    described = dict(zip(tasks, study.describe(variant), strict=True))
    return VariantFacts(
        name=variant.name,
        levels=study.levels(variant),
        changes={path: labels[path][variant.name] for path in variant.patches if path in labels},
        placebo=variant.placebo,
        parameters={task: d.parameters for task, d in described.items()},
        parameters_by_part={task: dict(d.parameters_by_part) for task, d in described.items()},
        flops={task: d.flops for task, d in described.items()},
        training_flops={task: d.training_flops for task, d in described.items()},
        beside={task: dict(d.beside) for task, d in described.items()},
        examples={task: d.examples for task, d in described.items()},
        tuned={task: dict(chosen) for task, chosen in variant.tuned.items()},
        rivals={task: [*of] for task, of in variant.runner_ups.items() if of},
    )
