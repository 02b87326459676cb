"""Tables, figures and a paragraph on methods for a paper: LaTeX, PDF and SVG, made of what a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd

from ablate.base import wording
from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.base.printable import printable
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_claim, short_names
from ablate.report import timing
from ablate.report.brief.claims import claim_table
from ablate.report.brief.noise_floor import MARK
from ablate.report.brief.verdicts import comparison_cells, verdict_rows
from ablate.report.draw import paper
from ablate.report.markdown import markdown
from ablate.report.methods import CITED, TITLE, bibliography, methods
from ablate.report.section import Failed, Material, Picture, pictures, shown, slug
from ablate.report.tables import NOTHING, Row, decimals, fixed, is_true, number, rows_of, text

VARIANTS = {
    "variant": "Variant",
    "mean": "Mean",
    "difference": "Difference [95 %]",
    "p": "p",
    "verdict": "Verdict",
}
CLAIMS = {
    "claim": "Claim",
    "difference": "Difference [95 %]",
    "p_holm": "p",
    "n": "Seeds",
    "verdict": "Verdict",
}
SPEED = {"variant": "Variant", "time": "Time", "ratio": "Ratio [95 %]", "said": "Verdict", "memory": "Memory"}
"""Key of a cell → heading of its column."""
METHODS = "methods"
"""The name of the paragraph on methods, as one of a table."""
WIDEST = 3.5
"""Inches of a figure that still stands in one column of a page."""
LONG = 30
"""Characters of a first cell that takes several lines."""
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

    files: dict[str, str | bytes]
    "Name → content."
    tables: list[str]
    "Names without their ending, as `\\input` takes them."
    figures: list[Figure]
    methods: bool = False
    "Whether there is a paragraph on methods, and the papers that it cites."


FOLDER = r"\ablatefolder"
"The macro that says where the figures are, from the file that LaTeX is called with."


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
    tables = dict(_tables(material))
    drawn = {p.name: p for p in pictures(b for section in shown(material) for b in section.blocks)}
    if not tables and not drawn:
        raise AblateError(f"{material.facts.study}: has neither comparisons nor figures; run the study first")
    said = methods(material)
    known = [*tables, *([METHODS] if said else []), *drawn]
    if wrong := [name for name in only if name not in known]:
        rule = f"is no table or figure of {material.facts.study}"
        problem = Problem(rule, (), wrong[0], listed(known, 40), nearest(wrong[0], known), source="--only")
        raise AblateError(str(problem))
    files: dict[str, str | bytes] = {f"{n}.tex": t for n, t in tables.items() if not only or n in only}
    of_methods = bool(said) and (not only or METHODS in only)
    made = Paper(files, [name.removesuffix(".tex") for name in files], [], of_methods)
    head = _head(material.facts)
    if of_methods:
        files[f"{METHODS}.tex"] = f"{head}% Needs \\bibliography{{references}}\n{as_latex(said)}"
        files[f"{METHODS}.md"] = f"<!-- {mark(material.facts.study)} -->\n\n{as_markdown(said)}"
        files["references.bib"] = f"{head}\n{bibliography()}"
    label = slug(material.facts.study)
    with paper.context(width):
        for picture in (p for p in drawn.values() if not only or p.name in only):
            if _add(made, picture, warn):
                float_ = figure_float(picture.name, picture.caption, f"fig:{label}-{picture.name}", width)
                provided = rf"\providecommand{{{FOLDER}}}{{{folder}}}"
                files[f"{picture.name}.tex"] = f"{head}% Needs \\usepackage{{graphicx}}\n{provided}\n{float_}"
    return made


def _head(facts: Facts) -> str:
    commit = f", commit {str(facts.environment['commit'])[:10]}" if facts.environment.get("commit") else ""
    return f"% {mark(facts.study)}{commit}\n"


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


def tabular(columns: Mapping[str, str], cells: Sequence[Mapping[str, str]], caption: str, label: str) -> str:
    """A table over all columns of a page, with the rules of booktabs; `columns`: key of a cell → heading."""
    rows = [[latex(row.get(key, "")) for key in columns] for row in cells]
    long = max(len(row[next(iter(columns))]) for row in cells) > LONG
    style = pd.DataFrame(rows, columns=[latex(heading) for heading in columns.values()]).style
    return style.hide(axis="index").to_latex(
        environment="table*",
        position="t",
        position_float="centering",
        hrules=True,
        column_format=(r"p{0.4\linewidth}" if long else "l") + "l" * (len(columns) - 1),
        caption=latex(caption),
        label=label,
    )


def figure_float(name: str, caption: str, label: str, width: float) -> str:
    """A float with its caption below it; over both columns where it is wider than one. `width` in inches."""
    environment = "figure" if width <= WIDEST else "figure*"
    lines = [rf"\begin{{{environment}}}[t]", r"\centering", rf"\includegraphics{{{FOLDER}/{name}}}"]
    lines += [rf"\caption{{{latex(caption)}}}", rf"\label{{{label}}}", rf"\end{{{environment}}}", ""]
    return "\n".join(lines)


# Tables


Made = tuple[Mapping[str, str], list[dict[str, str]], str]
"""Columns, cells and caption."""


def _tables(material: Material) -> Iterator[tuple[str, str]]:
    """Name and LaTeX of each table that has rows."""
    head = f"{_head(material.facts)}% Needs \\usepackage{{booktabs}}\n"
    for name, of in {"comparisons": comparisons, "claims": claims, "speed": speed}.items():
        columns, cells, caption = of(material)
        if cells:
            yield name, head + tabular(columns, cells, caption, f"tab:{slug(material.facts.study)}-{name}")


def comparisons(material: Material) -> Made:
    """The planned comparisons, with the means that they compare and the placebo; the task where there are several."""
    facts, names = material.facts, short_names(material.facts)
    every = [row for row in rows_of(material.comparisons) if row["metric"] == facts.metric]
    planned, cells = verdict_rows(every), []
    for task in dict.fromkeys(row["task"] for row in every) if planned else ():
        mine = sorted((row for row in every if row["task"] == task), key=lambda row: is_true(row["placebo"]))
        rows = [_baseline(mine, names[BASELINE]), *(_cells(row, names) for row in mine)]
        cells += [{"task": task} | row for row in rows]
    columns = ({"task": "Task"} if len(facts.tasks) > 1 else {}) | VARIANTS
    return columns, cells, _caption(facts, planned) if planned else ""


def _baseline(rows: Sequence[Row], name: str) -> dict[str, str]:
    """The row of the baseline; its mean is that of the most pairs, to the digits of the finest difference."""
    most = max(rows, key=lambda row: number(row["n"]) or 0)
    places = max(decimals(row["ci_low"], row["ci_high"]) for row in rows)
    empty = dict.fromkeys(("difference", "p", "verdict"), NOTHING)
    return {"variant": name, "mean": fixed(most["mean_baseline"], places)} | empty


def _cells(row: Row, names: dict[str, str]) -> dict[str, str]:
    cells = comparison_cells(row)
    exploratory = is_true(row["exploratory"])
    return {
        "variant": names.get(row["variant"], cells["variant"]),
        "mean": cells["mean_variant"],
        "difference": f"{MARK} " * is_true(row["within_noise"]) + cells["difference"],
        "p": NOTHING if exploratory else cells["p_adjusted"],
        "verdict": NOTHING if exploratory else cells["verdict"],
    }


def _caption(facts: Facts, planned: Sequence[Row]) -> str:
    """What the columns are, in LaTeX."""
    seeds = sorted({int(number(row["n"]) or 0) for row in planned})
    over = wording.counted(seeds[-1], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    over += " and the test examples" if any(number(row["sd_example"]) is not None for row in planned) else ""
    of = " at the best validation" if facts.at == "best_validation" else ""
    at = f", {planned[0]['at']}" if planned[0]["at"] else ""
    solved = " in the share of solved runs" if all(row["decided_by"] == "rate" for row in planned) else ""
    adjusted = f", adjusted for {len(planned)} comparisons" if len(planned) > 1 else ""
    metric = wording.joined([name.replace("_", " ") for name in facts.judged])
    within = any(row["verdict"] == "equivalent" for row in planned) and facts.margin
    marked = any(is_true(row["within_noise"]) for row in planned)
    placebo = any(variant.placebo for variant in facts.variants)
    said = [
        f"Mean {metric}{of} and paired difference from the {BASELINE}{at}, positive is "
        f"better, with a 95 % interval over {over}.",
        f"p: of no difference{solved}{adjusted}.",
        f"{MARK}: smaller than what is detected with 80 % power." if marked else "",
        f"Equivalent: within ±{wording.exact(within)}." if within else "",
        f"Placebo: the {BASELINE} with another initialisation." if placebo else "",
    ]
    return " ".join(filter(None, said))


def claims(material: Material) -> Made:
    """The claims with their verdicts."""
    judged = rows_of(material.claims)
    cells = claim_table(judged, short=partial(short_claim, facts=material.facts)).rows if judged else []
    caption = (
        "Claims, each with its paired difference, positive in favour of the first, and its 95 % interval; p: that of "
        f"the claim, after Holm over {wording.counted(len(cells), 'claim')}."
    )
    return CLAIMS, cells, caption


def speed(material: Material) -> Made:
    """Time and memory of a training step, on each task."""
    facts, rows = material.facts, rows_of(material.speeds)
    tables = list(timing.brief_tables(rows, short_names(facts)))
    cells = [
        {"task": task.name, "memory": ""} | row
        for task, table in zip(facts.tasks, tables, strict=False)
        for row in table.rows
    ]
    call = timing.call_shown(timing.own(rows))
    caption = (
        f"Time of {timing.MEASURES[call]} of each variant, its ratio to that of the {BASELINE}, below 1 is faster, and "
        f"peak memory of a step. {timing.how_measured(material.evidence)} Exploratory."
    )
    return ({"task": "Task"} if len(tables) > 1 else {}) | SPEED, cells, caption
