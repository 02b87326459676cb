"""What limits the verdicts of a study, known before it is trained: for the plan, the run and the report."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.family import family_size, weights
from ablate.analysis.power import ALPHA
from ablate.analysis.rates import seeds_without_failure
from ablate.base.errors import listed
from ablate.base.wording import exact
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of

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
    kind = experiment.design.kind
    if kind is not None and not experiment.remarks and (words := kind.words(experiment.study)):
        lines.append(words)
    if aliases := experiment.design.aliases:
        sets = (" = ".join(" × ".join(effect) for effect in found) for found in aliases)
        lines.append(f"the fraction sees as one, and cannot tell apart: {'; '.join(sets)}")
    return [*lines, *_too_few_seeds(experiment)]


def _too_few_seeds(experiment: Experiment) -> Iterator[str]:
    """Of all-or-nothing tasks with a margin, on which n runs that all solve are too few to be called equivalent."""
    study, baseline = experiment.study, experiment.describe(experiment.variants[0])
    metric = experiment.metric
    m = family_size(facts_of(experiment)) if len(experiment.variants) > 1 else 0
    level = ALPHA * weights(max(1, len(study.seeds.looks)))[-1]
    for task, described in zip(experiment.tasks, baseline, strict=True):
        info, margin = described.metrics.get(metric), study.metric.margin
        if described.outcome != "all_or_nothing" or margin is None or info is None or not m:
            continue
        if info.solved is None or info.span is None:
            continue
        alone, together = (seeds_without_failure(margin, info.span, level / count) for count in (1, m))
        if study.seeds.count < together:
            several = f" ({together} each where {m} are judged together)" if m > 1 else ""
            yield (
                f"`equivalent`{experiment.on(task)} within {exact(margin)} takes {alone} seeds that all runs solve, "
                f"for one comparison{several}; the study has {study.seeds.count}"
            )
