"""The answer to a study's question, in sentences: what differs, what is equivalent, and what is open.

It is in the past tense: what was found on these seeds, at these settings. Other seeds may find otherwise.
"""

from collections.abc import Iterator, Sequence

from ablate.analysis.family import crossed_levels
from ablate.analysis.learning import Learned, baseline_learned
from ablate.base import wording
from ablate.core.facts import StudyFacts, TaskFacts
from ablate.core.metric import Direction, Metric
from ablate.core.short_names import level_name
from ablate.core.spelling import spelled
from ablate.report.section import ReportData
from ablate.report.sentences.dependence import dependence_sentence, is_main_effect
from ablate.report.sentences.margin_words import margin_words
from ablate.report.sentences.reason_words import because
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.unequal_runs import of_which
from ablate.report.sentences.verdict_words import BETTER, EQUIVALENT, INCONCLUSIVE, WORSE, apart_from_zero
from ablate.report.tables.directions import is_share
from ablate.report.tables.verdicts import compared_with, names_of, planned_rows, row_name, shared_rate
from ablate.report.words import Row, decimals_of, from_to, is_rounding_error, message, number, rows_of, text

VERBS: dict[Direction, dict[str, str]] = {
    "max": {WORSE: "fell", BETTER: "rose"},
    "min": {WORSE: "rose (worse)", BETTER: "fell (better)"},
}
"""The direction of a metric → the verb of each verdict."""
MAX_LEVELS = 6
"""The levels of the baseline that a sentence names."""


def answers_by_task(report_data: ReportData) -> list[str]:
    """Returns the answer of a report: a paragraph on each task that has verdicts."""
    facts = report_data.facts
    rows = planned_rows(report_data.comparisons)
    interactions = rows_of(report_data.table("interactions"))
    not_learned = {}
    for learned in baseline_learned(report_data.evidence):
        if not learned.ok:
            not_learned[learned.task] = learned_words(learned, facts)
    paragraphs = []
    for task in facts.tasks:
        rows_of_task = [row for row in rows if row["task"] == task.name]
        if rows_of_task:
            dependence = dependence_sentence(interactions, task, facts, names_of(facts))
            paragraphs.append(
                answer_on_task(
                    rows_of_task,
                    task,
                    facts,
                    not_learned=not_learned.get(task.name, ""),
                    dependence=dependence,
                    wide_margin=margin_words(report_data, task),
                )
            )
    return paragraphs


def answer_on_task(
    rows: Sequence[Row],
    task: TaskFacts,
    facts: StudyFacts,
    *,
    not_learned: str = "",
    dependence: str = "",
    wide_margin: str = "",
) -> str:
    """Returns what differs, what is equivalent, and what is open on a task; the largest effect first.

    not_learned: what the baseline reached, where it did not learn the task. dependence: which changes interact, so that
    a main effect does not say what they do. wide_margin: why equivalence within the margin says little.
    """
    placebos = facts.placebos
    placebo_rows = [row for row in rows if row["variant"] in placebos]
    judged = [row for row in rows if row["variant"] not in placebos]
    judged.sort(key=lambda row: -abs(number(row["diff"]) or 0.0))
    metric = task.metrics[facts.metric]
    findings = _findings(judged, metric, facts)

    sentences = []
    if any(is_apart(row) for row in placebo_rows):
        sentences.append(message("answer.placebo"))
    if not_learned:
        sentences += _unlearned_baseline(not_learned, has_findings=bool(findings))
    sentences += findings
    # Of a baseline that did not learn, only differences say something.
    if findings or not not_learned:
        equivalences = _equivalences(judged, metric, facts)
        sentences += equivalences
        if equivalences and wide_margin:
            sentences.append(wide_margin)
        sentences += _inconclusive(judged, facts)
        if dependence:
            sentences.append(dependence)
    where = task.name if len(facts.tasks) > 1 else ""
    return message("answer.on_task", where, " ".join(sentences))


def _findings(judged: Sequence[Row], metric: Metric, facts: StudyFacts) -> list[str]:
    """Returns the sentences on what differs: main effects, variants, and what was solved."""
    main_effects, variants = _by_kind(judged, facts)
    return [
        *_effects(main_effects, metric, facts),
        *_effects(variants, metric, facts),
        *_solved(judged, facts),
    ]


def _equivalences(judged: Sequence[Row], metric: Metric, facts: StudyFacts) -> list[str]:
    """Returns the sentences on what is equivalent: main effects, then variants."""
    main_effects, variants = _by_kind(judged, facts)
    return [*_equivalent(main_effects, metric, facts), *_equivalent(variants, metric, facts)]


def _by_kind(judged: Sequence[Row], facts: StudyFacts) -> tuple[list[Row], list[Row]]:
    """Returns the rows of main effects, and those of variants."""
    main_effects = [row for row in judged if is_main_effect(row, facts)]
    variants = [row for row in judged if not is_main_effect(row, facts)]
    return main_effects, variants


def _unlearned_baseline(not_learned: str, *, has_findings: bool) -> Iterator[str]:
    """Yields that the baseline did not learn the task, what it reached, and what to do."""
    yield message("answer.not_learned", not_learned)
    if not has_findings:
        yield message("answer.no_answer")
    yield message("answer.make_it_learn")


def is_apart(row: Row) -> bool:
    """Returns whether a row has an interval without 0, or a verdict of a difference."""
    return row["verdict"] in (BETTER, WORSE) or bool(apart_from_zero(row))


def _effects(rows: Sequence[Row], metric: Metric, facts: StudyFacts) -> Iterator[str]:
    """Yields the sentence on what differs: `On 5 seeds, accuracy fell by 11 points without positions.`"""
    names = names_of(facts)
    # Whoever searches asks first what won.
    order = (BETTER, WORSE) if facts.plan.searched == "sweep" else (WORSE, BETTER)
    effects = []
    for verdict in order:
        sizes = []
        for row in rows:
            if row["verdict"] == verdict and number(row["solved_variant"]) is None:
                size = amount_in_words(abs(row["diff"]), metric, (row["ci_high"] - row["ci_low"]) / 2)
                sizes.append(message("answer.effect", size, row_name(row, names)))
        if sizes:
            effects.append(message("answer.moved", VERBS[metric.direction][verdict], sizes))
    if effects:
        yield message(
            "answer.effects", where_in_words(rows, facts), shared_rate(facts), spelled(facts.metric), effects
        )


def where_in_words(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns `On 5 seeds`: the runs that the comparisons rest on; of main effects, what they are means over."""
    counts = [int(row["n"]) for row in rows if row["n"]]
    code = replication_words(facts.replication).on
    if facts.is_given:
        return message(code, from_to(counts), of_which(rows))
    averaged = _averaged(rows, facts)
    if {*counts} == {1}:
        return message("answer.on_one_seed", of_which(rows), averaged)
    return message(code, from_to(counts), of_which(rows), averaged)


def _averaged(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns `averaged over the other factors` for rows that are main effects; else nothing."""
    if not rows or not is_main_effect(rows[0], facts):
        return ""
    _, *others = next(iter(crossed_levels(facts).values()))
    return message("answer.averaged", others)


def _solved(rows: Sequence[Row], facts: StudyFacts) -> Iterator[str]:
    """Yields the sentence on variants that solved the task on more or fewer seeds than the baseline."""
    names = names_of(facts)
    rated = [row for row in rows if number(row["solved_variant"]) is not None]
    counts = []
    for row in rated:
        if row["verdict"] in (BETTER, WORSE):
            solved = int(row["solved_variant"]) or "none"
            counts.append(message("answer.solving", solved, row_name(row, names)))
    if counts:
        first = rated[0]
        unit = facts.replication.run_name
        solved = int(first["solved_baseline"])
        yield message("answer.solved", solved, int(first["n"]), unit, first["task"], counts)


def _equivalent(rows: Sequence[Row], metric: Metric, facts: StudyFacts) -> Iterator[str]:
    """Yields the sentence on what is equivalent."""
    equivalent = equivalent_names(rows, facts)
    if equivalent:
        margin = amount_in_words(facts.margin or 0.0, metric)
        averaged = _averaged(rows, facts)
        if averaged:
            yield message("answer.equivalent_on_average", averaged, margin, equivalent)
            return
        yield message("answer.equivalent", margin, compared_with(facts) or "one another", equivalent)


def equivalent_names(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns the variants that are equivalent, each with the difference that its interval still shows."""
    names = names_of(facts)
    equivalent = []
    for row in rows:
        if row["verdict"] == EQUIVALENT:
            name = row_name(row, names)
            apart = apart_from_zero(row)
            equivalent.append(f"{name} ({apart})" if apart else name)
    return equivalent


def _inconclusive(rows: Sequence[Row], facts: StudyFacts) -> Iterator[str]:
    """Yields the sentence on what is open."""
    groups = open_groups(rows, facts)
    if groups:
        yield message("answer.inconclusive", groups)


def open_groups(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns the variants that are open, by the reasons why: `a and b (too few seeds)`."""
    names = names_of(facts)
    groups = []
    for reason, rows_of_reason in open_rows(rows, facts).items():
        variants = [row_name(row, names) for row in rows_of_reason]
        groups.append(message("answer.open", variants, reason))
    return groups


def open_rows(rows: Sequence[Row], facts: StudyFacts) -> dict[str, list[Row]]:
    """Returns reason in words → the rows that are open for it."""
    rows_by_reason: dict[str, list[Row]] = {}
    for row in rows:
        if row["verdict"] == INCONCLUSIVE:
            reason = because(text(row["reason"]), short=True, unit=facts.replication.run_name)
            rows_by_reason.setdefault(reason, []).append(row)
    return rows_by_reason


def amount_in_words(value: float, metric: Metric, uncertainty: float | None = None) -> str:
    """Returns `7 points` of a share such as an accuracy, `0.11` of a loss.

    To the first digit that the uncertainty touches, or exactly where there is none.
    """
    scale = 100 if is_share(metric) else 1
    if uncertainty is None or is_rounding_error(uncertainty, value):
        shown = wording.exact(scale * value)
    else:
        shown = wording.number(scale * value, max(0, decimals_of(scale * value, scale * uncertainty) - 1))
    return message("answer.points", shown) if is_share(metric) else shown


def baseline_line(facts: StudyFacts) -> str:
    """Returns what everything is compared with: its levels, its size and its tuned settings; else nothing."""
    names = names_of(facts)
    baseline = facts.variants[0]
    task = facts.tasks[0].name
    parts = [names[f"{path}={labels[0]}"] for path, labels in facts.factors.items()]
    if len(parts) > MAX_LEVELS:
        parts[MAX_LEVELS:] = [message("answer.more", len(parts) - MAX_LEVELS)]
    size = baseline.parameters.get(task)
    if size:
        parts.append(message("answer.size", size))
    # Settings differ between tasks, and a sentence has room for those of one.
    settings = baseline.tuned.get(task, {}) if len(facts.tasks) == 1 else {}
    if settings:
        parts.append(message("answer.tuned", [level_name(path, label) for path, label in settings.items()]))
    if not parts:
        return ""
    return message("answer.untuned_baseline" if facts.plan.searched == "sweep" else "answer.baseline", parts)


def learned_words(learned: Learned, facts: StudyFacts) -> str:
    """Returns `reached accuracy 0.962 on digits (guessing: 0.1)`, or how many of its runs solved the task."""
    metric = learned.metric
    if learned.solved:
        bound = "answer.at_most" if metric.direction == "min" else "answer.at_least"
        target = message(bound, learned.name, metric.solved)
        return message(
            "answer.reached_target", learned.task, *learned.solved, facts.replication.run_name, target
        )
    # Both as exact as the spread lets them be told.
    places = decimals_of(learned.mean, learned.spread)
    mean = wording.number(learned.mean, places)
    return message("answer.reached", learned.name, mean, learned.task, _guessing(metric, places))


def _guessing(metric: Metric, places: int) -> str:
    """Returns the value of guessing with at most so many decimals; with two digits where it would read 0."""
    floor = metric.floor or 0.0
    rounded = round(floor, places)
    return wording.significant(floor) if floor and not rounded else wording.exact(rounded)
