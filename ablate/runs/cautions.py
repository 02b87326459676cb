"""Cautions beside the verdicts on runs that exist: how they were read, and what limits their comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ablate.analysis.alike_seeds import alike_seeds
from ablate.base.wording import seeds_in_words
from ablate.core.facts import StudyFacts
from ablate.core.replication import Folds, RunName
from ablate.report.sentences.lost_runs import reason_of
from ablate.report.words import message
from ablate.runs.checking import CheckedRuns
from ablate.runs.clusters import source_limitations
from ablate.runs.compared import compared
from ablate.runs.declared import declared_beside_values
from ablate.runs.dependent_values import dependent_values
from ablate.runs.given_conditions import conditions_in_words
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable
from ablate.runs.shape_in_words import reading_of
from ablate.runs.slips import differences_beside, likely_slips

_MAX_ALIKE = 3
"""The most groups of runs with the same numbers that are named."""


def cautions_of(
    table: RunTable, runs: CheckedRuns, facts: StudyFacts, options: AnalysisOptions, *, alike: Sequence[str]
) -> list[str]:
    """Returns the sentences on how the runs were read and compared; `alike`: groups of runs with the same numbers."""
    return [
        reading_of(table),
        *conditions_in_words(table, facts, options),
        *table.notes,
        *likely_slips(runs.trials, options),
        *_uncorrected_folds(table, facts),
        *differences_beside(table.differing, options.baseline),
        *source_limitations(runs.trials, runs.examples),
        *_alike_in_words(alike),
        *_copies(runs.trials, facts),
        *dependent_values(runs, options, table.run_name),
        *_limited(runs.trials, table.run_name),
        *_beside_values(table, runs, options),
        *_reruns(runs.reruns, table.run_name),
        *compared(runs, facts, options),
    ]


def _beside_values(table: RunTable, runs: CheckedRuns, options: AnalysisOptions) -> Iterator[str]:
    """Yields sentences on what is declared beside the values of runs; none where nobody has these."""
    if not table.are_summaries:
        yield from declared_beside_values(runs, options, run_name=table.run_name)


def _alike_in_words(groups: Sequence[str]) -> Iterator[str]:
    """Yields a sentence on the groups of runs that have the same numbers; it names the first."""
    if not groups:
        return
    shown = [*groups[:_MAX_ALIKE]]
    if len(groups) > _MAX_ALIKE:
        shown.append(message("analyse.more_alike", len(groups) - _MAX_ALIKE))
    yield message("analyse.alike", shown)


def _copies(trials: pd.DataFrame, facts: StudyFacts) -> Iterator[str]:
    """Yields a sentence on each task whose seeds, or folds, are copies of one another but for jitter."""
    if not facts.replication.has_numbers:
        return
    for task in facts.tasks:
        groups = alike_seeds(trials[trials["task"] == task.name], task.metrics)
        if groups:
            yield message(
                "analyse.copies",
                facts.replication.run_name,
                [seeds_in_words(seeds) for seeds in groups],
                task.name_for_readers,
            )


def _limited(trials: pd.DataFrame, run_name: RunName) -> Iterator[str]:
    """Yields the sentence on runs that lacked memory or time, and so count as diverged."""
    is_limited = trials["ended"].map(lambda ending: ending.kind == "diverged" and bool(ending.why))
    if is_limited.any():
        yield message("analyse.limited", ends_in_words(trials[is_limited], run_name))


def _reruns(reruns: pd.DataFrame, run_name: RunName) -> Iterator[str]:
    """Yields the sentence on runs without a result that another run of the same seed replaces."""
    if not reruns.empty:
        yield message("analyse.reruns", ends_in_words(reruns, run_name))


def _uncorrected_folds(table: RunTable, facts: StudyFacts) -> Iterator[str]:
    """Yields the sentence on folds that are judged as other runs are, as by a known noise."""
    if table.run_name == "fold" and not isinstance(facts.replication, Folds):
        yield message("analyse.folds_as_runs", table.seeds[0])


def ends_in_words(trials: pd.DataFrame, run_name: RunName) -> list[str]:
    """Returns `wide seed 3, which failed: error.txt` for each of these runs."""
    words = []
    for row in trials.to_dict("records"):
        run = row["variant"] if run_name == "run" else f"{row['variant']} {run_name} {row['seed']}"
        words.append(message("analyse.rerun", run, reason_of(row["ended"].why, row["ended"].source)))
    return words
