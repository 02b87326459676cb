"""`report.html`, `report.md` and the figures: renders the blocks of sections; names and tables in markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from ablate.base.text import printable
from ablate.records.folder import FIGURES
from ablate.report.few_figures import with_few_figures
from ablate.report.figures import saving
from ablate.report.figures.theme import VERDICTS, css_variables, theme
from ablate.report.section import Block, Picture, ReportData, Text, failed, unfolded
from ablate.report.sections import Shown, pictures, shown
from ablate.report.sentences.verdict_words import verdict_parts
from ablate.report.words import Column, Table, templates, text

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure


def render(
    report_data: ReportData, warn: Callable[[str], None], *, all_figures: bool = False
) -> dict[str, str | bytes]:
    """Returns the files of a report by their paths in the folder of a study; the same data give the same bytes.

    At most a dozen figures are drawn, unless `all_figures` are asked for. Those that are seen without unfolding are PNG
    files too. What cannot be drawn is a line of the page, and a warning.
    """
    sections = shown(report_data)
    if not all_figures:
        facts = report_data.facts
        sections = with_few_figures(sections, facts.study, one_a_kind=facts.over.joins_conditions)
    files: dict[str, str | bytes] = {}
    inline: dict[str, Markup | Text] = {}
    as_png = {picture.name for picture in pictures([section for section in sections if section.open])}
    with theme():
        for picture in pictures(sections):
            kinds = ("svg", "png") if picture.name in as_png else ("svg",)
            try:
                figure_files = drawn(picture, kinds)
            except Exception as error:
                inline[picture.name] = failed(f"The figure “{picture.title}”", error)
                continue
            source = printable(figure_files["svg"].decode())
            inline[picture.name] = Markup(saving.inlined(source))
            files[f"{FIGURES}/{picture.name}.svg"] = source
            if "png" in figure_files:
                files[f"{FIGURES}/{picture.name}.png"] = figure_files["png"]
    blocks: list[Block | Markup] = list(inline.values())
    for section in sections:
        blocks += unfolded(section.blocks)
    for block in blocks:
        if isinstance(block, Text) and block.fault:
            warn(block.words)
    brief = [section for section in sections if section.brief]
    folded = [section for section in sections if not section.brief]
    files["report.html"] = written("report.html", report_data, sections, inline, as_png=as_png)
    files["report.md"] = written("report.md", report_data, brief, inline, folded)
    return files


def drawn(picture: Picture, kinds: Sequence[str]) -> dict[str, bytes]:
    """Returns the picture as files by their kinds; to be called inside `figures.theme.theme()`."""
    return saving.saved(picture.draw(), picture.name, kinds)


def figures(report_data: ReportData) -> dict[str, Figure]:
    """Returns the figures of a report by name, to show in a notebook or to save."""
    with theme():
        found = {picture.name: picture.draw() for picture in pictures(shown(report_data))}
        for figure in found.values():
            # Ticks are made when a figure is first drawn, by the settings of that moment.
            figure.draw_without_rendering()
    return found


def written(
    name: str,
    report_data: ReportData,
    sections: Sequence[Shown],
    inline: Mapping[str, Markup | Text],
    folded: Sequence[Shown] = (),
    as_png: Collection[str] = (),
) -> str:
    """Returns the text of `report.html` or `report.md`; `inline`: the figures by their names.

    folded: the sections of which markdown names only the figures and files. as_png: the figures to which the page
    links as PNG files too.
    """
    environment = _environment(autoescape=name.endswith(".html"))
    page = environment.get_template(f"{name}.j2").render(
        facts=report_data.facts,
        sections=sections,
        folded=folded,
        inline=inline,
        as_png=as_png,
        folder=FIGURES,
        marks=VERDICTS,
        light=Markup(css_variables(dark=False)),
        dark=Markup(css_variables(dark=True)),
    )
    return printable(page)


@cache
def _environment(*, autoescape: bool) -> Environment:
    """Returns the templates of pages, with the filters that they use."""
    environment = templates(
        Path(__file__).parent / "templates",
        autoescape=autoescape,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # `kind` is the name of the macro that shows a block.
    environment.filters.update(
        kind=lambda block: type(block).__name__,
        parts=verdict_parts,
        classes=_classes,
        md=lambda words: markdown(text(words)),
        md_line=lambda words: markdown_line(text(words)),
        md_table=markdown_table,
        unbroken=_unbroken,
        # What stands between backticks is code.
        coded=lambda words: Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(words)))),
    )
    return environment


def _unbroken(words: str) -> str:
    """Returns the words of a cell, of which an interval, a change or a factor stays in one line where the cell takes
    several.
    """
    return re.sub(r"\[[^]]*\]|\([^()a-z]*\)|× \d", lambda part: part[0].replace(" ", "\xa0"), words)


def _classes(column: Column) -> Markup:
    """Returns the attribute `class` of the cells of a column; nothing where it has none."""
    flags = {"number": column.numeric, "words": column.words and not column.numeric, "spare": column.spare}
    names = [name for name, is_set in flags.items() if is_set]
    return Markup(' class="{}"').format(" ".join(names)) if names else Markup()


def markdown(value: str) -> str:
    """Returns `value` as literal text inside a line of markdown, for instance in a table cell."""
    value = re.sub(r"([\\`*\[\]~#])", r"\\\1", value)
    # An underscore inside a word is literal already, and low_rank reads better than low\_rank.
    value = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", value)
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")


def markdown_line(value: str) -> str:
    """Returns `value` as literal text at the start of a line, where it must not begin a list or a rule either."""
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", markdown(value.strip()))


def markdown_table(table: Table) -> str:
    """Returns a pipe table; every cell is escaped, and a verdict has its mark in front."""
    head = [markdown(column.heading) for column in table.columns]
    rule = "|".join("---:" if column.numeric else ":---" for column in table.columns)
    body = [[markdown(_cell(row[c.key], c.key)) for c in table.columns] for row in table.rows]
    first, *others = [f"| {' | '.join(cells)} |" for cells in (head, *body)]
    return "\n".join([first, f"|{rule}|", *others])


def _cell(words: str, key: str) -> str:
    return marked(words) if key == "verdict" else words


def marked(verdict: str) -> str:
    """Returns a verdict with its mark in front; other words as they are."""
    word, _ = verdict_parts(verdict)
    return f"{VERDICTS[word].sign} {verdict}" if word in VERDICTS else verdict
