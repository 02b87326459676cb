"""Runs that exist and cannot be judged: why they are refused, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ablate.base.errors import Gather, listed, nearest
from ablate.core.facts import BASELINE, StudyFacts
from ablate.core.replication import Examples, Folds, Replication
from ablate.report.words import message
from ablate.runs.checking import CheckedRuns
from ablate.runs.formats.run_history import NO_NUMBER
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import RunTable
from ablate.runs.seeds_in_names import hint_of_numbers

_MAX_AGAIN = 3
"""The most variants that are to be run again, of those that no loop has kept."""


def refuse_incomparable(
    table: RunTable,
    runs: CheckedRuns,
    options: AnalysisOptions,
    *,
    replication: Replication,
    alike: Sequence[str],
) -> None:
    """Raises `Invalid` for runs, and for options, that leave nothing to judge.

    alike: groups of runs with the same numbers, in words.
    """
    _refuse_without_partner(runs, options, replication, alike)
    _refuse_rates_of_summaries(table, options)
    _refuse_rates_of_folds(replication, options)
    _refuse_summaries_of_diverged(table, runs)


def _refuse_without_partner(
    runs: CheckedRuns, options: AnalysisOptions, replication: Replication, alike: Sequence[str]
) -> None:
    """Raises `Invalid` where the runs cannot be compared with a baseline."""
    variants = runs.variants
    baseline = options.baseline
    reasons = runs.trials["reason"]
    has_ended = ~runs.is_left_out
    is_try = runs.trials["id"].isin(runs.kept) & (runs.trials["variant"] != baseline)
    kept = runs.trials.loc[is_try, "variant"].tolist()
    with Gather() as at:
        at.refuse(
            baseline not in variants,
            "--baseline",
            "is not a variant",
            baseline,
            listed(variants),
            hint_of_numbers(baseline, variants) or nearest(baseline, variants),
        )
        at.refuse(len(variants) == 1, "RUNS", "must have a variant beside the baseline", listed(variants, 1))
        at.refuse(
            not has_ended.any(),
            "RUNS",
            "has no run that counts: each is left out by its status",
            listed(f"{count} {reason}" for reason, count in reasons.value_counts().items()),
            hint=_ways_to_runs_that_count(reasons),
        )
        at.refuse(
            isinstance(replication, Examples) and runs.examples.empty and has_ended.any(),
            "RUNS",
            "must have two or more runs of each variant: one shows no difference",
            hint=_known_of_single_runs(runs, options, kept, alike),
        )


def _ways_to_runs_that_count(reasons: pd.Series) -> str:
    """Returns what to do where no run counts, for the reasons of all runs."""
    if (reasons == NO_NUMBER).all():
        return "If they have ended well, another name has their numbers: --metric NAME"
    return "Wait for the runs, or repeat them"


def _refuse_rates_of_summaries(table: RunTable, options: AnalysisOptions) -> None:
    """Raises `Invalid` where runs that solved the task are to be counted, of which mean and deviation do not tell."""
    with Gather() as at:
        at.refuse(
            table.are_summaries and options.all_or_nothing is not None,
            "--all-or-nothing",
            "needs runs: their mean and deviation do not say how many solved the task",
        )


def _refuse_rates_of_folds(replication: Replication, options: AnalysisOptions) -> None:
    """Raises `Invalid` where folds that solved the task are to be counted, as if they did not share training data."""
    with Gather() as at:
        at.refuse(
            isinstance(replication, Folds) and options.all_or_nothing is not None,
            "--all-or-nothing",
            "needs runs that share no training data: the folds of one cross-validation do",
            hint="Judge the mean of the folds, without --all-or-nothing",
        )


def _refuse_summaries_of_diverged(table: RunTable, runs: CheckedRuns) -> None:
    """Raises `Invalid` for means of runs that diverged: no deviation says what counts in their place."""
    diverged = runs.trials.loc[runs.trials["status"] == "diverged", "variant"].unique()
    with Gather() as at:
        at.refuse(
            table.are_summaries and len(diverged) > 0,
            "RUNS",
            "must have no means beside runs that diverged: nothing says what counts in their place",
            listed(diverged),
            hint="Leave these rows out with --where",
        )


def _known_of_single_runs(
    runs: CheckedRuns, options: AnalysisOptions, kept: Sequence[str], alike: Sequence[str]
) -> str:
    """Returns what is known of single runs: which are alike, and which to run again, how often.

    Those are the ones that a loop has kept, or else those that differ most from the baseline.
    """
    values = runs.trials.groupby("variant", sort=False)[options.metric].first().dropna()
    again = [variant for variant in kept if variant != options.baseline]
    if not kept and options.baseline in values:
        distances = (values - values[options.baseline]).abs().drop(options.baseline)
        again = distances.nlargest(_MAX_AGAIN).index.tolist()
    sentences = []
    if alike:
        sentences.append(f"{message('analyse.identical', alike)}.")
    sentences.append(message("analyse.single"))
    if again:
        sentences.append(message("analyse.run_again", options.baseline, again))
    if kept:
        sentences.append(message("analyse.kept_by_chance", kept))
    return " ".join(sentences)


def refuse_untold(facts: StudyFacts, options: AnalysisOptions) -> None:
    """Raises `Invalid` where no variant, or not both sides of a claim, has runs on one task."""
    tasks = [task.name for task in facts.tasks]

    def have_runs(variants: Sequence[str]) -> bool:
        return any(all(facts.is_planned(variant, task) for variant in variants) for task in tasks)

    others = [variant.name for variant in facts.variants if variant.name != BASELINE]
    with Gather() as at:
        at.refuse(
            not any(have_runs([variant, BASELINE]) for variant in others),
            "RUNS",
            f"must have a task on which both {options.baseline} and another variant have runs",
            listed(tasks),
        )
        for claim in facts.claims:
            at.refuse(
                not have_runs(claim.variants),
                "--claim",
                "must be about variants that have runs on one task",
                claim.text,
            )
