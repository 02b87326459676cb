"""Text, tables and floats in LaTeX."""

import re
from collections.abc import Mapping

import pandas as pd

from ablate.base.text import printable
from ablate.report.sentences.treatment_words import marks_of
from ablate.report.words import Table, text

WIDEST = 3.5
"""Inches of a figure that still stands in one column of a page."""
LONG = 30
"""Characters of a first cell that takes several lines."""
COLUMN = 48
"""Characters that stand in one column of a page."""
GAP = 2
"""Characters that the gap between two columns of a table takes."""
# What LaTeX takes for a command, or does not know. After the end of a row, [ and * would be an argument.
SIGNS = str.maketrans(
    {
        "\\": r"\textbackslash{}", "~": r"$\sim$", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}", '"': "''", "[": "{[}", "*": "{*}",
        "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "µ": r"$\mu$", "→": r"$\to$", "≤": r"$\leq$",
        "≥": r"$\geq$", "∞": r"$\infty$", "α": r"$\alpha$", "–": "--", "—": "---", "“": "``", "”": "''",
        "‘": "`", "’": "'", "…": r"\ldots{}", "\u00a0": "~",
        **{sign: f"\\{sign}" for sign in "{}&%$#_"},
    }
)  # fmt: skip


def latex(value: str) -> str:
    r"""Returns a value as literal text: `low_rank` is `low\_rank`; letters of any script stay as they are."""
    return printable(text(value)).translate(SIGNS)


def paragraph(title: str, words: str) -> str:
    """Returns a paragraph under its title, in which `[@akiba2019optuna]` is a citation."""

    def cite(found: re.Match[str]) -> str:
        return rf"~\cite{{{found[1].replace('@', '').replace('; ', ',')}}}"

    cited = re.sub(r" \{\[\}(@[a-z0-9@; ]+)\]", cite, latex(words))
    return f"\\paragraph{{{title}.}}\n{cited}\n"


def tabular(table: Table, label: str, bold: Mapping[str, str] | None = None) -> str:
    """Returns a table with the rules of booktabs; over all columns of a page where it is wider than one.

    Of what stands below rows, the caption has the marks alone. bold: the first cell of a row → the column of the cell
    that is set in bold.
    """
    columns = [column for column in table.columns if not column.below]
    first = columns[0]
    bold = bold or {}
    texts = [[row[column.key] for column in columns] for row in table.rows]
    rows = []
    for row in table.rows:
        cells = []
        for column in columns:
            cell = latex(row[column.key])
            is_bold = bold.get(row[first.key]) == column.key
            cells.append(rf"\textbf{{{cell}}}" if is_bold else cell)
        rows.append(cells)
    is_long = max(len(row[first.key]) for row in table.rows) > LONG
    formats = [r"p{0.4\linewidth}" if is_long else "l"]
    formats += ["r" if column.numeric else "l" for column in columns[1:]]
    widths = [max(map(len, cells)) for cells in zip([c.heading for c in columns], *texts, strict=True)]
    is_narrow = not is_long and sum(widths) + GAP * len(widths) <= COLUMN
    cells_of_table = pd.DataFrame(rows, columns=[latex(column.heading) for column in columns])
    return cells_of_table.style.hide(axis="index").to_latex(
        environment="table" if is_narrow else "table*",
        position="t",
        position_float="centering",
        hrules=True,
        column_format="".join(formats),
        caption=latex(f"{'; '.join([table.caption, *marks_of(table)]).removesuffix('.')}."),
        label=label,
    )


def folder_macro(study: str) -> str:
    r"""Returns the macro that says where the figures of a study are: `\ablateXfigures`, of letters alone.

    Each study of a paper has its own.
    """
    digits = str.maketrans("0123456789", "ABCDEFGHIJ")
    letters = re.sub(r"[^A-Za-z]", "", study.translate(digits))
    return rf"\ablate{letters}figures"


def figure_float(name: str, caption: str, label: str, width: float, folder: tuple[str, str]) -> str:
    """Returns a float with its caption below it; over both columns where it is wider than one.

    width: in inches. folder: the macro of the folder of the figures, and the folder, as LaTeX finds it from the file
    that it is called with.
    """
    environment = "figure" if width <= WIDEST else "figure*"
    macro, path = folder
    lines = [
        rf"\providecommand{{{macro}}}{{{path}}}",
        rf"\begin{{{environment}}}[t]",
        r"\centering",
        rf"\includegraphics{{{macro}/{name}}}",
        rf"\caption{{{latex(caption)}}}",
        rf"\label{{{label}}}",
        rf"\end{{{environment}}}",
        "",
    ]
    return "\n".join(lines)
