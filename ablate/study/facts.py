"""The facts of a study that tables and figures need beside its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ablate.core.facts import Claim, Facts, TaskFacts, VariantFacts
from ablate.core.feature import features
from ablate.core.metric import Description
from ablate.study.checks import target_of
from ablate.study.designs.design import Variant
from ablate.study.experiment import Experiment
from ablate.study.patch import value_at


def facts_of(
    experiment: Experiment,
    claims: Sequence[Claim] = (),
    environment: Mapping[str, Any] | None = None,
    cautions: Sequence[str] = (),
) -> Facts:
    """The facts of a study, with its dated claims and what limits its verdicts."""
    study, metric = experiment.study, experiment.study.metric
    described = [experiment.describe(variant) for variant in experiment.variants]
    name = experiment.metric
    return Facts(
        study=study.name,
        question=study.question,
        notes=study.notes,
        metric=name,
        column=name if metric.at == "last" else f"{name}_at_{metric.at}",
        at=metric.at,
        margin=metric.margin,
        design=study.design.name,
        seeds=list(study.seeds.values),
        looks=study.seeds.looks,
        tasks=[
            # Some other variant may have attention where the first has none.
            TaskFacts(
                task,
                dict(d.metrics),
                d.outcome,
                d.sampling,
                {key: number for each in (*others, d) for key, number in each.stability.items()},
            )
            for task, d, *others in zip(experiment.tasks, *described, strict=True)
        ],
        variants=[_variant(experiment, variant) for variant in experiment.variants],
        factors={
            path: list(dict.fromkeys(filter(None, by_variant.values())))
            for path, by_variant in experiment.labels.items()
        },
        claims=list(claims),
        environment=dict(environment or {}),
        rate=_rate(experiment),
        cautions=list(cautions),
        features={feature.name: dict(of) for feature in features() if (of := feature.facts(experiment))},
        labels=dict(study.labels),
        searched=experiment.choice.by,
        left_out=experiment.left_out,
        differs=list(experiment.differs),
        target=_target(experiment, described[0][0]),
        match=study.match.facts() if study.match and experiment.matched else None,
    )


def _target(experiment: Experiment, baseline: Description) -> dict[str, float]:
    """The value that counts as learned, where the study asks how soon its runs get there."""
    asked = experiment.study.metric.target is not None or any(
        claim.metric == "steps_to_target" for claim in experiment.claims
    )
    return target_of(experiment.study, baseline.metrics) if asked else {}


def _rate(experiment: Experiment) -> str:
    """The learning rate that all variants share and nothing has tuned: `lr 0.003`; else empty."""
    path = experiment.workload.rate_path
    chosen = [of_task for variant in experiment.variants for of_task in variant.tuned.values()]
    settling = [feature for feature in features() if feature.settles(experiment)]
    varied = [paths for feature in settling for paths in feature.varies(experiment.study).values()]
    if path is None or any(path in paths for paths in [*chosen, *varied]):
        return ""
    found = {value_at(config, path) for variant in experiment.variants for config in variant.configs}
    return f"{path.rpartition('.')[2]} {found.pop():g}" if len(found) == 1 else ""


def _variant(experiment: Experiment, variant: Variant) -> VariantFacts:
    tasks, labels = experiment.tasks, experiment.labels
    described = dict(zip(tasks, experiment.describe(variant), strict=True))
    return VariantFacts(
        name=variant.name,
        levels=experiment.levels(variant),
        changes={path: labels[path][variant.name] for path in variant.patches if path in labels},
        placebo=variant.placebo,
        parameters={task: d.parameters for task, d in described.items()},
        parameters_by_part={task: dict(d.parameters_by_part) for task, d in described.items()},
        flops={task: d.flops for task, d in described.items()},
        training_flops={task: d.training_flops for task, d in described.items()},
        beside={task: dict(d.beside) for task, d in described.items()},
        examples={task: d.examples for task, d in described.items()},
        matched=dict(zip(tasks, experiment.matched.get(variant.name, ()), strict=False)),
        tuned={task: dict(chosen) for task, chosen in variant.tuned.items()},
    )
