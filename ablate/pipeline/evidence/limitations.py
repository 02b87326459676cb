"""Limitations of the verdicts of a study, known before it is trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ablate.base.wording import exact
from ablate.pipeline.evidence.about_variants import statements_on
from ablate.pipeline.evidence.code_notes import code_notes, standing_code_notes, stored_runs
from ablate.pipeline.reports.place import explained
from ablate.session.session import Session
from ablate.session.stage import Stage
from ablate.study.study import Study

MOST_ADVICE = 2
"""Sentences of advice on single tasks above which the others are counted."""


def print_limitations(study: Study, selecting: Sequence[Stage], session: Session) -> None:
    """Prints how a run differs from its study, and the limitations of its verdicts."""
    if study.overrides:
        session.say(explained(session.folder, study.overrides))
    notes = limitations(study, selects=any(stage.chooses for stage in selecting))
    on_code = code_notes(study)
    if on_code:
        notes += standing_code_notes(on_code, stored_runs(study, session.store))
    for note in notes:
        session.say(f"note: {note}.")


def limitations(study: Study, *, selects: bool) -> list[str]:
    """Returns the limitations of a study, as sentences without their full stops.

    One that holds for some variants alone begins with their names.

    selects: whether trainings choose the variants.
    """
    limits = [
        *study.notes,
        *_cautions(study),
        *_coarse_validation(study, selects=selects),
    ]
    if study.design.aliases:
        sets = [_aliased(effects) for effects in study.design.aliases]
        limits.append(f"the fraction cannot tell these effects apart: {'; '.join(sets)}")
    return limits


def advice(study: Study) -> list[str]:
    """Returns what the workload says of the baseline on each task that it will likely not learn; of many the first."""
    sentences: list[str] = []
    configs = study.variants[0].configs
    for task in study.tasks:
        sentences += [f"{task or 'the baseline'} {text}" for text in study.workload.advice(configs[task])]
    if len(sentences) <= MOST_ADVICE:
        return sentences
    return [f"{sentences[0]}; likewise {len(sentences) - 1} other conditions"]


def _cautions(study: Study) -> list[str]:
    """Returns the cautions of the workload, with the variants and tasks that they are about."""
    statements = statements_on(study, study.workload.cautions)
    return [f"{statement.prefix}{statement.subject}" for statement in statements]


def _coarse_validation(study: Study, *, selects: bool) -> list[str]:
    """Says that validation, by which something is chosen or stopped, cannot show half a margin."""
    metric = study.config.metric
    chooses = selects or metric.at == "best_validation" or metric.target is not None
    if metric.margin is None or not chooses:
        return []
    lines: list[str] = []
    for task, described in study.describe(study.variants[0]).items():
        examples = described.validation
        if not examples or not described.metrics[study.metric].resolution:
            continue
        if 2 / examples > metric.margin:
            lines.append(
                f"settings or steps are chosen{study.on(task)} on {examples} validation examples, which are too few to "
                f"resolve half the margin of {exact(metric.margin)}"
            )
    return lines


def _aliased(effects: Iterable[Iterable[str]]) -> str:
    """Returns effects that a fraction cannot tell apart, in words."""
    return " = ".join(" × ".join(effect) for effect in effects)
