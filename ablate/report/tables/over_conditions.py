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
from ablate.core.spelling import as_sentence, spelled
from ablate.records.folder import TRENDS
from ablate.report.sentences.levels import level_of
from ablate.report.sentences.replication_words import replication_words
from ablate.report.sentences.unequal_runs import of_which
from ablate.report.sentences.verdict_words import verdict_of
from ablate.report.tables.directions import better_word, direction_of, own_direction
from ablate.report.tables.verdicts import (
    compared_in_words,
    difference_column,
    difference_of,
    names_of,
    notes_in_caption,
    num_pairs,
    planned_rows,
    reason_column,
    row_name,
    variant_column,
    verdict_columns,
    verdict_tables,
)
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    decimals,
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
    from ablate.analysis.condition_descriptions import Description

MAX_COLUMNS = 6
"""The most variants, or conditions, that have a column of the table of single conditions."""
SYMMETRIC = 0.01
"""The share of an interval by which its middle may lie beside the difference, so that ± says both ends."""
CAPTIONS = {
    "mean": "conditions.caption_of_mean",
    "every": "conditions.caption_of_every",
    "sample": "conditions.caption_of_sample",
}
Descriptions = Mapping[tuple[str, str], "Description"]
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
    if facts.over.form == "each":
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


def with_conditions(rows: Sequence[Row], conditions: Any) -> list[Row]:
    """Returns the rows over conditions with what `conditions.csv` says beside them."""
    about = {(row["variant"], row["baseline"]): row for row in rows_of(conditions)}
    return [{**about.get((row["variant"], row["baseline"]), {}), **row} for row in rows]


def rows_in_conditions(comparisons: Any, facts: StudyFacts) -> list[Row]:
    """Returns the rows of single conditions, on the primary metric, of what is compared over conditions."""
    pairs = {(row["variant"], row["baseline"]) for row in planned_rows(comparisons)}
    names = {task.name for task in facts.tasks}
    rows: list[Row] = []
    for row in rows_of(comparisons):
        is_single = row["task"] in names and row["metric"] == facts.metric
        if is_single and (row["variant"], row["baseline"]) in pairs:
            rows.append(row)
    return rows


def scales_in(row: Row) -> dict[str, float]:
    """Returns condition → its scale, of a row over conditions; nothing where all have the metric's own unit."""
    scales = {}
    for part in filter(None, text(row.get("scales")).split("; ")):
        name, _, scale = part.rpartition(" ")
        scales[name] = float(scale)
    return scales


# Verdicts over conditions


def over_table(rows: Sequence[Row], facts: StudyFacts, descriptions: Descriptions) -> Table:
    """Returns the table of verdicts over conditions: a row a variant."""
    caption = _over_caption(rows, facts) + notes_in_caption(rows, rows, facts)
    if facts.over.form != "every" and any(split_in_words(row) for row in rows):
        level = 1 - NOMINAL / num_conditions(rows, facts)
        caption += message("conditions.counted_alone", level_word(level))
    replaced = {"verdict": [_verdict_column(facts)]}
    replaced["difference"] = [
        difference_column(facts, f"Difference [{level_of(rows)}]"),
        Column("split", "Conditions", words=True, show=split_in_words),
        *_deciding_column(facts),
        *_description_columns(rows, facts, descriptions),
    ]
    columns: list[Column] = []
    for column in verdict_columns(rows, facts):
        if column.key == "reason":
            column = _reason_in_condition(column, facts)
        columns += replaced.get(column.key, [column])
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
    scales = {name: wording.exact(scale) for name, scale in scales_in(first).items()}
    if not scales:
        return caption
    # Of many conditions the table of single ones has them.
    told = [f"{name} {scale}" for name, scale in scales.items()] if len(scales) <= MAX_COLUMNS else []
    return caption + message("conditions.scales", told)


def num_conditions(rows: Sequence[Row], facts: StudyFacts) -> int:
    """Returns the number of conditions that verdicts are over: the most of any row."""
    counts = [int(number(row.get("conditions")) or 0) for row in rows]
    return max(counts, default=0) or len(facts.tasks)


def _verdict_column(facts: StudyFacts) -> Column:
    """Returns the column of verdicts, with `varies` beside the word."""
    return Column("verdict", "Verdict", words=True, show=lambda row: over_verdict(row, facts))


def over_verdict(row: Row, facts: StudyFacts) -> str:
    """Returns the verdict of a row over conditions: `better (varies)`."""
    verdict = verdict_of(row, facts)
    return message("conditions.varies", verdict) if verdict and is_true(row.get("varies")) else verdict


def split_in_words(row: Row) -> str:
    """Returns `9 better, 2 worse of 26`: the conditions that are better and worse; "" of a row without a verdict."""
    if not text(row["verdict"]):
        return ""
    counts = [number(row.get(name)) for name in ("better", "worse", "conditions")]
    known = [int(count) for count in counts if count is not None]
    return message("conditions.split", *known) if len(known) == len(counts) else ""


def _deciding_column(facts: StudyFacts) -> list[Column]:
    """Returns the column of the condition that decides, where verdicts are about every one."""
    return [Column("deciding", "Decides", words=True)] if facts.over.form == "every" else []


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


# Single conditions


def single_table(rows: Sequence[Row], over: Sequence[Row], facts: StudyFacts) -> Table:
    """Returns the differences in single conditions: a row a condition and a column a variant.

    The other way round where there are few conditions and more variants than a table has columns for. rows: those of
    single conditions; over: those over conditions.
    """
    names = names_of(facts)
    variants = [*dict.fromkeys(row_name(row, names) for row in rows)]
    conditions = [*dict.fromkeys(text(row["task"]) for row in rows)]
    scales = scales_in(over[0]) if over else {}
    say = _with_ends if _are_lopsided(rows) else _plus_minus
    cells = {(text(row["task"]), row_name(row, names)): say(row, facts) for row in rows}
    is_turned = len(variants) > MAX_COLUMNS >= len(conditions)
    down, across = (variants, conditions) if is_turned else (conditions, variants[:MAX_COLUMNS])
    columns = [Column("name", "Variant" if is_turned else "Condition")]
    columns += [Column(f"c{place}", name, True, spare=place > 0) for place, name in enumerate(across)]
    if len(conditions) > MAX_COLUMNS:
        columns.append(Column("scale", "Scale", True, varying=True))
    table_rows = []
    for name in down:
        table_row = {"name": name, "scale": _scale(name, scales)}
        for place, other in enumerate(across):
            cell = (other, name) if is_turned else (name, other)
            table_row[f"c{place}"] = cells.get(cell, NOTHING)
        table_rows.append(table_row)
    caption = _single_caption(
        rows, facts, len(variants) if len(across) < len(variants) and not is_turned else 0
    )
    table = tabulated(columns, table_rows, caption, "comparisons.csv")
    return replace(table, across="condition" if is_turned else "variant")


def _scale(condition: str, scales: Mapping[str, float]) -> str:
    return wording.exact(scales[condition]) if condition in scales else NOTHING


def _single_caption(rows: Sequence[Row], facts: StudyFacts, cut_variants: int) -> str:
    """Returns what the differences in single conditions are, once for all.

    cut_variants: the number of variants, where some have no room; else 0.
    """
    first = rows[0]
    compared = compared_in_words(first, facts)
    better = better_word(direction_of(facts, first["task"], first["metric"]))
    words = compared[:1].lower() + compared[1:]
    caption = message("conditions.single", words, spelled(text(first["metric"])), better)
    if cut_variants:
        caption += message("conditions.first_columns", MAX_COLUMNS, cut_variants)
    return caption


def _are_lopsided(rows: Sequence[Row]) -> bool:
    """Returns whether the interval of some row is not symmetric about its difference, or nothing is known of it."""
    for row in rows:
        diff = number(row.get("diff"))
        low = number(row.get("ci_low"))
        high = number(row.get("ci_high"))
        if diff is None or low is None or high is None:
            continue
        if abs((low + high) / 2 - diff) > SYMMETRIC * (high - low):
            return True
    return False


def _with_ends(row: Row, facts: StudyFacts) -> str:
    """Returns `+0.012 [−0.003, 0.027]`, in the direction of the metric; of rates the seeds that solved the task."""
    return difference_of(row, direction_of(facts, row["task"], row["metric"]))


def _plus_minus(row: Row, facts: StudyFacts) -> str:
    """Returns `+0.012 ± 0.015`, in the direction of the metric."""
    turned = own_direction(row, direction_of(facts, row["task"], row["metric"]))
    low = number(turned.get("ci_low"))
    high = number(turned.get("ci_high"))
    if low is None or high is None or number(row.get("solved_variant")) is not None:
        return _with_ends(row, facts)
    places = decimals(low, high)
    return f"{wording.plus(float(turned['diff']), places)} ± {fixed((high - low) / 2, places)}"


# Trends


def trend_table(rows: Sequence[Row], facts: StudyFacts) -> Table:
    """Returns by how much each difference grows with each doubling of the number along which conditions are ordered."""
    first = rows[0]
    names = names_of(facts)
    better = better_word(direction_of(facts, "", text(first["metric"])))
    along = spelled(text(first["along"]))
    columns = [
        variant_column(names),
        Column("difference", "Per doubling [95 %]", True, show=lambda row: trend_difference(row, facts)),
        Column("p", "p", True, show=lambda row: shown(row.get("p"), wording.p_value)),
        Column("n", as_sentence(f"{facts.replication.unit}s"), True, show=lambda row: count(row.get("n"))),
        reason_column(facts, marked=False),
    ]
    return tabulated(columns, rows, message("conditions.trend", along, better), TRENDS)


def trend_difference(row: Row, facts: StudyFacts) -> str:
    """Returns the slope of a row of trends with its interval, in the direction of the metric."""
    return difference_of(row, direction_of(facts, row.get("task"), text(row["metric"])))
