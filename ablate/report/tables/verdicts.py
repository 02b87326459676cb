"""The verdicts of a study as tables: the same for page, markdown, terminal and MLflow.

Made of frames or of the rows of CSV files; imports neither pandas nor matplotlib.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ablate.analysis.comparison_row import ALSO
from ablate.core.dated_plan import ADDED, CHANGED, KNOWN
from ablate.core.facts import ALL_PAIRS, BASELINE, StudyFacts
from ablate.core.metric import Direction
from ablate.core.short_names import in_short_names, level_name, short_names
from ablate.core.spelling import as_sentence, spelled
from ablate.report.sentences.dependence import dependence_column
from ablate.report.sentences.improving_words import improving_column, improving_in_caption
from ablate.report.sentences.levels import family, family_in_words, level_of
from ablate.report.sentences.lost_runs import left_out_column
from ablate.report.sentences.reason_words import because
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.resolution_words import resolution_column
from ablate.report.sentences.treatment_words import (
    are_treated_alike,
    size_column,
    treatment_column,
    treatment_in_caption,
)
from ablate.report.sentences.unequal_runs import of_which, unequal_column
from ablate.report.sentences.verdict_words import verdict_column
from ablate.report.tables.directions import better_word, direction_of, own_direction
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    decimals,
    difference,
    fixed,
    from_to,
    is_true,
    message,
    number,
    rows_of,
    significant,
    tabulated,
    text,
)

OPEN = "open"  # The reason of a comparison that more seeds may settle.
UNSEEN = "unseen "  # The reason of what is equivalent: what that does not exclude.
# The plan mark of a row → its words.
PLAN_MARKS = {
    CHANGED: "replanned.mark_changed",
    ADDED: "replanned.mark_added",
    KNOWN: "replanned.mark_known",
}
Names = Mapping[str, str]  # Variant → its name for readers.


def names_of(facts: StudyFacts) -> Names:
    """Returns the names of variants, and of the levels that a factorial compares; no two levels share one."""
    level_names: dict[str, str] = {}
    for path, levels in facts.factors.items():
        for level in levels:
            name = f"{path}={level}"
            level_names[name] = facts.labels.get(name) or level_name(path, level)
    counts = Counter(level_names.values())
    names = {name: short if counts[short] == 1 else name for name, short in level_names.items()}
    names |= short_names(facts)
    if facts.compare == ALL_PAIRS:
        # Where not all are compared with one, a row is named by both.
        variants = [variant.name for variant in facts.variants]
        for a, b in itertools.permutations(variants, 2):
            names[f"{a} vs {b}"] = f"{names[a]} vs {names[b]}"
    return names


def row_name(row: Row, names: Names) -> str:
    """Returns the variant of a row, and what it is compared with where `names` has both."""
    pair = f"{row['variant']} vs {row.get('baseline')}"
    return text(names.get(pair) or names.get(row["variant"], row["variant"]))


def compared_with(facts: StudyFacts) -> str:
    """Returns `the baseline`, or what a study compares its variants with in its place; "" where it is all others."""
    if facts.compare == ALL_PAIRS:
        return ""
    if facts.compare == BASELINE:
        return "the baseline"
    return short_names(facts).get(facts.compare, facts.compare)


def shared_rate(facts: StudyFacts) -> str:
    """Returns the learning rate that all variants share and nothing has tuned: `learning rate 0.003`; else nothing."""
    name, _, value = facts.rate.rpartition(" ")
    return f"{spelled(name)} {value}" if name else facts.rate


def planned_rows(comparisons: Any) -> list[Row]:
    """Returns the rows of a frame, or of mappings, that the study planned: those of its verdicts.

    Where claims alone are judged, they have none.
    """
    return [row for row in rows_of(comparisons) if not is_true(row.get("exploratory"))]


def verdict_tables(comparisons: Any, facts: StudyFacts, interactions: Any = ()) -> Iterator[Table]:
    """Yields the planned comparisons, a table a task, with what they hold at that was not tuned.

    interactions: the rows of `analysis.interactions`, as a frame or as mappings; main effects have notes of them.
    """
    rows = planned_rows(comparisons)
    has_several = len({row["task"] for row in rows}) > 1
    for task, metric in dict.fromkeys((row["task"], row["metric"]) for row in rows):
        judged = [row for row in rows if row["task"] == task and row["metric"] == metric]
        caption = _caption(judged, facts, task=text(task) if has_several else "")
        caption += notes_in_caption(rows, judged, facts)
        columns = verdict_columns(judged, facts)
        columns.append(dependence_column(facts, rows_of(interactions), names_of(facts)))
        yield tabulated(columns, judged, caption, "comparisons.csv")


def notes_in_caption(rows: Sequence[Row], shown: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the end of a caption: of what its numbers are corrected for, and what they hold at.

    rows: all that are judged; shown: those of the table.
    """
    caption = _corrected(rows, facts)
    if facts.family != "all":
        caption += message("verdicts.claims_alone")
    if any(ALSO in text(row.get("settings")) for row in shown):
        caption += message("verdicts.over_settings")
    caption += _unseen(shown)
    caption += treatment_in_caption(shown, facts)
    caption += improving_in_caption(shown, facts)
    return caption + marks_in_caption(shown)


def verdict_columns(rows: Sequence[Row], facts: StudyFacts) -> list[Column]:
    """Returns the columns of a table of verdicts."""
    is_rated = all(number(row.get("solved_variant")) is not None for row in rows)
    heading = (
        as_sentence(f"{facts.replication.run_name}s solved") if is_rated else f"Difference [{level_of(rows)}]"
    )
    columns = [variant_column(names_of(facts)), verdict_column(facts), difference_column(facts, heading)]
    size = size_column(rows, facts)
    if size is not None:
        columns.append(size)
    columns.append(pairs_column(facts))
    columns += mean_columns(spare=True)
    columns.append(treatment_column(shown=not are_treated_alike(rows, facts)))
    columns.append(unequal_column(facts, names_of(facts)))
    columns.append(improving_column(rows, facts, names_of(facts)))
    columns.append(reason_column(facts, marked=not are_marked_alike(rows)))
    columns += [left_out_column(facts), resolution_column()]
    return columns


def _caption(rows: Sequence[Row], facts: StudyFacts, *, task: str) -> str:
    """Returns what the rows of a table compare, in which metric, and over how many seeds or runs."""
    first = rows[0]
    sample = message(replication_words(facts.replication).over, num_pairs(rows), of_which(rows))
    better = better_word(direction_of(facts, first["task"], first["metric"]))
    compared = compared_in_words(first, facts)
    return message("verdicts.caption", compared, spelled(text(first["metric"])), task, sample, better)


def compared_in_words(row: Row, facts: StudyFacts) -> str:
    """Returns what a table like that of this row compares: `Each variant against the baseline`."""
    against = compared_with(facts)
    if facts.compare == BASELINE != text(row["baseline"]):
        return message("verdicts.each_level")
    if against:
        return message("verdicts.each_variant", against)
    return message("verdicts.every_pair")


def num_pairs(rows: Sequence[Row]) -> str:
    """Returns `5` or `3 to 5`: over how many pairs the rows of a table are; `0` where no row has one.

    A row without one, beside others, says why below the table.
    """
    counts = [int(number(row["n"]) or 0) for row in rows]
    return from_to([count for count in counts if count] or [0])


def _corrected(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the end of a caption that counts the comparisons and claims of the family; "" of one alone."""
    size = family(rows, len(facts.plan.looks))
    return message("verdicts.corrected", family_in_words(len(rows), size)) if size > 1 else ""


def _unseen(rows: Sequence[Row]) -> str:
    """Returns the end of a caption that says what `equivalent` does not exclude: said once, for all rows."""
    reasons = {text(row.get("reason")) for row in rows}
    unseen = [reason for reason in reasons if reason.startswith(UNSEEN)]
    return message("verdicts.unseen", because(max(unseen))) if unseen else ""


def plan_mark(row: Row) -> str:
    """Returns `changed after results`, `added after results` or `planned after results` for a row; else ""."""
    mark = text(row.get("plan"))
    return message(PLAN_MARKS[mark]) if mark else ""


def marks_in_caption(rows: Sequence[Row]) -> str:
    """Returns the end of a caption that counts the rows not as first planned; "" where all are."""
    marks = [plan_mark(row) for row in rows if plan_mark(row)]
    if not marks:
        return ""
    if are_marked_alike(rows):
        return message("replanned.all_marked", marks[0])
    return message("replanned.some_marked", len(marks), len(rows))


def are_marked_alike(rows: Sequence[Row]) -> bool:
    """Returns whether all rows of a table have the same plan mark, which is then said once."""
    return len({plan_mark(row) for row in rows}) == 1


def variant_column(names: Names) -> Column:
    """Returns the column of the variant of a row, by its name for readers."""
    return Column("variant", "Variant", show=lambda row: row_name(row, names))


def pairs_column(facts: StudyFacts) -> Column:
    """Returns the column of what each comparison rests on: seeds, runs of each side or documents; where rows differ."""
    heading = as_sentence(f"{facts.replication.unit}s")
    return Column("n", heading, True, show=lambda row: count(row.get("n")), varying=True)


def mean_columns(*, spare: bool = False) -> list[Column]:
    """Returns the columns of the means of both sides, as exact as the interval, and of the detectable difference."""

    def mean(side: str) -> Callable[[Row], str]:
        return lambda row: fixed(row.get(f"mean_{side}"), decimals(row.get("ci_low"), row.get("ci_high")))

    return [
        Column("mean_variant", "Variant mean", True, show=mean("variant"), spare=spare),
        Column("mean_baseline", "Baseline mean", True, show=mean("baseline"), spare=spare),
        Column("mde", "Detectable", True, show=detectable, spare=spare),
    ]


def reason_column(facts: StudyFacts, *, marked: bool = True) -> Column:
    """Returns the column of why a verdict is what it is, in words; what all that are equivalent have is in the caption.

    Of a placebo not how many seeds would settle it: it has no difference to find. marked: whether the column says of a
    row that it was planned after results.
    """
    names = names_of(facts)
    placebos = facts.placebos

    def reason(row: Row) -> str:
        parts = []
        code = text(row.get("reason"))
        is_advice = row.get("variant") in placebos and code.startswith(OPEN)
        if not code.startswith(UNSEEN) and not is_advice:
            parts.append(in_short_names(because(code, unit=facts.replication.run_name), names))
        if marked:
            parts.append(plan_mark(row))
        return "; ".join(filter(None, parts))

    return Column("reason", "Reason", below=True, show=reason)


def difference_column(facts: StudyFacts, heading: str) -> Column:
    """Returns the column of the differences, each in the direction of its metric."""

    def show(row: Row) -> str:
        return difference_of(row, direction_of(facts, row.get("task"), row["metric"]))

    return Column("difference", heading, True, show=show)


def difference_of(row: Row, direction: Direction) -> str:
    """Returns the difference of a row with its interval; of success rates, how many seeds succeeded on each side."""
    if number(row.get("solved_variant")) is None:
        turned = own_direction(row, direction)
        return difference(turned.get("diff"), turned.get("ci_low"), turned.get("ci_high"))
    counts = [int(float(row[name])) for name in ("solved_variant", "solved_baseline", "n")]
    return message("verdicts.solved", *counts)


def detectable(row: Row) -> str:
    """Returns the smallest difference that is found with 80 % power; of rates in seeds that one side alone solves."""
    mde = number(row.get("mde"))
    if mde is None:
        return NOTHING
    by_rate = number(row.get("solved_variant")) is not None
    return shown_as(mde, by_rate, int(float(row["n"]))) or message("verdicts.no_mde")


def shown_as(mde: float, by_rate: bool, n: int) -> str:
    """Returns a difference, or as many of `n` seeds; nothing where it is infinite."""
    if not math.isfinite(mde):
        return ""
    return message("verdicts.seeds", round(mde), n) if by_rate else significant(mde)
