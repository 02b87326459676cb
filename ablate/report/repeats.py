"""What a report says of runs of a study that have the same numbers: a seed or a change that does nothing."""

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
    """Yields which seeds, and which variants, gave the same numbers throughout, task by task.

    Of runs that were given, the table of runs says it.
    """
    facts = report_data.facts
    if facts.given or report_data.evidence.only_measured:
        return
    trials = report_data.evidence.trials
    for task in facts.tasks:
        yield from _of_task(trials[trials["task"] == task.name], task, facts)


def _of_task(trials: pd.DataFrame, task: TaskFacts, facts: StudyFacts) -> Iterator[str]:
    """Yields what is said of one task."""
    names = names_of(facts)
    where = task.name if len(facts.tasks) > 1 else ""
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    is_judged = (trials["status"] == "completed") & ~trials["variant"].isin(placebos)
    runs = trials[is_judged]
    metrics = {name: metric for name, metric in task.metrics.items() if _is_told(runs, name)}
    if not metrics or runs.empty:
        return
    # Without examples: verdicts compare the numbers of whole runs.
    groups = [runs[runs["id"].isin(ids)] for ids in alike_runs(runs, runs[:0], metrics)]

    repeated = [variant for group in groups for variant in group["variant"][group["variant"].duplicated()]]
    if repeated:
        yield message("repeats.seeds", _named(repeated, names), where)
        return
    num_seeds = runs["seed"].nunique()
    seeds_of = Counter(tuple(group["variant"]) for group in groups)
    for variants, count in seeds_of.items():
        if count == num_seeds:
            yield message("repeats.variants", _named(variants, names), where)


def _is_told(runs: pd.DataFrame, metric: str) -> bool:
    """Returns whether all of these runs have a metric."""
    return metric in runs and bool(runs[metric].notna().all())


def _named(variants: Iterable[str], names: Names) -> list[str]:
    """Returns the names of variants, each once."""
    return [names[variant] for variant in dict.fromkeys(variants)]
