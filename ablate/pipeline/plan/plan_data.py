"""A plan as plain data, for `ablate plan --json`."""

from dataclasses import asdict

from ablate.core.sizes import known_parameters
from ablate.pipeline.plan.plan import StudyPlan
from ablate.stages import STAGES
from ablate.study.designs import Variant


def plan_data(plan: StudyPlan) -> dict[str, object]:
    """Returns what a plan says, as plain data."""
    rows: list[dict[str, object]] = []
    for variant in plan.study.variants:
        rows += _rows(plan, variant)
    data: dict[str, object] = {
        "study": plan.study.config.name,
        "dialect": plan.notation or None,
        "variants": rows,
        "to_train": plan.to_train,
        "at_most": plan.at_most,
        "expected_seconds": plan.expected_seconds if plan.at_most else 0.0,
        "overhead_seconds": plan.overhead.seconds if plan.at_most else 0.0,
        "workers": max(1, plan.capacity.trials),
    }
    data |= {stage.name: None for stage in STAGES}
    for name, preview in plan.previews:
        if preview.data is not None:
            data[name] = preview.data
    data["power"] = asdict(plan.power)
    if plan.over_conditions is not None:
        data["conditions"] = asdict(plan.over_conditions)
    data["changes"] = plan.changes or None
    data["cautions"] = list(plan.limitations)
    data["exit_code"] = 0
    return data


def _rows(plan: StudyPlan, variant: Variant) -> list[dict[str, object]]:
    """Returns a row for each task of a variant."""
    study = plan.study
    rows: list[dict[str, object]] = []
    for task, described in study.describe(variant).items():
        place = variant.name, task
        if task not in plan.conditions:
            continue
        rows.append(
            {
                "variant": variant.name,
                "task": task,
                "placebo": variant.placebo,
                "parameters": known_parameters(described),
                "flops": described.flops,
                "training_flops": described.training_flops,
                "examples": described.examples,
                "forwarded": described.forwarded,
                "trials": study.config.seeds.count,
                "cached": plan.cached.get(place, 0),
                "seconds_each": plan.seconds.get(place),
                "command": plan.command_of(variant, task) or None,
            }
        )
    return rows
