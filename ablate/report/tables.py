"""The verdict and claims tables as plain strings, shared by the page, the markdown and the terminal.

Rows are dicts whose values are numbers (from a frame) or text (from a CSV file); both give the same strings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ablate.base import wording

NOTHING = "–"
"Stands in a cell without a value."
MARKS = {
    "better": "▲",
    "worse": "▼",
    "equivalent": "■",
    "inconclusive": "○",
    "unstable": "✕",
    "degenerate": "◇",
    "supported": "▲",
    "refuted": "▼",
}
"Verdict → the shape that stands for it, beside its colour."

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    key: str
    heading: str
    numeric: bool = False
    words: bool = False
    "Its text may take several lines, which keep room for a few words each."


@dataclass(frozen=True)
class Table:
    """Strings by column key, ready to be escaped for their medium; the first column names its row."""

    columns: list[Column]
    rows: list[dict[str, str]]


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a frame, or of a sequence of mappings, as dicts."""
    return table.to_dict("records") if hasattr(table, "to_dict") else [dict(row) for row in table]


def verdict_rows(comparisons: Any, metric: str | None = None) -> list[dict[str, Any]]:
    """The confirmatory rows: not exploratory, and on the primary metric where it is given."""
    return [
        row
        for row in rows_of(comparisons)
        if not is_true(row.get("exploratory")) and metric in (None, row["metric"])
    ]


def other_rows(comparisons: Any, metric: str) -> list[dict[str, Any]]:
    """The rows that `verdict_rows` leaves out: other metrics, placebos, whatever is exploratory."""
    return [row for row in rows_of(comparisons) if is_true(row.get("exploratory")) or row["metric"] != metric]


def verdict_table(rows: Sequence[Row], *, brief: bool = False) -> Table:
    """Comparisons as strings; `brief` keeps what fits 80 columns.

    A task or metric column is there only where it varies.
    """
    several_tasks = len({row["task"] for row in rows}) > 1
    several_metrics = len({row["metric"] for row in rows}) > 1
    columns = [Column("variant", "Variant")]
    if several_tasks:
        columns.append(Column("task", "Task"))
    if several_metrics:
        columns.append(Column("metric", "Metric"))
    columns += [Column("verdict", "Verdict"), Column("difference", "Difference [95 %]", True)]
    columns += [Column("p_holm", "p (Holm)", True), Column("n", "Seeds", True)]
    if not brief:
        columns.insert(-2, Column("mean_variant", "Variant mean", True))
        columns.insert(-2, Column("mean_baseline", "Baseline mean", True))
        columns += [
            Column("solved", "Solved", True),
            Column("mde", "Detectable", True),
            Column("note", "Note"),
        ]
    return Table(columns, [_verdict_cells(row) for row in rows])


def _verdict_cells(row: Row) -> dict[str, str]:
    places = decimals(row.get("ci_low"), row.get("ci_high"))
    return {
        "variant": text(row["variant"]),
        "task": text(row["task"]),
        "metric": text(row["metric"]),
        "verdict": text(row["verdict"]),
        "difference": difference(row.get("diff"), row.get("ci_low"), row.get("ci_high")),
        "mean_variant": fixed(row.get("mean_variant"), places),
        "mean_baseline": fixed(row.get("mean_baseline"), places),
        "p": p_value(row.get("p")),
        "p_holm": p_value(row.get("p_holm")),
        "n": count(row.get("n")),
        "solved": share(row.get("solved_rate")),
        "mde": significant(row.get("mde")),
        "correlation": fixed(row.get("correlation"), 2),
        "note": text(row.get("note")),
    }


def detail_table(rows: Sequence[Row]) -> Table:
    """What the verdict table has no room for: every interval, the effect size, the pairing."""
    keys = [
        Column("variant", "Variant"),
        Column("task", "Task"),
        Column("metric", "Metric"),
        Column("verdict", "Verdict"),
        Column("difference", "Difference [95 %]", True),
        Column("ci90", "90 %", True),
        Column("bonferroni", "Bonferroni", True),
        Column("p", "p", True),
        Column("d_z", "d_z", True),
        Column("prob_better", "P(better)", True),
        Column("correlation", "Pair correlation", True),
        Column("seeds_needed", "Seeds needed", True),
        Column("diverged", "Diverged", True),
        Column("missing", "Missing", True),
        Column("note", "Note"),
    ]
    cells = []
    for row in rows:
        places = decimals(row.get("ci_low"), row.get("ci_high"))
        cells.append(
            _verdict_cells(row)
            | {
                "ci90": interval(row.get("ci90_low"), row.get("ci90_high"), places),
                "bonferroni": interval(row.get("bonferroni_low"), row.get("bonferroni_high"), places),
                "d_z": significant(row.get("d_z")),
                "prob_better": fixed(row.get("prob_better"), 2),
                "seeds_needed": count(row.get("seeds_needed")),
                "diverged": count(row.get("diverged")),
                "missing": count(row.get("missing")),
            }
        )
    return Table(keys, cells)


def pairing_table(rows: Sequence[Row]) -> Table:
    """What pairing was worth to each comparison, from the rows of `analysis.pairing`."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("correlation", "Correlation [95 %]", True),
        Column("n", "Pairs", True),
        Column("unpaired_seeds", "Seeds, unpaired", True),
        Column("words", "In words"),
    ]
    cells = []
    for row in rows:
        r = fixed(row["correlation"], 2)
        known = number(row["correlation_low"]) is not None
        cells.append(
            {
                "variant": text(row["variant"]),
                "task": text(row["task"]),
                "correlation": f"{r} {interval(row['correlation_low'], row['correlation_high'], 2)}"
                if known
                else r,
                "n": count(row["n"]),
                "unpaired_seeds": significant(row["unpaired_seeds"]),
                "words": text(row["words"]),
            }
        )
    return Table(columns, cells)


def claim_table(rows: Sequence[Row], *, brief: bool = False) -> Table:
    """Claims as strings; `brief` keeps what fits 80 columns."""
    columns = [
        Column("claim", "Claim"),
        Column("verdict", "Verdict"),
        Column("difference", "Difference [95 %]", True),
    ]
    if not brief:
        columns += [
            Column("p_holm", "p (Holm)", True),
            Column("n", "Seeds", True),
            Column("reason", "Reason"),
        ]
    cells = []
    for row in rows:
        late = " (exploratory)" if is_true(row.get("exploratory")) else ""
        cells.append(
            {
                "claim": text(row["claim"]) + late,
                "verdict": text(row["verdict"]),
                "difference": difference(row.get("diff"), row.get("ci_low"), row.get("ci_high")),
                "p_holm": p_value(row.get("p_holm")),
                "n": count(row.get("n")),
                "reason": text(row.get("reason")),
            }
        )
    return Table(columns, cells)


def verdict_markdown(comparisons: Any, claims: Any) -> str:
    """Both tables in markdown: the description of a study's parent run in MLflow, which has little room."""
    parts = [markdown_table(verdict_table(verdict_rows(comparisons), brief=True))]
    if rows := rows_of(claims):
        parts.append(markdown_table(claim_table(rows, brief=True)))
    return "\n\n".join(parts) + "\n"


def markdown_table(table: Table) -> str:
    """A pipe table; every cell is escaped."""
    head = "| " + " | ".join(markdown(c.heading) for c in table.columns) + " |"
    rule = "|" + "|".join("---:" if c.numeric else ":---" for c in table.columns) + "|"
    body = [
        "| " + " | ".join(markdown(marked(row, c.key)) for c in table.columns) + " |" for row in table.rows
    ]
    return "\n".join([head, rule, *body])


def marked(row: Mapping[str, str], key: str) -> str:
    """A cell; a verdict with its mark in front."""
    value = row[key]
    return f"{MARKS[value]} {value}" if key == "verdict" and value in MARKS else value


# Text


def text(value: Any) -> str:
    """A value as one line without control characters; nothing for None and NaN."""
    if value is None or value != value:
        return ""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", str(value)).strip()


def markdown(value: str) -> str:
    """`value` as literal text inside a line of markdown, for instance in a table cell."""
    value = re.sub(r"([\\`*\[\]~#])", r"\\\1", value)
    # An underscore inside a word is literal already, and low_rank reads better than low\_rank.
    value = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", value)
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")


def markdown_line(value: str) -> str:
    """`value` as literal text at the start of a line, where it must not begin a list or a rule either."""
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", markdown(value.strip()))


def wrapped(name: str, width: int) -> list[str]:
    """`name` in lines of at most `width` characters, broken after a separator where there is one."""
    lines: list[str] = []
    line = ""
    for piece in re.findall(r"[^\s.,=/_+-]*[\s.,=/_+-]?", name):
        while len(line) + len(piece.rstrip()) > width:
            if line.strip():
                lines.append(line.rstrip())
                line = ""
            else:
                lines.append(piece[:width])
                piece = piece[width:]
        line += piece
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def shortened(name: str, width: int) -> str:
    """`name` with its middle left out when it is longer than `width` characters."""
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[len(name) - tail :]}"


# Numbers


def number(value: Any) -> float | None:
    """A cell of a frame or of a CSV file as a number; None where it has none."""
    if value is None or value == "":
        return None
    result = float(value)
    return None if math.isnan(result) else result


def is_true(value: Any) -> bool:
    """A flag of a frame or of a CSV file."""
    return str(value).lower() in ("true", "1", "1.0")


def decimals(low: Any, high: Any) -> int:
    """The places at which the half-width of an interval keeps two significant digits; 3 without a width."""
    low, high = number(low), number(high)
    return wording.decimals(math.nan if low is None or high is None else (high - low) / 2)


def fixed(value: Any, places: int) -> str:
    """A number with `places` decimals: −.021."""
    value = number(value)
    return NOTHING if value is None else wording.number(value, places)


def significant(value: Any) -> str:
    """A number with two significant digits."""
    value = number(value)
    return NOTHING if value is None else wording.significant(value)


def difference(diff: Any, low: Any, high: Any) -> str:
    """`+.012 [−.003, .027]`, with the digits that the interval supports."""
    value = number(diff)
    if value is None:
        return NOTHING
    places = decimals(low, high)
    shown = fixed(value, places)
    sign = "+" if value > 0 and shown.strip("0.") else ""
    return f"{sign}{shown} {interval(low, high, places)}" if number(low) is not None else sign + shown


def interval(low: Any, high: Any, places: int) -> str:
    """`[−.003, .027]`."""
    return NOTHING if number(low) is None else f"[{fixed(low, places)}, {fixed(high, places)}]"


def p_value(value: Any) -> str:
    """`.003`, `<.001`; enough digits to tell which side of .05 it is on."""
    p = number(value)
    return (
        NOTHING if p is None else wording.p_value(p).removeprefix("p ").removeprefix("= ").replace("< ", "<")
    )


def count(value: Any) -> str:
    """A whole number, its digits in groups of three."""
    value = number(value)
    if value is None:
        return NOTHING
    if not math.isfinite(value):
        return "∞"
    return f"{value:,.0f}"


def share(value: Any) -> str:
    """A rate as a percentage."""
    value = number(value)
    return NOTHING if value is None else f"{100 * value:.0f} %"
