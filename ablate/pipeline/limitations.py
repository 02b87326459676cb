"""What limits the verdicts of a study, known before it is trained: for the plan, the run and the report."""

from collections.abc import Sequence

from ablate.base.errors import listed
from ablate.base.wording import exact
from ablate.pipeline.cache import explained
from ablate.session.session import Session
from ablate.session.stage import Stage
from ablate.study.study import Study

# The most variants that a caution names.
MAX_NAMES = 4


def print_limitations(study: Study, selecting: Sequence[Stage], session: Session) -> None:
    """Prints how a run differs from its study, and what limits the verdicts."""
    if study.overrides:
        session.say(explained(session.folder, study.overrides))
    for limitation in limitations(study, selects=bool(selecting)):
        session.say(f"note: {limitation}.")


def limitations(study: Study, *, selects: bool) -> list[str]:
    """Returns sentences without their full stops; one that holds for some variants alone begins with their names.

    selects: whether trainings choose the variants.
    """
    found: dict[tuple[str, str], list[str]] = {}
    variants = [variant for variant in study.variants if not variant.placebo]
    for variant in variants:
        for task, config in zip(study.tasks, variant.configs, strict=True):
            for text in study.workload.cautions(config):
                found.setdefault((task, text), []).append(variant.name)
    lines = list(study.notes)
    for (task, text), names in found.items():
        where = study.on(task)
        whom = f"{listed(names, MAX_NAMES)}{where}: " if len(names) < len(variants) else ""
        lines.append(f"{whom}{text}" if whom or not where else f"{where.strip()}, {text}")
    lines += _coarse(study, selects=selects)
    if aliases := study.design.aliases:
        sets = (" = ".join(" × ".join(effect) for effect in found) for found in aliases)
        lines.append(f"the fraction sees as one, and cannot tell apart: {'; '.join(sets)}")
    return lines


def _coarse(study: Study, *, selects: bool) -> list[str]:
    """Says that validation, by which something is chosen or stopped, cannot show half a margin."""
    metric = study.config.metric
    chooses = selects or metric.at == "best_validation" or metric.target is not None
    if metric.margin is None or not chooses:
        return []
    described = zip(study.tasks, study.describe(study.variants[0]), strict=True)
    return [
        f"what is chosen{study.on(task)} is chosen on {found.validation} validation examples, which cannot show "
        f"half the margin of {exact(metric.margin)}"
        for task, found in described
        if found.validation
        and found.metrics[study.metric].resolution
        and 2 / found.validation > metric.margin
    ]
