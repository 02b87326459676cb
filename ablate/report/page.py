"""`report.html`, `report.md` and the figures: renders the blocks of sections, whatever is in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from ablate.base.text import printable
from ablate.core.short_names import in_short_names, short_names
from ablate.report import palette
from ablate.report.draw import style
from ablate.report.markdown import markdown, markdown_line, markdown_table
from ablate.report.section import Failed, Material, Picture, Shown, pictures, shown, unfolded
from ablate.report.tables import text

FIGURES = "figures"
"The folder of the figures, beside the page."


def render(material: Material, warn: Callable[[str], None]) -> dict[str, str | bytes]:
    """The files of a report by their paths in the folder of a study; the same material gives the same bytes.

    What cannot be drawn is a line of the page, and a warning.
    """
    sections = shown(material)
    files: dict[str, str | bytes] = {}
    inline: dict[str, Markup | Failed] = {}
    blocks = [block for section in sections for block in unfolded(section.blocks)]
    with style.context():
        for picture in pictures(blocks):
            try:
                png, source = drawn(picture)
            except Exception as error:
                inline[picture.name] = Failed(f"The figure “{picture.title}”", error)
                continue
            source = printable(source)
            files |= {f"{FIGURES}/{picture.name}.png": png, f"{FIGURES}/{picture.name}.svg": source}
            inline[picture.name] = Markup(style.inlined(source))
    for failed in [*blocks, *inline.values()]:
        if isinstance(failed, Failed):
            warn(failed.words)
    for name in ("report.html", "report.md"):
        files[name] = written(name, material, sections, inline)
    return files


def drawn(picture: Picture) -> tuple[bytes, str]:
    """The picture as PNG and SVG; to be called inside `draw.style.context()`."""
    return style.saved(picture.draw(), picture.name)


def figures(material: Material) -> dict[str, Figure]:
    """The figures of a report by name, to show in a notebook or to save."""
    found = {}
    with style.context():
        for picture in pictures(block for section in shown(material) for block in section.blocks):
            found[picture.name] = picture.draw()
            # Ticks are made when a figure is first drawn, by the settings of that moment.
            found[picture.name].draw_without_rendering()
    return found


def written(
    name: str, material: Material, sections: list[Shown], inline: Mapping[str, Markup | Failed]
) -> str:
    """The text of `report.html` or `report.md`; `inline`: the figures by their names."""
    environment = Environment(
        loader=PackageLoader("ablate.report"),
        autoescape=name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    names = {text(variant): short for variant, short in short_names(material.facts).items()}
    # `kind` is the name of the macro that shows a block.
    environment.filters.update(
        kind=lambda block: type(block).__name__,
        md=lambda words: markdown(text(words)),
        md_line=lambda words: markdown_line(text(words)),
        md_table=markdown_table,
        breakable=_breakable,
        variant=lambda name: _variant(name, names),
        named=lambda words: in_short_names(words, names),
        coded=_coded,
        glued=_glued,
    )
    page = environment.get_template(f"{name}.j2").render(
        facts=material.facts,
        sections=sections,
        inline=inline,
        folder=FIGURES,
        names=names,
        marks=palette.VERDICTS,
        light=Markup(palette.css_variables("light")),
        dark=Markup(palette.css_variables("dark")),
    )
    return printable(page)


def _breakable(name: str) -> Markup:
    """A name that a line may break after any of its separators, but not inside `0.02`; escaped."""
    return Markup("<wbr>").join(re.split(r"(?<=[,=/_])(?![.,=/_]|$)|(?<=\.)(?![.,=/_\d]|$)", name))


def _variant(name: str, names: Mapping[str, str]) -> Markup:
    """The short name of a variant, with the one that it has in the files as its title."""
    short = _breakable(names.get(name, name))
    full = next((full for full, shown in names.items() if name in (full, shown) and full != shown), "")
    return Markup('<span title="{}">{}</span>').format(full, short) if full else short


def _coded(words: str) -> Markup:
    """A text with what stands between backticks as code; escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(words))))


def _glued(sentence: str) -> str:
    """A sentence that no line breaks inside `[−.01, .02]` or before a percent sign."""
    sentence = re.sub(r"\[[^\[\] ]*, [^\[\] ]*\]", lambda match: match[0].replace(" ", "\u00a0"), sentence)
    return re.sub(r"(?<=\d) %", "\u00a0%", sentence)
