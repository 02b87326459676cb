"""Names and tables as literal text of markdown."""

from __future__ import annotations

import re

from ablate.report.palette import VERDICTS
from ablate.report.tables import Table


def markdown(value: str) -> str:
    """`value` as literal text inside a line of markdown, for instance in a table cell."""
    value = re.sub(r"([\\`*\[\]~#])", r"\\\1", value)
    # An underscore inside a word is literal already, and low_rank reads better than low\_rank.
    value = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", value)
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")


def markdown_line(value: str) -> str:
    """`value` as literal text at the start of a line, where it must not begin a list or a rule either."""
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", markdown(value.strip()))


def markdown_table(table: Table) -> str:
    """A pipe table; every cell is escaped, and a verdict has its mark in front."""
    head = [markdown(column.heading) for column in table.columns]
    rule = "|".join("---:" if column.numeric else ":---" for column in table.columns)
    body = [[markdown(_cell(row[c.key], c.key)) for c in table.columns] for row in table.rows]
    first, *others = [f"| {' | '.join(cells)} |" for cells in (head, *body)]
    return "\n".join([first, f"|{rule}|", *others])


def _cell(words: str, key: str) -> str:
    return f"{VERDICTS[words].sign} {words}" if key == "verdict" and words in VERDICTS else words
