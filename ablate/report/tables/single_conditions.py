"""The table of differences in single conditions, which stands below that of verdicts over conditions.

Imports neither pandas nor matplotlib.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.base import wording
from ablate.core.facts import StudyFacts
from ablate.core.spelling import spelled
from ablate.report.tables.condition_rows import scales_of_row
from ablate.report.tables.directions import better_word, direction_of, own_direction
from ablate.report.tables.verdicts import compared_in_words, difference_of, names_of, row_name
from ablate.report.words import NOTHING, Column, Row, Table, decimals, fixed, message, number, tabulated, text

MAX_COLUMNS = 6
"""The most variants, or conditions, that have a column of the table of single conditions."""
SYMMETRIC = 0.01
"""The share of an interval by which its middle may lie beside the difference, so that ± says both ends."""


def single_table(rows: Sequence[Row], over: Sequence[Row], facts: StudyFacts) -> Table:
    """Returns the differences in single conditions: a row a condition and a column a variant.

    The other way round where there are few conditions and more variants than a table has columns for. rows: those of
    single conditions; over: those over conditions.
    """
    names = names_of(facts)
    variants = [*dict.fromkeys(row_name(row, names) for row in rows)]
    conditions = [*dict.fromkeys(text(row["task"]) for row in rows)]
    scales = scales_of_row(over[0]) if over else {}
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
    is_cut = not is_turned and len(variants) > MAX_COLUMNS
    caption = _single_caption(rows, facts, len(variants) if is_cut else 0)
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
    """Returns whether some row has a known interval that is not symmetric about its difference."""
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
