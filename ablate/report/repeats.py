"""Lines of a report about runs with the same numbers: a seed or a change that has no effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ablate.analysis.alike import alike_runs
from ablate.report.verdicts import Names, names_of
from ablate.report.words import message

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.facts import StudyFacts, TaskFacts
    from ablate.report.section import ReportData


def repeat_lines(report_data: ReportData) -> Iterator[str]:
    """Yields a line on each task whose seeds, or variants, gave the same numbers throughout.

    Nothing of runs that were given: `ablate analyse` says it of their table.
    """
    facts = report_data.facts
    if facts.given or report_data.evidence.only_measured:
        return
    trials = report_data.evidence.trials
    for task in facts.tasks:
        yield from _lines_of_task(trials[trials["task"] == task.name], task, facts)


def _lines_of_task(trials: pd.DataFrame, task: TaskFacts, facts: StudyFacts) -> Iterator[str]:
    """Yields the lines on one task."""
    names = names_of(facts)
    where = task.name if len(facts.tasks) > 1 else ""
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    is_judged = (trials["status"] == "completed") & ~trials["variant"].isin(placebos)
    runs = trials[is_judged]
    metrics = {name: metric for name, metric in task.metrics.items() if _has_all(runs, name)}
    if not metrics or runs.empty:
        return
    # Without examples: verdicts compare the numbers of whole runs.
    groups = [runs[runs["id"].isin(ids)] for ids in alike_runs(runs, runs[:0], metrics)]

    repeated: list[str] = []
    for group in groups:
        repeated += group.loc[group["variant"].duplicated(), "variant"].tolist()
    if repeated:
        if where:
            yield message("repeats.seeds_on_task", _named(repeated, names), where)
        else:
            yield message("repeats.seeds", _named(repeated, names))
        return
    num_seeds = runs["seed"].nunique()
    num_alike_seeds = Counter(tuple(group["variant"]) for group in groups)
    for variants, count in num_alike_seeds.items():
        if count == num_seeds:
            yield message("repeats.variants", _named(variants, names), where)


def _has_all(runs: pd.DataFrame, metric: str) -> bool:
    """Returns whether every run has a value of a metric."""
    return metric in runs and bool(runs[metric].notna().all())


def _named(variants: Iterable[str], names: Names) -> list[str]:
    """Returns the names of variants, each once."""
    return [names[variant] for variant in dict.fromkeys(variants)]
