"""Names and tables in LaTeX: with booktabs, and nothing that the text of others could do in it."""

from __future__ import annotations

import re
from collections.abc import Collection

from ablate.base.printable import printable
from ablate.report.tables import Table, text

WIDTHS = {"one": 3.25, "two": 6.75}
"""Inches of one column of a page, and of both."""
METHODS = "methods"
"""The name of the paragraph on methods, as one of a table."""
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
    "µ": r"$\mu$",
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
_NUMBER = re.compile(r"(~ )?[-+−<]?[\d,]*\.?\d+( \[[-−]?[\d,]*\.?\d+, [-−]?[\d,]*\.?\d+\])?")
"""A number, or one with its interval."""


def latex(value: str) -> str:
    r"""`value` as literal text of LaTeX: `low_rank` is `low\_rank`; letters of any script stay as they are."""
    # A hyphen after another would make a dash of the two.
    return _SPECIAL.sub(lambda sign: _SIGNS.get(sign[0], "{}-"), printable(text(value)))


def figure_float(content: str, caption: str, label: str, width: float) -> str:
    """A float with its caption below it; over both columns where it is wider than one. `width` in inches."""
    environment = "figure" if width <= WIDTHS["one"] + 0.25 else "figure*"
    lines = [rf"\begin{{{environment}}}[t]", r"\centering", content, rf"\caption{{{caption}}}"]
    return "\n".join([*lines, rf"\label{{{label}}}", rf"\end{{{environment}}}", ""])


def running(words: str) -> str:
    """Literal running text, with a thin space before a percent sign."""
    return latex(words).replace(r" \%", r"\,\%")


def breakable(value: str) -> str:
    """Literal text that a line may break after any separator of a path."""
    return re.sub(r"([.=,/]|\\_)(?=[^\W\d])", r"\1\\allowbreak{}", latex(value))


def mathematics(cell: str) -> str:
    """A number, or one with its interval, in math mode, where a minus is a minus; anything else as text."""
    if not _NUMBER.fullmatch(cell):
        return latex(cell)
    cell = cell.replace("−", "-").replace("~ ", r"{\sim}\,").replace(" [", r"\ [")
    return "$" + re.sub(r"(?<=\d),(?=\d)", "{,}", cell) + "$"


def _decimals(cell: str) -> int:
    """Of a number without an interval."""
    return 0 if "[" in cell or not _NUMBER.fullmatch(cell) else len(cell.partition(".")[2])


def tabular(table: Table, columns: str, rules: Collection[int] = ()) -> str:
    """The rows between the rules of booktabs, and a rule before each of the rows `rules`.

    `columns`: as LaTeX has them, `lrl`; headings are LaTeX as well. A row that has its first cell alone heads those
    below it. In a column of numbers, the points are below one another.
    """
    first, *others = table.columns
    places = {c.key: max((_decimals(row.get(c.key, "")) for row in table.rows), default=0) for c in others}
    lines = [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    lines += [" & ".join(column.heading for column in table.columns) + r" \\", r"\midrule"]
    for index, row in enumerate(table.rows):
        lines += [r"\midrule"] if index in rules else []
        if row.keys() == {first.key}:
            heading = rf"\emph{{{latex(row[first.key])}}}"
            lines.append(rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{{heading}}} \\")
        else:
            cells = [_cell(row[c.key], places[c.key]) if c.numeric else breakable(row[c.key]) for c in others]
            lines.append(" & ".join([breakable(row[first.key]), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _cell(cell: str, places: int) -> str:
    """A number with room for the decimals that it lacks."""
    lacking = places - found if (found := _decimals(cell)) else 0
    return mathematics(cell) + (rf"\phantom{{{'0' * lacking}}}" if lacking else "")


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
