"""Tables, figures and a paragraph on methods for a paper: LaTeX, PDF and SVG, made of what a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.text import printable
from ablate.core.feature import features
from ablate.core.short_names import short_claim
from ablate.report.draw import paper
from ablate.report.markdown import markdown
from ablate.report.methods import CITED, TITLE, bibliography, methods
from ablate.report.section import Failed, Material, Picture, pictures, shown, slug, unfolded
from ablate.report.tables import Table, rows_of, text
from ablate.report.verdicts import claim_table, level_of, names_of, planned_rows, verdict_tables

METHODS = "methods"
"""The name of the paragraph on methods, as one of a table."""
WIDEST = 3.5
"""Inches of a figure that still stands in one column of a page."""
LONG = 30
"""Characters of a first cell that takes several lines."""
FOLDER = r"\ablatefolder"
"The macro that says where the figures are, from the file that LaTeX is called with."
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
"""What LaTeX takes for a command, or does not know. After the end of a row, [ and * would be an argument."""


@dataclass(frozen=True)
class Figure:
    """A figure that was exported."""

    name: str
    width: float
    height: float
    "Inches."


@dataclass(frozen=True)
class Paper:
    """What was made for a paper."""

    files: dict[str, str | bytes] = field(default_factory=dict)
    "Name → content."
    tables: list[str] = field(default_factory=list)
    "Names without their ending, as `\\input` takes them."
    figures: list[Figure] = field(default_factory=list)

    @property
    def methods(self) -> bool:
        """Whether there is a paragraph on methods, and the papers that it cites."""
        return f"{METHODS}.tex" in self.files


def mark(study: str) -> str:
    """Stands in every text file that is written for a paper, so that a later export knows it."""
    return f"Written by: ablate export {study}"


def for_paper(
    material: Material, width: float, only: Collection[str], warn: Callable[[str], None], folder: str = "."
) -> Paper:
    """Tables, figures and methods of a study, figures `width` inches wide; `only`: those of these names.

    `folder`: where LaTeX finds the figures, unless the paper says otherwise.

    The same material gives the same bytes. What cannot be drawn is a warning. Raises `AblateError` for a name that is
    none, and where there is nothing.
    """
    facts, said, made = material.facts, methods(material), Paper()
    tables = dict(_tables(material))
    drawn = {p.name: p for p in pictures(unfolded(b for one in shown(material) for b in one.blocks))}
    if not tables and not drawn:
        raise AblateError(f"{facts.study}: has neither comparisons nor figures; run the study first")
    known = [*tables, *([METHODS] if said else []), *drawn]
    if wrong := [name for name in only if name not in known]:
        rule = f"is no table or figure of {facts.study}"
        problem = Problem(rule, (), wrong[0], listed(known, 40), nearest(wrong[0], known), source="--only")
        raise AblateError(str(problem))
    wanted = [name for name in known if not only or name in only]
    commit = f", commit {str(facts.environment['commit'])[:10]}" if facts.environment.get("commit") else ""
    head, label = f"% {mark(facts.study)}{commit}\n", slug(facts.study)
    for name in (name for name in wanted if name in tables):
        made.tables.append(name)
        made.files[f"{name}.tex"] = f"{head}% Needs \\usepackage{{booktabs}}\n" + tabular(
            tables[name], f"tab:{label}-{name}"
        )
    if METHODS in wanted:
        made.files[f"{METHODS}.tex"] = f"{head}% Needs \\bibliography{{references}}\n{as_latex(said)}"
        made.files[f"{METHODS}.md"] = f"<!-- {mark(facts.study)} -->\n\n{as_markdown(said)}"
        made.files["references.bib"] = f"{head}\n{bibliography()}"
    with paper.context(width):
        for picture in (drawn[name] for name in wanted if name in drawn):
            if _add(made, picture, warn):
                float_ = figure_float(picture.name, picture.caption, f"fig:{label}-{picture.name}", width)
                provided = rf"\providecommand{{{FOLDER}}}{{{folder}}}"
                made.files[f"{picture.name}.tex"] = (
                    f"{head}% Needs \\usepackage{{graphicx}}\n{provided}\n{float_}"
                )
    return made


def _add(made: Paper, picture: Picture, warn: Callable[[str], None]) -> bool:
    """Whether it could be drawn."""
    try:
        figure = picture.draw()
        pdf, svg = paper.saved(figure, picture.name)
    except Exception as error:
        warn(Failed(f"The figure “{picture.name}”", error).words)
        return False
    made.files.update({f"{picture.name}.pdf": pdf, f"{picture.name}.svg": svg})
    made.figures.append(Figure(picture.name, *map(float, figure.get_size_inches())))
    return True


def _tables(material: Material) -> Iterator[tuple[str, Table]]:
    """Those of the summary, by name: `comparisons`, on the next task `comparisons-2`; of features; `claims`."""
    facts, names = material.facts, names_of(material.facts)
    found = {
        "comparisons": verdict_tables(material.comparisons, names, facts.rate),
        **{f.name: f.brief(rows_of(material.table(f.name)), names) for f in features()},
    }
    for name, tables in found.items():
        yield from ((f"{name}-{i}" if i > 1 else name, table) for i, table in enumerate(tables, 1))
    if len(material.claims):
        level = level_of(planned_rows(material.comparisons))
        yield "claims", claim_table(material.claims, partial(short_claim, facts=facts), names, level)


# LaTeX


def latex(value: str) -> str:
    r"""`value` as literal text of LaTeX: `low_rank` is `low\_rank`; letters of any script stay as they are."""
    return printable(text(value)).translate(SIGNS)


def as_latex(paragraph: str) -> str:
    """The paragraph on methods, with commands that cite."""
    words = "".join(
        rf"~\cite{{{piece.replace('@', '').replace('; ', ',')}}}"
        if cited
        else printable(piece).translate(SIGNS)
        for cited, piece in _pieces(paragraph)
    )
    return f"\\paragraph{{{TITLE}.}}\n{words}\n"


def as_markdown(paragraph: str) -> str:
    """The paragraph on methods, with citations as pandoc reads them."""
    words = (f" [{piece}]" if cited else markdown(piece) for cited, piece in _pieces(paragraph))
    return f"## {TITLE}\n\n{''.join(words)}\n"


def _pieces(paragraph: str) -> Iterator[tuple[bool, str]]:
    """Whether a piece holds the keys of papers, and the piece."""
    return ((i % 2 == 1, piece) for i, piece in enumerate(CITED.split(paragraph)))


def tabular(table: Table, label: str) -> str:
    """A table over all columns of a page, with the rules of booktabs, without what stands below rows."""
    columns = [column for column in table.columns if not column.below]
    rows = [[latex(row[column.key]) for column in columns] for row in table.rows]
    long = max(len(row[0]) for row in rows) > LONG
    style = pd.DataFrame(rows, columns=[latex(column.heading) for column in columns]).style
    first = r"p{0.4\linewidth}" if long else "l"
    return style.hide(axis="index").to_latex(
        environment="table*",
        position="t",
        position_float="centering",
        hrules=True,
        column_format=first + "".join("r" if column.numeric else "l" for column in columns[1:]),
        caption=latex(f"{table.caption}."),
        label=label,
    )


def figure_float(name: str, caption: str, label: str, width: float) -> str:
    """A float with its caption below it; over both columns where it is wider than one. `width` in inches."""
    environment = "figure" if width <= WIDEST else "figure*"
    lines = [rf"\begin{{{environment}}}[t]", r"\centering", rf"\includegraphics{{{FOLDER}/{name}}}"]
    lines += [rf"\caption{{{latex(caption)}}}", rf"\label{{{label}}}", rf"\end{{{environment}}}", ""]
    return "\n".join(lines)
