"""How the runs of each variant were compared with those of the baseline: paired or not, and how far pairs are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

from ablate.analysis.form_prospects import LEAST_CONDITIONS_FOR_MEAN
from ablate.analysis.paired import NAN
from ablate.core.facts import BASELINE, NAMELESS_TASK, StudyFacts
from ablate.core.replication import Folds, GivenSeeds, RunName, UnpairedRuns
from ablate.report.words import message
from ablate.runs.checking import CheckedRuns
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import KEY


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of a variant beside those of the baseline on one task."""

    variant: str
    baseline: str
    task: str
    """Empty where there is one task."""
    runs: int
    """The runs of the variant."""
    pairs: int
    """Those that share a seed, or a fold, with a run of the baseline."""
    absent: Sequence[str]
    """The seeds, or folds, of the baseline of which the variant has no row."""
    correlation: float
    """The correlation of the values of pairs; NaN below three."""

    @property
    def is_whole(self) -> bool:
        """Whether each run is in a pair, and no run is missing."""
        return 1 < self.pairs == self.runs and not self.absent


def compared(runs: CheckedRuns, facts: StudyFacts, options: AnalysisOptions) -> Iterator[str]:
    """Yields sentences on how each variant was compared with the baseline, and on tasks without baseline runs.

    Of many conditions, and of conditions that are judged together, those in which all runs of a variant are pairs have
    one sentence, and so have those in which nothing pairs as many.
    """
    if not isinstance(facts.replication, GivenSeeds | Folds | UnpairedRuns) or options.compare:
        return
    whole: dict[str, list[ComparedRuns]] = {}
    unpaired: dict[tuple[str, int], list[ComparedRuns]] = {}
    unit = facts.replication.run_name
    is_brief = len(facts.tasks) >= LEAST_CONDITIONS_FOR_MEAN or facts.over.joins_conditions
    for row in _rows(runs, facts, options):
        if isinstance(row, str):
            yield row
        elif is_brief and row.is_whole:
            whole.setdefault(row.variant, []).append(row)
        elif is_brief and unit == "run":
            unpaired.setdefault((row.variant, row.runs), []).append(row)
        else:
            variant = message("analyse.on_task", row.variant, row.task) if row.task else row.variant
            yield _in_words(variant, row, facts, options, runs)
    for rows in whole.values():
        yield _whole_in_words(rows, unit)
    for (name, _), rows in unpaired.items():
        variant = message("analyse.in_conditions", name, len(rows))
        yield _in_words(variant, rows[0], facts, options, runs)


def _rows(runs: CheckedRuns, facts: StudyFacts, options: AnalysisOptions) -> Iterator[ComparedRuns | str]:
    """Yields the runs of each variant beside those of the baseline, and a sentence on each task without these."""
    trials = runs.compared
    values = trials.set_index(KEY)[options.metric]
    given = runs.trials.set_index(KEY)[options.metric]
    for task in dict.fromkeys(trials["task"]):
        variants = trials.loc[trials["task"] == task, "variant"].drop_duplicates()
        others = [variant for variant in variants if variant != options.baseline]
        if not facts.seeds_of(BASELINE, task):
            yield message("analyse.no_baseline", options.baseline, _name_of(task), others)
            continue
        of_baseline = values[options.baseline][task]
        for variant in others:
            of_variant = values[variant][task]
            shared = of_variant.index.intersection(of_baseline.index)
            # The correlation of fewer than three pairs says nothing.
            has_correlation = len(shared) > 2
            correlation = of_variant[shared].corr(of_baseline[shared]) if has_correlation else NAN
            absent = {*of_baseline.index} - {*given[variant][task].index}
            yield ComparedRuns(
                variant=variant,
                baseline=options.baseline,
                task=task if len(facts.tasks) > 1 else "",
                runs=len(of_variant),
                pairs=len(shared),
                absent=[str(seed) for seed in sorted(absent)],
                correlation=correlation,
            )


def _name_of(task: str) -> str:
    """Returns the name of a task; empty where nobody gave it one."""
    return "" if task == NAMELESS_TASK else task


def _in_words(
    variant: str, row: ComparedRuns, facts: StudyFacts, options: AnalysisOptions, runs: CheckedRuns
) -> str:
    """Returns how the runs of a variant were compared; `variant`: what it is called, and where it was compared."""
    unit = facts.replication.run_name
    if row.pairs > 1:
        return _paired_in_words(variant, row, unit)
    must_pair = options.all_or_nothing is not None or len(runs.examples) > 0 or unit == "fold"
    if not must_pair:
        code = "analyse.unpaired" if unit == "run" else "analyse.apart"
        return message(code, variant, row.baseline, row.runs)
    if unit == "run":
        return message("analyse.nothing_pairs", variant, row.baseline, row.runs)
    return message("analyse.not_compared", variant, row.baseline, unit, row.runs)


def _whole_in_words(rows: Sequence[ComparedRuns], unit: RunName) -> str:
    """Returns how many runs of one variant are pairs in each of several conditions, and how far pairs are alike."""
    fewest = min(row.pairs for row in rows)
    most = max(row.pairs for row in rows)
    pairs = message("analyse.pairs", most)
    if fewest < most:
        pairs = message("analyse.pairs_from_to", fewest, most)
    if len(rows) > 1:
        pairs = message("analyse.of_each", pairs)
    details = pairs + _correlations_in_words([row.correlation for row in rows if not isnan(row.correlation)])
    return message(
        "analyse.paired_in_conditions", rows[0].variant, rows[0].baseline, unit, len(rows), details
    )


def _correlations_in_words(correlations: Sequence[float]) -> str:
    """Returns how far pairs are alike in several conditions; "" where that is not known."""
    if not correlations:
        return ""
    if len(correlations) == 1:
        return message("analyse.correlation", correlations[0])
    return message("analyse.correlations", min(correlations), max(correlations))


def _paired_in_words(variant: str, row: ComparedRuns, unit: RunName) -> str:
    """Returns how many runs are pairs, which seeds or folds have none, and how far pairs are alike."""
    if row.pairs < row.runs:
        pairs = message("analyse.pairs_of", row.pairs, row.runs)
    else:
        pairs = message("analyse.pairs", row.pairs)
    details = message("analyse.absent", row.absent, unit) if row.absent else ""
    if not isnan(row.correlation):
        details += message("analyse.correlation", row.correlation)
    return message("analyse.paired", variant, row.baseline, unit, pairs, details)
