"""The answer of a study that is judged over conditions, in sentences: by their mean, or by every one of them."""

from collections.abc import Iterator, Sequence

from ablate.analysis.learning import baseline_learned
from ablate.core.facts import StudyFacts
from ablate.core.metric import Direction, Metric
from ablate.core.spelling import as_sentence, spelled
from ablate.report.section import ReportData
from ablate.report.sentences.answer import (
    VERBS,
    amount_in_words,
    equivalent_names,
    is_apart,
    open_groups,
    open_rows,
    where_in_words,
)
from ablate.report.sentences.margin_words import margin_words
from ablate.report.sentences.verdict_words import BETTER, EQUIVALENT, WORSE
from ablate.report.tables.condition_rows import num_conditions, scales_of_row, with_conditions
from ablate.report.tables.directions import primary_metric
from ablate.report.tables.over_conditions import split_in_words
from ablate.report.tables.verdicts import compared_with, names_of, planned_rows, row_name, shared_rate
from ablate.report.words import Row, is_true, message, number, text


def answer_over_conditions(report_data: ReportData) -> list[str]:
    """Returns one paragraph: what differs, what is equivalent, what is open, and whether conditions vary."""
    facts = report_data.facts
    rows = with_conditions(planned_rows(report_data.comparisons), report_data.table("conditions"))
    if not any(row["verdict"] for row in rows):
        return []
    placebos = facts.placebos
    judged = [row for row in rows if row["variant"] not in placebos]
    judged.sort(key=lambda row: -abs(number(row["diff"]) or 0.0))
    sentences = []
    if any(is_apart(row) for row in rows if row["variant"] in placebos):
        sentences.append(message("answer.placebo"))
    sentences += _not_learned(report_data)
    if facts.over.form == "every":
        sentences += _in_every(judged, facts)
    else:
        sentences += _on_average(judged, facts)
    if any(row["verdict"] == EQUIVALENT for row in judged):
        sentences += _wide_margin(report_data)
    return [" ".join(sentences)] if sentences else []


def _not_learned(report_data: ReportData) -> Iterator[str]:
    """Yields in which conditions the baseline did not learn, where there are any."""
    learned = baseline_learned(report_data.evidence)
    failed = [one.task for one in learned if not one.ok]
    if failed:
        yield message("conditions.not_learned", failed, len(report_data.facts.tasks))


def _wide_margin(report_data: ReportData) -> Iterator[str]:
    """Yields why equivalence within the margin says little, where it does in every condition."""
    words = [margin_words(report_data, task) for task in report_data.facts.tasks]
    if words and all(words) and not report_data.facts.over.scales:
        yield words[0]


# The mean


def _on_average(rows: Sequence[Row], facts: StudyFacts) -> Iterator[str]:
    """Yields what the means over conditions show, and that they do not show that conditions are alike."""
    if not rows:
        return
    names = names_of(facts)
    effects = []
    for verdict in (WORSE, BETTER):
        sizes = [_mean_effect(row, facts) for row in rows if row["verdict"] == verdict]
        if sizes:
            effects.append(message("answer.moved", VERBS[primary_metric(facts).direction][verdict], sizes))
    if effects:
        where = _where(rows, facts)
        yield message("answer.effects", where, shared_rate(facts), spelled(facts.metric), effects)
    on_average = _on_which_average(rows, facts)
    equivalent = equivalent_names(rows, facts)
    if equivalent:
        against = compared_with(facts) or "one another"
        yield message(
            "conditions.equivalent_on_average", on_average, _margin(rows, facts), against, equivalent
        )
    groups = open_groups(rows, facts)
    if groups:
        yield message("conditions.inconclusive_on_average", on_average, groups)
    varying = [row_name(row, names) for row in rows if is_true(row.get("varies"))]
    if varying:
        yield message("conditions.vary", varying)
    if len(varying) < len(rows):
        yield message("conditions.others_may_differ" if varying else "conditions.may_differ")


def _where(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns `On 5 seeds, on average over 26 conditions`; for a sample, the conditions that it speaks of."""
    count = num_conditions(rows, facts)
    if facts.over.form == "sample":
        return as_sentence(message("conditions.over_sample", count))
    over = message("conditions.over_mean", count)
    return message("conditions.where", where_in_words(rows, facts), over)


def _on_which_average(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns `on average`; for a sample, the conditions that it speaks of."""
    if facts.over.form == "sample":
        return message("conditions.over_sample", num_conditions(rows, facts))
    return message("conditions.on_average")


def _mean_effect(row: Row, facts: StudyFacts) -> str:
    """Returns `by 0.05 with a (17 better, 0 worse of 26)`."""
    uncertainty = (row["ci_high"] - row["ci_low"]) / 2
    size = _amount(abs(row["diff"]), row, facts, uncertainty)
    return message("conditions.mean_effect", size, row_name(row, names_of(facts)), split_in_words(row))


def _amount(value: float, row: Row, facts: StudyFacts, uncertainty: float | None = None) -> str:
    """Returns a difference in words; where conditions have scales, in these."""
    if not scales_of_row(row) or facts.over.form == "every":
        return amount_in_words(value, primary_metric(facts), uncertainty)
    unitless = Metric(primary_metric(facts).direction)
    return message("conditions.scaled", amount_in_words(value, unitless, uncertainty))


def _margin(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the margin in words."""
    return _amount(facts.margin or 0.0, rows[0], facts)


# Every one


def _in_every(rows: Sequence[Row], facts: StudyFacts) -> Iterator[str]:
    """Yields what holds in every condition, and what does not, with the condition that decides."""
    effects = []
    for verdict in (WORSE, BETTER):
        held = [_effect_in_every(row, facts) for row in rows if row["verdict"] == verdict]
        if held:
            effects.append(message("conditions.moved", _verb(verdict, facts), held))
    if effects:
        where = where_in_words(rows, facts)
        count = num_conditions(rows, facts)
        yield message("conditions.effects_in_every", where, spelled(facts.metric), count, effects)
    names = names_of(facts)
    equivalent = [row_name(row, names) for row in rows if row["verdict"] == EQUIVALENT]
    if equivalent:
        against = compared_with(facts) or "one another"
        yield message("conditions.equivalent_in_every", _margin(rows, facts), against, equivalent)
    groups = _open_in_every(rows, facts)
    if groups:
        yield message("conditions.inconclusive_in_every", groups)


def _verb(verdict: str, facts: StudyFacts) -> str:
    """Returns the verb of a verdict, which names no direction where less is better in only some conditions."""
    directions: set[Direction] = set()
    for task in facts.tasks:
        if facts.metric in task.metrics:
            directions.add(task.metrics[facts.metric].direction)
    return VERBS[directions.pop()][verdict] if len(directions) == 1 else message("conditions.was", verdict)


def _effect_in_every(row: Row, facts: StudyFacts) -> str:
    """Returns `with muon (least clearly in w256, by 0.02)`."""
    name = row_name(row, names_of(facts))
    condition = text(row.get("deciding"))
    low = number(row.get("ci_low"))
    high = number(row.get("ci_high"))
    size = number(row["diff"])
    if not condition or size is None or low is None or high is None:
        return message("conditions.effect_in_every", name, "", "")
    amount = _amount(abs(size), row, facts, (high - low) / 2)
    return message("conditions.effect_in_every", name, condition, amount)


def _open_in_every(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns the variants that are open, by the reasons why: `a (0 better, 2 worse of 3; w256 decides)`."""
    names = names_of(facts)
    groups = []
    for reason, rows_of_reason in open_rows(rows, facts).items():
        variants = []
        for row in rows_of_reason:
            deciding = "" if row["reason"] == "varies" else text(row.get("deciding"))
            variants.append(
                message("conditions.open_in", row_name(row, names), split_in_words(row), deciding)
            )
        groups.append(message("conditions.open_in_every", variants, reason))
    return groups
