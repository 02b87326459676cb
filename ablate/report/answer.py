"""The answer to a study's question, in sentences: what differs, what is equivalent, and what is open.

It is in the past tense: what was found on these seeds, at these settings. Other seeds may find otherwise.
"""

from collections.abc import Sequence

from ablate.analysis.learning import Learned, baseline_learned
from ablate.base import wording
from ablate.core.facts import StudyFacts, TaskFacts
from ablate.core.metric import Direction, Metric
from ablate.core.short_names import level_name
from ablate.core.spelling import spelled
from ablate.report.section import ReportData
from ablate.report.verdict_words import apart_from_zero
from ablate.report.verdicts import compared_with, is_share, names_of, planned_rows, row_name, shared_rate
from ablate.report.words import Row, because, message, number, text

BETTER = "better"
WORSE = "worse"
EQUIVALENT = "equivalent"
INCONCLUSIVE = "inconclusive"
VERBS: dict[Direction, dict[str, str]] = {
    "max": {WORSE: "fell", BETTER: "rose"},
    "min": {WORSE: "rose (worse)", BETTER: "fell (better)"},
}
"""The direction of a metric → the verb of each verdict."""


def answers_by_task(report_data: ReportData) -> list[str]:
    """Returns a paragraph on each task that has verdicts."""
    facts = report_data.facts
    rows = planned_rows(report_data.comparisons)
    not_learned = {}
    for learned in baseline_learned(report_data.evidence):
        if not learned.ok:
            not_learned[learned.task] = learned_words(learned, facts)
    paragraphs = []
    for task in facts.tasks:
        rows_of_task = [row for row in rows if row["task"] == task.name]
        if rows_of_task:
            paragraphs.append(answer_on_task(rows_of_task, task, facts, not_learned.get(task.name, "")))
    return paragraphs


def answer_on_task(rows: Sequence[Row], task: TaskFacts, facts: StudyFacts, not_learned: str = "") -> str:
    """Returns what differs, what is equivalent, and what is open on a task; the largest effect first.

    not_learned: what the baseline reached, where it did not learn the task.
    """
    placebos = [variant.name for variant in facts.variants if variant.placebo]
    placebo_rows = [row for row in rows if row["variant"] in placebos]
    judged = [row for row in rows if row["variant"] not in placebos]
    judged.sort(key=lambda row: -abs(number(row["diff"]) or 0.0))
    metric = task.metrics[facts.metric]
    rated = [row for row in judged if number(row["solved_variant"]) is not None]
    return message(
        "answer.task",
        task=task.name if len(facts.tasks) > 1 else "",
        placebo=any(_is_apart(row) for row in placebo_rows),
        not_learned=not_learned,
        metric=spelled(facts.metric),
        seeds=sorted({int(row["n"]) for row in judged if row["n"]}),
        rate=shared_rate(facts),
        effects=_effects(judged, metric, facts),
        solved=_solved(judged, facts),
        baseline=rated[0] if rated else {},
        margin=_amount(facts.margin or 0.0, metric),
        against=compared_with(facts),
        equivalent=_equivalent(judged, facts),
        inconclusive=_inconclusive(judged, facts),
        given=facts.given,
    )


def _is_apart(row: Row) -> bool:
    """Returns whether a row has an interval without 0, or a verdict of a difference."""
    return row["verdict"] in (BETTER, WORSE) or bool(apart_from_zero(row))


def _effects(rows: Sequence[Row], metric: Metric, facts: StudyFacts) -> list[tuple[str, list[str]]]:
    """Returns `fell` with `by 11 points without positions`, and so on, for each verdict of a difference."""
    names = names_of(facts)
    # Whoever searches asks first what won.
    order = (BETTER, WORSE) if facts.searched == "sweep" else (WORSE, BETTER)
    effects = []
    for verdict in order:
        sizes = []
        for row in rows:
            if row["verdict"] == verdict and number(row["solved_variant"]) is None:
                size = _amount(abs(row["diff"]), metric, (row["ci_high"] - row["ci_low"]) / 2)
                sizes.append(message("answer.effect", size, row_name(row, names)))
        if sizes:
            effects.append((VERBS[metric.direction][verdict], sizes))
    return effects


def _solved(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns `3 without positions` for each variant that solved the task on more or fewer seeds."""
    names = names_of(facts)
    counts = []
    for row in rows:
        solved = number(row["solved_variant"])
        if row["verdict"] in (BETTER, WORSE) and solved is not None:
            counts.append(message("answer.solving", int(solved), row_name(row, names)))
    return counts


def _equivalent(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns the names of what is equivalent, each with the difference that its interval still shows."""
    names = names_of(facts)
    equivalent = []
    for row in rows:
        if row["verdict"] == EQUIVALENT:
            name = row_name(row, names)
            apart = apart_from_zero(row)
            equivalent.append(f"{name} ({apart})" if apart else name)
    return equivalent


def _inconclusive(rows: Sequence[Row], facts: StudyFacts) -> list[tuple[str, list[str]]]:
    """Returns the reasons why comparisons are open, each with the names of what it is about."""
    names = names_of(facts)
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row["verdict"] == INCONCLUSIVE:
            reason = because(text(row["reason"]), short=True, unit=facts.unit)
            reasons.setdefault(reason, []).append(row_name(row, names))
    return list(reasons.items())


def _amount(value: float, metric: Metric, uncertainty: float | None = None) -> str:
    """Returns `7 points` of a share such as an accuracy, `0.11` of a loss.

    To the first digit that the uncertainty touches, or exactly where there is none.
    """
    scale = 100 if is_share(metric) else 1
    shown = wording.exact(scale * value)
    if uncertainty is not None:
        shown = wording.number(scale * value, max(0, wording.decimals(scale * uncertainty) - 1))
    return message("answer.points", shown) if is_share(metric) else shown


def baseline_line(facts: StudyFacts) -> str:
    """Returns what everything is compared with: its levels, its size and its tuned settings; else nothing."""
    names = names_of(facts)
    baseline = facts.variants[0]
    task = facts.tasks[0].name
    levels = [names[f"{path}={labels[0]}"] for path, labels in facts.factors.items()]
    # Settings differ between tasks, and a sentence has room for those of one.
    settings = baseline.tuned.get(task, {}) if len(facts.tasks) == 1 else {}
    tuned = [level_name(path, label) for path, label in settings.items()]
    size = baseline.parameters.get(task)
    if not (levels or tuned or size):
        return ""
    return message("answer.baseline", levels, size, tuned, facts.searched == "sweep")


def learned_words(learned: Learned, facts: StudyFacts) -> str:
    """Returns `reached accuracy 0.962 on digits (guessing: 0.1)`, or how many of its runs solved the task."""
    # As exact as its spread lets it be told.
    mean = wording.number(learned.mean, wording.decimals(learned.spread))
    return message("answer.learned", learned, mean, facts.unit)
