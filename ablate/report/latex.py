"""Names and tables in LaTeX: with booktabs, and nothing that the text of others could do in it."""

from __future__ import annotations

import re
from collections.abc import Collection

from ablate.base.printable import printable
from ablate.report.tables import Table, text

WIDTHS = {"one": 3.25, "two": 6.75}
"""Inches of one column of a page, and of both."""
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "''",
    # After the end of a row, both would be an argument.
    "[": "{[}",
    "*": "{*}",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "→": r"$\to$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "α": r"$\alpha$",
    "–": "--",
    "—": "---",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "…": r"\ldots{}",
    "\u00a0": "~",
}
_SPECIAL = re.compile("|".join([*map(re.escape, _SIGNS), "(?<=-)-"]))
_NUMBER = re.compile(r"[-+−<]?[\d,]*\.?\d+( \[[-−]?[\d,]*\.?\d+, [-−]?[\d,]*\.?\d+\])?")
"""A number, or one with its interval."""


def latex(value: str) -> str:
    r"""`value` as literal text of LaTeX: `low_rank` is `low\_rank`; letters of any script stay as they are."""
    # A hyphen after another would make a dash of the two.
    return _SPECIAL.sub(lambda sign: _SIGNS.get(sign[0], "{}-"), printable(text(value)))


def breakable(value: str) -> str:
    """Literal text that a line may break after any separator of a path."""
    return re.sub(r"([.=,/]|\\_)(?=[^\W\d])", r"\1\\allowbreak{}", latex(value))


def mathematics(cell: str) -> str:
    """A number, or one with its interval, in math mode, where a minus is a minus; anything else as text."""
    if not _NUMBER.fullmatch(cell):
        return latex(cell)
    return "$" + re.sub(r"(?<=\d),(?=\d)", "{,}", cell.replace("−", "-")).replace(" [", r"\ [") + "$"


def _is_number(cell: str) -> bool:
    return "[" not in cell and _NUMBER.fullmatch(cell) is not None


def _numeric(cell: str, decimals: int) -> str:
    """A cell of a column of numbers, whose points are below one another."""
    missing = decimals - len(cell.partition(".")[2]) if _is_number(cell) and "." in cell else 0
    return mathematics(cell) + (rf"\phantom{{{'0' * missing}}}" if missing else "")


def tabular(table: Table, columns: str, rules: Collection[int] = ()) -> str:
    """The rows between the rules of booktabs, and a rule before each of the rows `rules`.

    `columns`: as LaTeX has them, `lrl`; headings are LaTeX as well. A row that has its first cell alone heads those
    below it.
    """
    first, *others = table.columns
    decimals = {
        c.key: max(
            (len(row[c.key].partition(".")[2]) for row in table.rows if _is_number(row.get(c.key, ""))),
            default=0,
        )
        for c in others
    }
    lines = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    lines += [" & ".join(column.heading for column in table.columns) + r" \\", r"\midrule"]
    for index, row in enumerate(table.rows):
        if index in rules:
            lines.append(r"\midrule")
        if row.keys() == {first.key}:
            lines.append(
                rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{\emph{{{latex(row[first.key])}}}}} \\"
            )
            continue
        shown = [
            _numeric(row[c.key], decimals[c.key]) if c.numeric else breakable(row[c.key]) for c in others
        ]
        lines.append(" & ".join([breakable(row[first.key]), *shown]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def floating(content: str, caption: str, label: str) -> str:
    """A float with its caption above it: over both columns of a page that has two, and as wide as one that has one."""
    lines = [
        r"\begin{table*}[t]",
        r"\centering",
        r"\setlength{\belowcaptionskip}{4pt}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        r"\small",
    ]
    return "\n".join([*lines, content, r"\end{table*}", ""])
