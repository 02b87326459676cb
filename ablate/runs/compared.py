"""How the runs of each variant were compared with those of the baseline: paired or not, and how far pairs are alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan

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


def compared(runs: CheckedRuns, facts: StudyFacts, options: AnalysisOptions) -> Iterator[str]:
    """Yields sentences on how each variant was compared with the baseline, and on tasks without baseline runs."""
    if not isinstance(facts.replication, GivenSeeds | Folds | UnpairedRuns) or options.compare:
        return
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
            row = ComparedRuns(
                variant=variant,
                baseline=options.baseline,
                task=task if len(facts.tasks) > 1 else "",
                runs=len(of_variant),
                pairs=len(shared),
                absent=[str(seed) for seed in sorted(absent)],
                correlation=correlation,
            )
            yield _in_words(row, facts, options, runs)


def _name_of(task: str) -> str:
    """Returns the name of a task; empty where nobody gave it one."""
    return "" if task == NAMELESS_TASK else task


def _in_words(row: ComparedRuns, facts: StudyFacts, options: AnalysisOptions, runs: CheckedRuns) -> str:
    """Returns how the runs of a variant were compared."""
    variant = message("analyse.on_task", row.variant, row.task) if row.task else row.variant
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
