"""Names and tables as literal text of markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping

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


def markdown_table(table: Table, names: Mapping[str, str] | None = None) -> str:
    """A pipe table; every cell is escaped. `names` are those for readers of variants."""
    head = "| " + " | ".join(markdown(c.heading) for c in table.columns) + " |"
    rule = "|" + "|".join("---:" if c.numeric else ":---" for c in table.columns) + "|"
    body = [
        "| " + " | ".join(markdown(_marked(row[c.key], c.key, names or {})) for c in table.columns) + " |"
        for row in table.rows
    ]
    return "\n".join([head, rule, *body])


def _marked(value: str, key: str, names: Mapping[str, str]) -> str:
    """A cell; a verdict with its mark in front, a variant by its name for readers."""
    if key == "variant":
        return names.get(value, value)
    return f"{VERDICTS[value].sign} {value}" if key == "verdict" and value in VERDICTS else value
