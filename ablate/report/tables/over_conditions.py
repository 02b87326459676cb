"""The verdicts over conditions as tables: one of the verdicts, below it one of single conditions, and one of trends.

Made of frames or of the rows of CSV files; imports neither pandas nor matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ablate.analysis.chances import NOMINAL
from ablate.base import wording
from ablate.core.facts import StudyFacts
from ablate.core.spelling import spelled
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.unequal_runs import of_which
from ablate.report.sentences.verdict_words import verdict_of
from ablate.report.tables.condition_rows import (
    num_conditions,
    rows_in_conditions,
    scales_of_row,
    with_conditions,
)
from ablate.report.tables.directions import better_word, direction_of
from ablate.report.tables.single_conditions import MAX_COLUMNS, single_table
from ablate.report.tables.trends import trend_table
from ablate.report.tables.verdicts import (
    compared_in_words,
    notes_in_caption,
    num_pairs,
    planned_rows,
    verdict_columns,
    verdict_tables,
)
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    decimals_beside_0,
    fixed,
    is_true,
    level_word,
    message,
    number,
    rows_of,
    shown,
    tabulated,
    text,
)

if TYPE_CHECKING:
    from ablate.analysis.condition_descriptions import ComparisonDescription

CAPTIONS = {
    "mean": "conditions.caption_of_mean",
    "every": "conditions.caption_of_every",
    "sample": "conditions.caption_of_sample",
}
Descriptions = Mapping[tuple[str, str], "ComparisonDescription"]
"""(variant, baseline) → the description of their comparison over conditions."""


def judged_tables(
    comparisons: Any,
    facts: StudyFacts,
    *,
    interactions: Any = (),
    conditions: Any = (),
    trends: Any = (),
    descriptions: Descriptions | None = None,
) -> Iterator[Table]:
    """Yields the verdicts: a table a task or, over conditions, one of verdicts and one of single conditions.

    interactions, conditions, trends: the rows of the tables of these names. A table of trends comes last.
    """
    if not facts.over.joins_conditions:
        yield from verdict_tables(comparisons, facts, interactions)
    else:
        rows = with_conditions(planned_rows(comparisons), conditions)
        if rows:
            yield over_table(rows, facts, descriptions or {})
        single = rows_in_conditions(comparisons, facts)
        if single:
            yield single_table(single, rows, facts)
    if rows_of(trends):
        yield trend_table(rows_of(trends), facts)


def over_table(rows: Sequence[Row], facts: StudyFacts, descriptions: Descriptions) -> Table:
    """Returns the table of verdicts over conditions: a row a variant."""
    caption = _over_caption(rows, facts) + notes_in_caption(rows, rows, facts)
    if facts.over.form != "every" and any(split_in_words(row) for row in rows):
        level = 1 - NOMINAL / num_conditions(rows, facts)
        caption += message("conditions.counted_alone", level_word(level))
    columns: list[Column] = []
    for column in verdict_columns(rows, facts):
        match column.key:
            case "verdict":
                columns.append(_verdict_column(facts))
            case "difference":
                columns.append(column)
                columns.append(Column("split", "Conditions", words=True, show=split_in_words))
                if facts.over.form == "every":
                    columns.append(Column("deciding", "Decides", words=True))
                columns += _description_columns(rows, facts, descriptions)
            case "reason":
                columns.append(_reason_in_condition(column, facts))
            case _:
                columns.append(column)
    columns += [
        Column("heaviest", "Heaviest", below=True, show=_heaviest),
        Column("both_p", "Both p", below=True, show=_both_p),
    ]
    return tabulated(columns, rows, caption, "comparisons.csv")


def _over_caption(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns what the rows are about, over how many conditions and seeds, and in which unit."""
    first = rows[0]
    better = better_word(direction_of(facts, first["task"], first["metric"]))
    sample = message(replication_words(facts.replication).over, num_pairs(rows), of_which(rows))
    caption = message(
        CAPTIONS[facts.over.form],
        compared_in_words(first, facts),
        spelled(text(first["metric"])),
        num_conditions(rows, facts),
        sample,
        better,
    )
    scales = {name: wording.exact(scale) for name, scale in scales_of_row(first).items()}
    if not scales:
        return caption
    # Of many conditions the table of single ones has them.
    told = [f"{name} {scale}" for name, scale in scales.items()] if len(scales) <= MAX_COLUMNS else []
    return caption + message("conditions.scales", told)


def _verdict_column(facts: StudyFacts) -> Column:
    """Returns the column of verdicts, with `varies` beside the word."""
    return Column("verdict", "Verdict", words=True, show=lambda row: with_varies(verdict_of(row, facts), row))


def with_varies(verdict: str, row: Row) -> str:
    """Returns a verdict with whether conditions differ in direction: `better (varies)`."""
    return message("conditions.varies", verdict) if verdict and is_true(row.get("varies")) else verdict


def split_in_words(row: Row) -> str:
    """Returns `9 better, 2 worse of 26`: the conditions that are better and worse; "" of a row without a verdict."""
    if not text(row["verdict"]):
        return ""
    counts = [number(row.get(name)) for name in ("better", "worse", "conditions")]
    known = [int(count) for count in counts if count is not None]
    return message("conditions.split", *known) if len(known) == len(counts) else ""


def _description_columns(rows: Sequence[Row], facts: StudyFacts, descriptions: Descriptions) -> list[Column]:
    """Returns the columns of interquartile mean and P(A > B), where comparisons are described."""
    sign = -1 if direction_of(facts, rows[0]["task"], rows[0]["metric"]) == "min" else 1

    def iqm(row: Row) -> str:
        described = descriptions.get((row["variant"], row["baseline"]))
        places = decimals_beside_0(row.get("ci_low"), row.get("ci_high"))
        return NOTHING if described is None else wording.plus(sign * described.interquartile_mean, places)

    def chance(row: Row) -> str:
        described = descriptions.get((row["variant"], row["baseline"]))
        return NOTHING if described is None else fixed(described.chance_of_better, 2)

    return [
        Column("iqm", "IQM", True, show=iqm, spare=True),
        Column("chance", "P(better)", True, show=chance, spare=True),
    ]


def _reason_in_condition(column: Column, facts: StudyFacts) -> Column:
    """Returns the column of reasons, each with the condition that gives it."""
    show = column.show
    assert show is not None

    def reason(row: Row) -> str:
        words = show(row)
        condition = "" if facts.over.form == "every" else text(row.get("deciding"))
        return message("conditions.reason_in", words, condition) if words and condition else words

    return replace(column, show=reason)


def _heaviest(row: Row) -> str:
    """Returns the condition with over half of the variance in words; "" where none has it."""
    condition = text(row.get("heaviest"))
    return message("conditions.heaviest", condition) if condition else ""


def _both_p(row: Row) -> str:
    """Returns both p in words, where seeds were declared to be independent; else ""."""
    if number(row.get("p_shared")) is None or number(row.get("p_independent")) is None:
        return ""
    both = [shown(row[name], wording.p_value) for name in ("p_shared", "p_independent")]
    return message("conditions.both_p", *both)


def guide_to_conditions(facts: StudyFacts, *, is_described: bool) -> list[tuple[str, str]]:
    """Returns the columns of verdicts over conditions, each with what it means."""
    is_every = facts.over.form == "every"
    code = "conditions.guide_every" if is_every else "conditions.guide_conditions"
    terms = [("Conditions", message(code))]
    if is_every:
        terms.append(("Decides", message("conditions.guide_decides")))
    else:
        terms.append(("Varies", message("conditions.guide_varies")))
    if is_described:
        terms.append(("IQM", message("conditions.guide_iqm")))
        terms.append(("P(better)", message("conditions.guide_chance")))
    return terms
