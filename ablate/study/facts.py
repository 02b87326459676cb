"""The facts of a study, which its report keeps beside the frames of its evidence."""

from collections.abc import Mapping, Sequence
from typing import Any

from ablate.core.facts import Claim, StudyFacts, TaskFacts, VariantFacts
from ablate.core.metric import Description, Metric, plain
from ablate.core.over import LEAST_TREND, Over
from ablate.core.provenance import Planned
from ablate.core.sizes import known_parameters
from ablate.study.designs import Variant
from ablate.study.judged import target_of
from ablate.study.patch import value_at
from ablate.study.study import Study


def facts_of(
    study: Study,
    claims: Sequence[Claim] = (),
    environment: Mapping[str, Any] | None = None,
    cautions: Sequence[str] = (),
) -> StudyFacts:
    """Returns the facts of a study, with its dated claims and what limits its verdicts."""
    config = study.config
    metric = study.metric
    at = config.metric.at
    return StudyFacts(
        study=config.name,
        question=config.question,
        notes=config.notes,
        metric=metric,
        column=metric if at == "last" else f"{metric}_at_{at}",
        at=at,
        margin=config.metric.margin,
        design=config.design.name,
        seeds=list(config.seeds.values),
        tasks=_task_facts(study),
        variants=[_variant_facts(study, variant) for variant in study.variants],
        factors=_factor_levels(study),
        claims=list(claims),
        environment=dict(environment or {}),
        rate=_shared_rate(study),
        rates=_differing_rates(study),
        cautions=list(cautions),
        labels=dict(config.labels),
        compare=config.compare,
        target=_target(study),
        over=_over(study),
        family=config.family,
        provenance=Planned(
            looks=config.seeds.looks,
            left_out=study.not_judged,
            searched=study.selection.by,
            differs=list(study.overrides),
        ),
    )


def _over(study: Study) -> Over:
    """Returns how the conditions of a study are taken together, where it has several."""
    config = study.config
    if len(study.tasks) == 1:
        return Over()
    along = ""
    sizes: dict[str, float] = {}
    # Where some conditions are left out, too few may be left for a trend.
    if config.along is not None and len(study.tasks) >= LEAST_TREND:
        along = config.along
        configs = study.variants[0].configs
        sizes = {name: float(value_at(configs[name], along)) for name in study.tasks}
    scales = {name: scale for name, scale in config.scale.items() if name in study.tasks}
    return Over(config.over, along, sizes, scales)


def _task_facts(study: Study) -> list[TaskFacts]:
    """Returns the facts of each task: what the baseline has on it, and what only another variant has."""
    described = [study.describe(variant) for variant in study.variants]
    configs = study.variants[0].configs
    tasks: list[TaskFacts] = []
    for task in study.tasks:
        baseline, *others = [descriptions[task] for descriptions in described]
        stability: dict[str, Metric] = {}
        # Some other variant may have attention where the baseline has none.
        for description in (*others, baseline):
            stability.update(description.stability)
        facts = TaskFacts(
            name=task,
            metrics=_metrics(baseline, others),
            outcome=baseline.outcome,
            sampling=baseline.sampling,
            stability=stability,
            constants={name: dict(values) for name, values in baseline.constants.items()},
            stated=study.workload.stated(configs[task], study.metric),
        )
        tasks.append(facts)
    return tasks


def _metrics(baseline: Description, others: Sequence[Description]) -> dict[str, Metric]:
    """Returns the baseline's metrics, then those on evaluation slices that it may be unable to read."""
    on_slices: dict[str, Metric] = {}
    for description in others:
        for name, metric in description.metrics.items():
            if plain(name) != name and name not in baseline.metrics:
                on_slices[name] = metric
    return {**baseline.metrics, **on_slices}


def _factor_levels(study: Study) -> dict[str, list[str]]:
    """Returns path → the labels of its levels, each once, the baseline's first."""
    levels: dict[str, list[str]] = {}
    for path, label_by_variant in study.design.labels.items():
        labels = [label for label in label_by_variant.values() if label]
        levels[path] = list(dict.fromkeys(labels))
    return levels


def _shared_rate(study: Study) -> str:
    """Returns the learning rate that all variants share and nothing has tuned, as `lr 0.003`; else nothing."""
    rates = dict.fromkeys(_untuned_rates(study).values())
    path = study.workload.rate_path
    if path is None or len(rates) != 1:
        return ""
    name = path.rpartition(".")[2]
    return f"{name} {next(iter(rates))}"


def _differing_rates(study: Study) -> dict[str, str]:
    """Returns variant → its learning rate, where nothing tuned any and one variant sets its own beside other changes.

    A variant that changes nothing else is about its rate, and so is a factor.
    """
    path = study.workload.rate_path
    if path in study.config.factors:
        return {}
    rates = _untuned_rates(study)
    for variant in study.variants:
        if {*variant.patches} == {path}:
            rates.pop(variant.name, None)
    return rates if len({*rates.values()}) > 1 else {}


def _untuned_rates(study: Study) -> dict[str, str]:
    """Returns variant → its learning rate; nothing where the rate of some variant was tuned."""
    path = study.workload.rate_path
    if path is None or path in study.selected_paths:
        return {}
    for variant in study.variants:
        if any(path in tuned_paths for tuned_paths in variant.tuned.values()):
            return {}
    rates: dict[str, str] = {}
    for variant in study.variants:
        configs = [variant.configs[task] for task in study.tasks]
        labels = {f"{value_at(config, path):g}": None for config in configs}
        rates[variant.name] = ", ".join(labels)
    return rates


def _target(study: Study) -> dict[str, float]:
    """Returns primary metric → the value that counts as learned, where the study asks for it."""
    is_claimed = any(claim.metric == "steps_to_target" for claim in study.claims)
    if study.config.metric.target is None and not is_claimed:
        return {}
    return target_of(study.config, study.first_description.metrics)


def _variant_facts(study: Study, variant: Variant) -> VariantFacts:
    labels = study.design.labels
    described = study.describe(variant)
    sizes = {task: known_parameters(description) for task, description in described.items()}
    return VariantFacts(
        name=variant.name,
        levels=study.levels(variant, study.tasks[0]),
        changes={path: labels[path][variant.name] for path in variant.patches if path in labels},
        placebo=variant.placebo,
        parameters={task: size for task, size in sizes.items() if size is not None},
        parameters_by_part={
            task: dict(description.parameters_by_part) for task, description in described.items()
        },
        flops={task: description.flops for task, description in described.items()},
        training_flops={task: description.training_flops for task, description in described.items()},
        beside={task: dict(description.beside) for task, description in described.items()},
        examples={task: description.examples for task, description in described.items()},
        tuned={task: dict(chosen) for task, chosen in variant.tuned.items()},
        rivals={task: list(settings) for task, settings in variant.runner_ups.items() if settings},
    )
