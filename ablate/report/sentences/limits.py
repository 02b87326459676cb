"""The limits of the verdicts of a study, in sentences: warnings that everybody reads, and what verdicts rest on."""

from collections.abc import Iterator, Sequence

from ablate.analysis.chosen_values import variants_with_chosen_values
from ablate.analysis.learning import Learned, baseline_learned, improving_sides
from ablate.analysis.runs import runs_of
from ablate.core.data_statement import NOT_STATED
from ablate.core.facts import BASELINE, Evidence, StudyFacts
from ablate.report.section import ReportData
from ablate.report.sentences.answer import learned_words
from ablate.report.sentences.data_words import chosen_by_judged, is_held_out, pool_codes, stated_of
from ablate.report.sentences.improving_words import variants_with_tasks
from ablate.report.sentences.replication_words import replication_words
from ablate.report.tables.verdicts import names_of, planned_rows, shared_rate
from ablate.report.words import Row, message


def gaps(evidence: Evidence) -> Iterator[str]:
    """Yields that no run of the baseline has an outcome, and how many of the planned runs are missing."""
    sides = runs_of(evidence).sides()
    if not any(side.ended.any() for side in sides if side.variant == BASELINE):
        yield message("limits.no_baseline")
    missing = sum(side.missing for side in sides)
    if missing:
        yield message("limits.missing", missing, evidence.facts.planned)


def training_warnings(report_data: ReportData) -> Iterator[str]:
    """Yields what may change with longer training or other settings: unfinished trainings, rates that nothing tuned."""
    evidence = report_data.evidence
    facts = report_data.facts
    has_verdicts = bool(planned_rows(report_data.comparisons)) or len(report_data.claims) > 0
    if evidence.only_measured or not has_verdicts:
        return
    variants = [variant.name for variant in facts.variants]
    improving = improving_sides(runs_of(evidence), variants, [task.name for task in facts.tasks])
    if improving and len(improving) == len(variants) * len(facts.tasks) and len(variants) > 1:
        yield message("limits.all_improving")
    elif improving:
        yield message("limits.improving", variants_with_tasks(improving, facts, names_of(facts)))
    rate = shared_rate(facts)
    if rate:
        yield message("limits.rate", rate)
    if facts.rates:
        yield _rates_line(facts)
    if chosen_by_judged(evidence):
        code = "limits.chosen_though_stated" if is_held_out(facts) else "limits.chosen_by_judged"
        yield message(code, facts.metric)
    yield from _chosen_values_lines(evidence)
    groups = [task.name for task in facts.tasks if runs_of(evidence).suspect(task, facts.metric)]
    if groups:
        yield message("limits.groups", [name for name in groups if name], facts.replication.run_name)


def _chosen_values_lines(evidence: Evidence) -> Iterator[str]:
    """Yields the variants whose runs of a user's own code end with the best value that they had before."""
    facts = evidence.facts
    stated = stated_of(facts)
    if stated is None or stated.by:
        return
    names = names_of(facts)
    tasks_by_variants: dict[tuple[str, ...], list[str]] = {}
    for task in facts.tasks:
        variants = (*variants_with_chosen_values(evidence, task),)
        if variants:
            tasks_by_variants.setdefault(variants, []).append(task.name)
    for variants, tasks in tasks_by_variants.items():
        named = [names[variant] for variant in variants]
        yield message("limits.chosen_values", facts.metric, named, [task for task in tasks if task])


def _rates_line(facts: StudyFacts) -> str:
    """Returns the learning rate of the baseline, and that of each variant that has another."""
    names = names_of(facts)
    baseline = facts.rates.get(facts.variants[0].name, "")
    variants_by_rate: dict[str, list[str]] = {}
    for variant, rate in facts.rates.items():
        if rate != baseline:
            variants_by_rate.setdefault(rate, []).append(names[variant])
    others = [message("limits.rate_of", rate, variants) for rate, variants in variants_by_rate.items()]
    return message("limits.rates", baseline, others)


def basis(report_data: ReportData) -> Iterator[str]:
    """Yields whether the baseline learned, and what else the verdicts rest on."""
    facts = report_data.facts
    learned = baseline_learned(report_data.evidence)
    if not facts.over.joins_conditions:
        told = [learned_words(one, facts) for one in learned if one.ok]
        if told:
            yield message("limits.learned", told)
    else:
        yield from _conditions_lines(learned, facts)
    if facts.family != "all":
        yield from _chance_lines(planned_rows(report_data.comparisons), facts)
    if not learned and facts.replication.has_runs:
        yield message("limits.unknown_learned")
    if facts.plan.left_out:
        yield message("limits.left_out", facts.plan.left_out)
    if facts.plan.looks:
        most = facts.plan.looks[-1] * len(facts.variants) * len(facts.tasks)
        yield message("limits.looks", facts.plan.looks, facts.planned, most)
    rests_on = replication_words(facts.replication).rests_on
    if rests_on:
        yield message(rests_on)
    yield from _data_lines(facts)


def _conditions_lines(learned: Sequence[Learned], facts: StudyFacts) -> Iterator[str]:
    """Yields in how many conditions the baseline learned, and of which conditions the verdicts speak."""
    num_learned = sum(one.ok for one in learned)
    if learned:
        yield message("conditions.learned", num_learned, len(learned))
    if facts.over.form == "sample":
        yield message("conditions.like_these")
    else:
        yield message("conditions.these_conditions", len(facts.tasks))


def _chance_lines(rows: Sequence[Row], facts: StudyFacts) -> Iterator[str]:
    """Yields how often intervals of rows without a verdict would exclude 0 by chance."""
    num_rows = len([row for row in rows if row["variant"] not in facts.placebos])
    if num_rows > 1:
        yield message("conditions.rows_by_chance", num_rows)


def _data_lines(facts: StudyFacts) -> Iterator[str]:
    """Yields what is known of the data behind the verdicts."""
    data = pool_codes(facts)
    for code in ("held_out", "by_example", "stated_held_out", "resplit"):
        is_of_documents = code == "by_example" and facts.replication.unit == "document"
        if code in data and not is_of_documents:
            yield message(f"limits.{code}")
    if NOT_STATED in data:
        yield message("limits.not_stated", "run" if facts.is_given else "seed")
