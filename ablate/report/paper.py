"""Tables, figures and a paragraph on methods for a paper: LaTeX, PDF and SVG, made of what a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ablate.analysis.family import family_size
from ablate.base import wording
from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_claim, short_names
from ablate.report import timing
from ablate.report.brief.claims import claim_table
from ablate.report.brief.verdicts import comparison_cells, verdict_rows
from ablate.report.draw import paper
from ablate.report.latex import METHODS, figure_float, floating, running, tabular
from ablate.report.methods import as_latex, as_markdown, methods, sources
from ablate.report.section import Failed, Material, Picture, pictures, shown, slug
from ablate.report.tables import NOTHING, Column, Row, Table, decimals, fixed, number, rows_of

VARIANTS = [
    Column("variant", "Variant"),
    Column("mean", "Mean", True),
    Column("difference", "Difference", True),
    Column("mde", "Detectable", True),
    Column("verdict", "Verdict"),
]
CLAIMS = [
    Column("claim", "Claim"),
    Column("difference", "Difference", True),
    Column("n", "Seeds", True),
    Column("verdict", "Verdict"),
]


SPEED = [
    Column("variant", "Variant"),
    Column("time", "Time", True),
    Column("ratio", r"Ratio [95\,\%]", True),
    Column("memory", "Memory", True),
]


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
    tables = {name: table for name, table in _tables(material) if table}
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
        files["references.bib"] = head + "\n" + "\n".join(source.bibtex for source in sources(said))
    label = slug(material.facts.study)
    with paper.context(width):
        for picture in (p for p in drawn.values() if not only or p.name in only):
            if _add(made, picture, warn):
                call = rf"\includegraphics{{{FOLDER}/{picture.name}}}"
                float_ = figure_float(call, running(picture.caption), f"fig:{label}-{picture.name}", width)
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


# Tables


def _tables(material: Material) -> Iterator[tuple[str, str]]:
    """Name and LaTeX of each table; without text where there is nothing to show."""
    label = slug(material.facts.study)
    head = f"{_head(material.facts)}% Needs \\usepackage{{booktabs}}\n"
    for name, of in {"comparisons": comparisons, "claims": claims, "speed": speed}.items():
        made = of(material)
        if made:
            content, caption = made
            yield name, head + floating(content, caption, f"tab:{label}-{name}")


def comparisons(material: Material) -> tuple[str, str] | None:
    """The planned comparisons, with the means that they compare and the placebo: a tabular, and its caption."""
    facts, names = material.facts, short_names(material.facts)
    every = [row for row in rows_of(material.comparisons) if row["metric"] == facts.metric]
    planned = verdict_rows(every)
    if not planned:
        return None
    rows: list[dict[str, str]] = []
    rules: list[int] = []
    for task in dict.fromkeys(row["task"] for row in every):
        mine = [row for row in every if row["task"] == task]
        if len(facts.tasks) > 1:
            rules += [len(rows)] if rows else []
            rows.append({"variant": str(task)})
        rows.append(_baseline(mine, names[BASELINE]))
        rows += [_cells(row, names) for row in mine]
    long = max(len(row["variant"]) for row in rows) > 30
    columns = (r"p{0.3\linewidth}" if long else "l") + "rrrl"
    return tabular(Table(VARIANTS, rows), columns, rules), _caption(facts, planned)


def _baseline(rows: Sequence[Row], name: str) -> dict[str, str]:
    """The row of the baseline; its mean is that of the most pairs, to the digits of the finest difference."""
    most = max(rows, key=lambda row: number(row["n"]) or 0)
    places = max(decimals(row["ci_low"], row["ci_high"]) for row in rows)
    empty = dict.fromkeys(("difference", "mde", "verdict"), NOTHING)
    return {"variant": name, "mean": fixed(most["mean_baseline"], places)} | empty


def _cells(row: Row, names: dict[str, str]) -> dict[str, str]:
    cells = comparison_cells(row)
    return {
        "variant": names.get(row["variant"], cells["variant"]),
        "mean": fixed(row["mean_variant"], decimals(row["ci_low"], row["ci_high"])),
        "difference": cells["difference"],
        "mde": cells["mde"],
        "verdict": cells["verdict"] or NOTHING,
    }


def _caption(facts: Facts, planned: Sequence[Row]) -> str:
    """What the columns are, in LaTeX."""
    seeds = sorted({int(number(row["n"]) or 0) for row in planned})
    over = wording.counted(seeds[-1], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    of = " at the best validation" if facts.at == "best_validation" else ""
    at = f" at {facts.rate}, not tuned" if facts.rate else ""
    within = any(row["verdict"] == "equivalent" for row in planned) and facts.margin
    m = family_size(facts)
    said = [
        f"Mean {facts.metric.replace('_', ' ')}{of} and paired difference from the {BASELINE}{at}, positive is "
        f"better, over {over}, with the interval that decides, at 1 - .05/{m} in a family of {m}.",
        "Detectable: with 80 % power.",
        f"Equivalent: within ±{wording.exact(within)}." if within else "",
        f"Placebo: the {BASELINE} with another initialisation." * any(v.placebo for v in facts.variants),
    ]
    return running(" ".join(filter(None, said)))


def claims(material: Material) -> tuple[str, str] | None:
    """The claims with their verdicts: a tabular, and its caption."""
    judged = rows_of(material.claims)
    if not judged:
        return None
    rows = claim_table(judged, short=partial(short_claim, facts=material.facts)).rows
    caption = "Claims, each with its paired difference, positive in favour of the first, and the interval that decides."
    return tabular(Table(CLAIMS, rows), r"p{0.5\linewidth}rrl"), running(caption)


def speed(material: Material) -> tuple[str, str] | None:
    """Time and memory of a training step, a group of rows a task: a tabular, and its caption."""
    tables = list(timing.brief_tables(rows_of(material.speeds), short_names(material.facts)))
    rows: list[dict[str, str]] = []
    for task, table in zip(material.facts.tasks, tables, strict=False):
        rows += [{"variant": task.name}] if len(tables) > 1 else []
        rows += table.rows
    if not rows:
        return None
    call = timing.call_shown(timing.own(rows_of(material.speeds)))
    caption = (
        f"Time of {timing.MEASURES[call]} of each variant, its ratio to that of the {BASELINE}, below 1 is faster, and "
        f"peak memory of a step. {timing.how_measured(material.evidence)} Exploratory."
    )
    return tabular(Table(SPEED, rows), "lrrr"), running(caption)
