"""Lines of a report about a seed or a change that has no effect: runs with the same numbers, seeds like repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ablate.analysis.alike import alike_groups
from ablate.analysis.alike_seeds import judged_alike_seeds
from ablate.analysis.repeats import is_seed_unheard
from ablate.analysis.runs import runs_of
from ablate.base.wording import seeds_in_words
from ablate.core.short_names import runner_up_name
from ablate.report.tables.verdicts import Names, names_of
from ablate.report.words import message

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.facts import Evidence, StudyFacts, TaskFacts
    from ablate.report.section import ReportData


def repeat_lines(report_data: ReportData) -> Iterator[str]:
    """Yields a line on each task whose seeds, or variants, gave the same numbers, or spread like repeats of one seed.

    Nothing of runs that were given: `ablate analyse` says it of their table.
    """
    facts = report_data.facts
    if facts.is_given or report_data.evidence.only_measured:
        return
    for task in facts.tasks:
        evidence = report_data.evidence
        where = task.name if len(facts.tasks) > 1 else ""
        yield from _lines_on_stopped(task, facts, where)
        lines = [*_lines_of_task(alike_groups(runs_of(evidence), task), task, evidence)]
        copies = judged_alike_seeds(evidence, task)
        if copies and not lines:
            lines.append(message("repeats.copies", [seeds_in_words(seeds) for seeds in copies], where))
        if is_seed_unheard(evidence, task):
            lines.append(message("repeats.unheard", where))
        yield from lines


def _lines_on_stopped(task: TaskFacts, facts: StudyFacts, where: str) -> Iterator[str]:
    """Yields a line on each variant that was stopped on a task, since it changed none of the baseline's numbers."""
    names = names_of(facts)
    for variant in facts.variants:
        if facts.is_stopped(variant, task.name):
            yield message("repeats.stopped", names[variant.name], list(variant.changes), where)


def _lines_of_task(groups: Sequence[pd.DataFrame], task: TaskFacts, evidence: Evidence) -> Iterator[str]:
    """Yields the lines on one task."""
    facts = evidence.facts
    names = names_of(facts)
    where = task.name if len(facts.tasks) > 1 else ""
    repeated: list[str] = []
    for group in groups:
        repeated += group.loc[group["variant"].duplicated(), "variant"].tolist()
    if repeated:
        if where:
            yield message("repeats.seeds_on_task", _named(repeated, names), where)
        else:
            yield message("repeats.seeds", _named(repeated, names))
        return
    trials = evidence.trials
    is_of_task = (trials["status"] == "completed") & (trials["task"] == task.name)
    num_seeds = trials.loc[is_of_task, "seed"].nunique()
    num_alike_seeds = Counter(tuple(group["variant"]) for group in groups)
    for variants, count in num_alike_seeds.items():
        if count == num_seeds:
            yield message("repeats.variants", _named(variants, names), where)


def _named(variants: Iterable[str], names: Names) -> list[str]:
    """Returns the names of variants, and of variants at settings that were tried, each once."""
    return [runner_up_name(variant, names) for variant in dict.fromkeys(variants)]
