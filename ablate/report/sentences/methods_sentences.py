"""The sentences on methods: what was compared, on which data, how it was judged, and what became of the runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ablate.analysis.comparison_row import ALSO
from ablate.analysis.family import family_size
from ablate.analysis.runs import Side, runs_of, solving_metric
from ablate.core.derived import DERIVED
from ablate.core.facts import StudyFacts, TaskFacts
from ablate.report.section import ReportData
from ablate.report.sentences.conditions_methods import conditions_sentences
from ablate.report.sentences.data_words import (
    chosen_by_judged,
    pairs_share_data,
    pool_codes,
    split_codes,
    stated_of,
    step_words,
)
from ablate.report.sentences.dependence import is_main_effect
from ablate.report.sentences.levels import family_in_words
from ablate.report.sentences.provenance_words import provenance_words
from ablate.report.sentences.replication_words import replication_words
from ablate.report.tables.verdicts import planned_rows, shared_rate
from ablate.report.words import from_to, message, text

SPLITS: Mapping[tuple[str, ...], str] = {
    ("split_builtin",): "methods.held_out_split_anew",
    ("split_builtin_fixed",): "methods.held_out_one_split",
}
"""The splits of built-in tasks → the sentence on their test examples."""
COMMIT_LENGTH = 10


def comparison_sentences(report_data: ReportData) -> Iterator[str]:
    """Yields what was compared, on which data, by which tests, and what became of the runs."""
    facts = report_data.facts
    if facts.is_given:
        yield message(replication_words(facts.replication).compared, _num_variants(facts))
    else:
        yield _design(facts)
        yield from _comparisons(report_data)
        yield from _choice_of_seeds(report_data)
        yield from _data(facts)
        yield from _judged_number(report_data)
    yield from _tests(report_data)
    yield from conditions_sentences(report_data)
    yield from _family(report_data)
    yield from _outcomes(report_data)
    yield from _tuning(facts)


def _num_variants(facts: StudyFacts) -> int:
    """Returns the number of variants beside the baseline, without placebos."""
    return len(facts.variants) - 1 - len(facts.placebos)


def _design(facts: StudyFacts) -> str:
    """Returns how many variants and seeds there are, and what runs of one seed share."""
    if stated_of(facts) is not None:
        sentence = "methods.run"
    elif pairs_share_data(facts):
        sentence = "methods.trained"
    else:
        sentence = "methods.trained_on_changed_tasks"
    where = ""
    if len(facts.tasks) > 1:
        code = "conditions.in_each" if facts.over.joins_conditions else "methods.on_each_task"
        where = message(code, len(facts.tasks))
    counts: list[int] = []
    for variant in facts.variants:
        counts += [len(facts.seeds_of(variant.name, task.name)) for task in facts.tasks]
    return message(sentence, _num_variants(facts), from_to(counts), where)


def _comparisons(report_data: ReportData) -> Iterator[str]:
    """Yields what is compared beside single variants with the baseline: levels of a factorial, a placebo."""
    facts = report_data.facts
    if any(is_main_effect(row, facts) for row in planned_rows(report_data.comparisons)):
        yield message("methods.main_effects")
    if facts.placebos:
        yield message("methods.placebo")


def _choice_of_seeds(report_data: ReportData) -> Iterator[str]:
    """Yields how the number of seeds was chosen, where a plan of the study shows it."""
    facts = report_data.facts
    if facts.plan.looks:
        yield message("methods.looks", facts.plan.looks)
        return
    replanned = facts.plan.replanned
    if replanned is not None and (replanned.known or replanned.changes_path("seeds")):
        return
    if report_data.dated:
        yield message("methods.fixed_seeds", report_data.dated[:10])


def _data(facts: StudyFacts) -> Iterator[str]:
    """Yields which examples runs share, and how they were split."""
    pools = pool_codes(facts)
    splits = split_codes(facts)
    if "fresh" in pools:
        yield message("methods.fresh")
    if "held_out" in pools:
        yield message(SPLITS.get(tuple(splits), "methods.held_out"))
    if "resplit" in pools:
        yield message("methods.resplit")
    if "stated_held_out" in pools:
        yield message("methods.stated_held_out")
    elif "not_stated" in pools:
        yield message("methods.test_not_stated")
    if "split_fixed" in splits:
        yield message("methods.split_fixed")
    elif "split_each_seed" in splits:
        yield message("methods.split_each_seed")
    elif stated_of(facts) is not None:
        yield message("methods.split_not_stated")


def _judged_number(report_data: ReportData) -> Iterator[str]:
    """Yields the number by which a run is judged, and whether settings were chosen by it."""
    facts = report_data.facts
    judged = "methods.judged_on_test_data" if stated_of(facts) is None else "methods.judged"
    yield message(judged, facts.metric, step_words(facts))
    if chosen_by_judged(report_data.evidence):
        is_stated = "stated_held_out" in pool_codes(facts)
        yield message("methods.chosen_though_stated" if is_stated else "methods.chosen_by_judged")


def _tests(report_data: ReportData) -> Iterator[str]:
    """Yields what has solved a task, which tests judge differences, and what their verdicts mean."""
    facts = report_data.facts
    by_rate = [task for task in facts.tasks if task.outcome == "all_or_nothing"]
    solved: dict[str, None] = {}
    for task in by_rate:
        # Of conditions that all have one value, this is said once.
        named = replace(task, name=message("conditions.its_task")) if facts.over.joins_conditions else task
        solved |= dict.fromkeys(_solved(named, facts))
    yield from solved
    if len(by_rate) < len(facts.tasks):
        yield message(_interval_test(report_data))
    if solved:
        yield message("methods.exact_test", facts.replication.run_name)
    if any(ALSO in text(row["settings"]) for row in planned_rows(report_data.comparisons)):
        yield message("methods.runner_ups")
    if facts.margin is None:
        yield message("methods.verdicts")
    else:
        yield message("methods.verdicts_with_margin", facts.margin)


def _solved(task: TaskFacts, facts: StudyFacts) -> Iterator[str]:
    """Yields the value of the metric from which a run has solved a task."""
    name = solving_metric(task, facts.metric)
    if name:
        metric = task.metrics[name]
        bound = "methods.solved_to" if metric.direction == "min" else "methods.solved_from"
        yield message(bound, task.name, name, metric.solved)


def _interval_test(report_data: ReportData) -> str:
    """Returns the code of the sentence on intervals: over seeds or runs, over examples, or over documents."""
    words = replication_words(report_data.facts.replication)
    examples = report_data.evidence.examples
    if "source" in examples:
        return words.interval_with_sources
    return words.interval_with_examples if len(examples) else words.interval


def _family(report_data: ReportData) -> Iterator[str]:
    """Yields the level of the intervals, and what is judged otherwise."""
    facts = report_data.facts
    size = family_size(facts)
    if facts.family == "ordered":
        yield message("conditions.family_in_order")
    elif facts.family == "claims":
        yield message("conditions.family_of_claims", size)
    elif size > 1:
        share = message("methods.share_of_look") if facts.plan.looks else ""
        num_comparisons = len(planned_rows(report_data.comparisons))
        members = family_in_words(num_comparisons, size, replication_words(facts.replication).comparison)
        yield message("methods.family", members, size > num_comparisons, size, share)
    else:
        yield message("methods.one_with_looks" if facts.plan.looks else "methods.one_interval")
    claimed = {DERIVED[claim.metric].kind for claim in facts.claims if claim.metric in DERIVED}
    if "spread" in claimed:
        yield message("methods.spreads", facts.replication.run_name)
    if facts.family == "all":
        yield message("methods.exploratory")


def _outcomes(report_data: ReportData) -> Iterator[str]:
    """Yields how many runs diverged, were left out, or are missing."""
    facts = report_data.facts
    sides = runs_of(report_data.evidence).sides()
    num_runs = sum(int(side.asked.sum()) for side in sides)
    yield _diverged(sides, num_runs, facts)
    if facts.lost:
        yield message("methods.lost", len(facts.lost))
    missing = sum(side.missing for side in sides)
    if missing:
        yield message("methods.missing", missing, num_runs)


def _diverged(sides: Sequence[Side], num_runs: int, facts: StudyFacts) -> str:
    """Returns how many runs diverged, and with what they count."""
    diverged = sum(side.diverged for side in sides)
    if diverged:
        counted = "methods.diverged_at_floor" if _have_floors(facts) else "methods.diverged"
        return message(counted, diverged, num_runs)
    return message(provenance_words(facts).none_diverged, num_runs)


def _have_floors(facts: StudyFacts) -> bool:
    """Returns whether the primary metric has a floor, with which diverged runs count, on all tasks."""
    judged = [task.metrics[facts.metric] for task in facts.tasks if facts.metric in task.metrics]
    return all(metric.floor is not None for metric in judged)


def _tuning(facts: StudyFacts) -> Iterator[str]:
    """Yields what was not tuned, where nothing was."""
    rate = shared_rate(facts)
    is_tuned = bool(facts.plan.searched) or any(variant.tuned for variant in facts.variants)
    if rate:
        yield message("methods.one_rate", rate)
    elif not is_tuned and not facts.is_given:
        yield message("methods.not_tuned")


def environment_sentences(facts: StudyFacts) -> Iterator[str]:
    """Yields with what a study was made, as far as it is known."""
    environment = facts.environment
    versions = environment.get("versions", {})
    shown = [message("methods.version", name, version) for name, version in versions.items()]
    if facts.is_given:
        declared = facts.declared
        made_with = message("methods.given_as", declared) if declared else message("methods.not_stated")
        yield message("methods.analysed_with", shown, made_with)
    elif environment:
        parts = [", ".join(shown)] if shown else []
        parts += _commits(environment)
        parts.append(environment.get("machine") or message("methods.unknown_machine"))
        yield message("methods.made_with" if stated_of(facts) is None else "methods.ran_with", parts)


def _commits(environment: Mapping[str, Any]) -> Iterator[str]:
    """Yields the commits of the code and of ablate, as far as they are known."""
    commit = environment.get("commit")
    if commit:
        is_changed = environment.get("dirty")
        yield message("methods.changed_commit" if is_changed else "methods.commit", commit[:COMMIT_LENGTH])
    of_ablate = environment.get("ablate_commit")
    if of_ablate:
        is_changed = environment.get("ablate_dirty")
        code = "methods.changed_commit_of_ablate" if is_changed else "methods.commit_of_ablate"
        yield message(code, of_ablate[:COMMIT_LENGTH])
