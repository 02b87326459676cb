"""What limits the verdicts of a study, known before it is trained: for the plan, the run and the report."""

from __future__ import annotations

from ablate.base.errors import listed
from ablate.study.experiment import Experiment

MAX_NAMES = 4
"""The most variants that a caution names."""


def cautions(experiment: Experiment) -> list[str]:
    """Sentences without their full stops; one that holds for some variants alone begins with their names."""
    found: dict[tuple[str, str], list[str]] = {}
    variants = [variant for variant in experiment.variants if not variant.placebo]
    for variant in variants:
        for task, config in zip(experiment.tasks, variant.configs, strict=True):
            for text in experiment.workload.cautions(config):
                found.setdefault((task, text), []).append(variant.name)
    lines = list(experiment.remarks)
    for (task, text), names in found.items():
        where = experiment.on(task)
        whom = f"{listed(names, MAX_NAMES)}{where}: " if len(names) < len(variants) else ""
        lines.append(f"{whom}{text}" if whom or not where else f"{where.strip()}, {text}")
    if aliases := experiment.design.aliases:
        sets = (" = ".join(" × ".join(effect) for effect in found) for found in aliases)
        lines.append(f"the fraction sees as one, and cannot tell apart: {'; '.join(sets)}")
    return lines
