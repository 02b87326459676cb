"""Runs that exist as the evidence of a study, from which judge and report go on as from any other."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import pandas as pd

from ablate.analysis.alike import alike_runs
from ablate.base.errors import Gather, listed
from ablate.base.process import now
from ablate.core.derived import DERIVED, StudyContext
from ablate.core.facts import (
    BASELINE,
    Claim,
    Evidence,
    StudyFacts,
    TaskFacts,
    VariantFacts,
    frame_of,
)
from ablate.core.metric import FRESH, Metric, Outcome, Sampling
from ablate.core.provenance import Given, LostRun
from ablate.core.replication import (
    Examples,
    Folds,
    GivenSeeds,
    KnownNoise,
    Replication,
    RunName,
    Summaries,
    UnpairedRuns,
)
from ablate.core.summary import SUMMARIES
from ablate.records.environment import command_line, versions
from ablate.report.sentences.lost_runs import reason_of
from ablate.report.words import message
from ablate.runs.cautions import cautions_of
from ablate.runs.checking import CheckedRuns, checked
from ablate.runs.given_conditions import over_of
from ablate.runs.incomparable import refuse_incomparable, refuse_untold
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import KEY, RunTable
from ablate.runs.row_summary import frame_of_summaries, numbered_runs
from ablate.runs.trained_lengths import unequally_trained
from ablate.study.claims import Claimable, parse_claim
from ablate.study.design_kinds import OneFactor
from ablate.study.designs import Design, Variant

NAMED_BASELINE = "variant baseline"
"""The name in reports of a variant that is called `baseline` and is compared with another one."""
_NAMED = re.compile(r"(?<!\S)baseline(?!\S)(?=.* on )")
"""The name of such a variant in a claim."""
_MAX_NAMES = 6
"""The most runs of a group that are named."""


def evidence_of(
    table: RunTable, metrics: Mapping[str, Metric], options: AnalysisOptions, name: str
) -> Evidence:
    """Returns the evidence of a report of this name from a table of runs. Raises `Invalid`."""
    runs = checked(table, metrics)
    options = replace(options, baseline=options.baseline_among(runs.variants))
    replication = _replication_of(table, runs, options)
    alike = _alike(table, runs, metrics)
    refuse_incomparable(table, runs, options, replication=replication, alike=alike)

    trials = _named_trials(runs, options)
    facts = _study_facts(table, runs, trials, metrics, options, name=name, replication=replication)
    facts = replace(facts, over=over_of(table, facts, options))
    refuse_untold(facts, options)
    cautions = cautions_of(table, runs, facts, options, alike=alike)
    no_curves = frame_of((), ("id", "step", "metric", "value"))
    reasons = trials["ended"].map(lambda ending: reason_of(ending.why, ending.source))
    trials = trials.assign(reason=reasons).drop(columns="ended")
    facts = replace(facts, cautions=cautions)
    if replication == Summaries():
        completed = trials[trials["status"] == "completed"]
        frame = frame_of_summaries(completed, table.summaries, metrics)
        return Evidence(facts, trials[:0], no_curves, frames={SUMMARIES: frame})
    return Evidence(facts, trials, no_curves, runs.examples)


def _study_facts(
    table: RunTable,
    runs: CheckedRuns,
    trials: pd.DataFrame,
    metrics: Mapping[str, Metric],
    options: AnalysisOptions,
    *,
    name: str,
    replication: Replication,
) -> StudyFacts:
    """Returns the facts of a report on runs that exist. Raises `Invalid` for a claim.

    trials: those of `runs`, with the names of variants in reports. name: that of the report.
    """
    report_names = _report_names(runs, options)
    tasks = _tasks(runs, metrics, options)
    numbered = numbered_runs(trials, table.summaries) if table.are_summaries else trials
    is_left_out = numbered["ended"].map(lambda ending: ending.leaves_out_its_pair).astype(bool)
    trained = unequally_trained(table.length_columns, trials[trials["status"] == "completed"])
    return StudyFacts(
        study=name,
        question=message("analyse.question", options.baseline, options.metric),
        notes="",
        metric=options.metric,
        column=options.metric,
        at="given",
        margin=options.margin,
        design="runs that exist",
        seeds=sorted({*numbered["seed"].tolist()}),
        tasks=tasks,
        variants=[
            VariantFacts(report_name, dict(table.lengths.get(variant, {})), {})
            for variant, report_name in report_names.items()
        ],
        factors={},
        claims=[*_claims(options, [*report_names.values()], metrics, tasks)],
        environment={"command": command_line(sys.argv), "versions": versions(), **dict(options.made_with)},
        labels={} if options.baseline == BASELINE else {BASELINE: options.baseline},
        reported=now(),
        replication=replication,
        provenance=Given(
            own_seeds=_seeds(numbered[~is_left_out]),
            lost=_lost_runs(numbered[is_left_out]),
            own_lengths=trained.lengths,
            length_column=trained.column,
        ),
        compare=options.compare or BASELINE,
    )


def _named_trials(runs: CheckedRuns, options: AnalysisOptions) -> pd.DataFrame:
    """Returns the trials with the variants as reports call them."""
    return runs.trials.assign(variant=runs.trials["variant"].map(_report_names(runs, options)))


def _report_names(runs: CheckedRuns, options: AnalysisOptions) -> dict[str, str]:
    """Returns variant → its name in reports, which call the baseline `baseline`; the baseline is first."""
    others = [variant for variant in runs.variants if variant != options.baseline]
    names = {options.baseline: BASELINE, **dict(zip(others, others, strict=True))}
    if BASELINE in others:
        names[BASELINE] = NAMED_BASELINE
    return names


def _alike(table: RunTable, runs: CheckedRuns, metrics: Mapping[str, Metric]) -> list[str]:
    """Returns the groups of runs that have the same numbers, each in words; none where nobody has the runs."""
    if table.are_summaries:
        return []
    groups = alike_runs(runs.trials, runs.examples, metrics)
    return [_run_names(runs.trials, ids, table.run_name) for ids in groups]


def _run_names(trials: pd.DataFrame, ids: Sequence[str], run_name: RunName) -> str:
    """Returns runs of one task, by their ids, in words: `wide seed 3`, or without seeds `wide (runs.csv, line 3)`."""
    by_id = trials.set_index("id")
    names = []
    for place in ids:
        variant = by_id.loc[place, "variant"]
        number = by_id.loc[place, "seed"]
        names.append(f"{variant} ({place})" if run_name == "run" else f"{variant} {run_name} {number}")
    runs = listed(names, _MAX_NAMES)
    task = by_id.loc[ids[0], "task"]
    return message("analyse.on_task", runs, task) if by_id["task"].nunique() > 1 else runs


def _replication_of(table: RunTable, runs: CheckedRuns, options: AnalysisOptions) -> Replication:
    """Returns what repeats the measurement of a variant.

    These are the examples where each variant has one run a task, so that nothing else can decide.
    """
    if options.known_noise:
        return KnownNoise(table.run_name == "seed")
    if table.are_summaries:
        return Summaries()
    counts = runs.compared.groupby(KEY[:2]).size()
    if counts.max() <= 1:
        return Examples(table.run_name == "seed")
    match table.run_name:
        case "seed":
            return GivenSeeds()
        case "fold":
            return Folds()
        case "run":
            return UnpairedRuns()
        case _:
            assert_never(table.run_name)


def _tasks(runs: CheckedRuns, metrics: Mapping[str, Metric], options: AnalysisOptions) -> list[TaskFacts]:
    """Returns the facts of the tasks: runs by example share their examples."""
    outcome: Outcome = "graded" if options.all_or_nothing is None else "all_or_nothing"
    sampling = FRESH if runs.examples.empty else Sampling("held_out")
    return [TaskFacts(task, dict(metrics), outcome, sampling) for task in dict.fromkeys(runs.trials["task"])]


def _seeds(trials: pd.DataFrame) -> dict[str, dict[str, list[int]]]:
    """Returns variant → task → the seeds of its runs."""
    seeds: dict[str, dict[str, list[int]]] = {}
    for (variant, task), of_runs in trials.groupby(KEY[:2], sort=False)["seed"]:
        seeds.setdefault(variant, {})[task] = of_runs.tolist()
    return seeds


def _lost_runs(trials: pd.DataFrame) -> list[LostRun]:
    """Returns the runs whose pairs are left out."""
    rows = trials[[*KEY, "ended"]].to_dict("records")
    return [
        LostRun(row["variant"], row["task"], int(row["seed"]), row["ended"].why, row["ended"].source)
        for row in rows
    ]


def _claims(
    options: AnalysisOptions,
    variants: Sequence[str],
    metrics: Mapping[str, Metric],
    tasks: Sequence[TaskFacts],
) -> Iterator[Claim]:
    """Yields the claims, which all count in the family. Raises `Invalid`."""
    design_variants = []
    for place, variant in enumerate(variants):
        setting = {"variant": variant}
        changes = setting if place else {}
        design_variants.append(Variant(variant, {"": setting}, changes))
    design = Design(design_variants, {}, ["variant"], OneFactor())
    context = StudyContext(metrics)
    derived_metrics = {
        name: derived.metric for name, derived in DERIVED.items() if not derived.lacks(context)
    }
    claimable = Claimable(
        {**metrics, **derived_metrics},
        conditions={
            task.name: {**task.metrics, **derived_metrics} for task in tasks if task.name_for_readers
        },
        along=options.along,
        scaled=list(metrics) if options.scale else [],
    )
    # The baseline as a whole word, and not after `on`, where it names a task.
    baseline = re.compile(rf"(?<!\S){re.escape(options.baseline)}(?!\S)(?=.* on )")
    with Gather() as at:
        for text in options.claim:
            with at("--claim"):
                named = _NAMED.sub(NAMED_BASELINE, text) if NAMED_BASELINE in variants else text
                claim_text = baseline.sub(BASELINE, named)
                yield replace(parse_claim(claim_text, design, claimable), declared=now())
