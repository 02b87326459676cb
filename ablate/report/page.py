"""`report.html` and `report.md`: one page a study, from its evidence and verdicts alone."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from ablate.analysis.pairing import pairing, summary
from ablate.analysis.tuning import Tuning
from ablate.base import wording
from ablate.base.files import replacing, write_text
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.records.evaluated import Evaluated
from ablate.report import (
    attention_maps,
    costs,
    figure_data,
    style,
    svg,
    tables,
    tuning_figures,
    tuning_tables,
)
from ablate.report.drawings import FIGURES, Drawing, plan_drawings
from ablate.report.evaluations import evaluation_table
from ablate.report.search_drawings import search_drawings
from ablate.report.search_section import Sweep, search_content
from ablate.report.ticks import fix_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = Evaluated()
GUIDE = {
    "better": "Better than the baseline on the same seeds, by more than chance explains (Holm p below .05).",
    "worse": "Worse than the baseline on the same seeds, by more than chance explains (Holm p below .05).",
    "equivalent": "The 90 % interval of the difference lies within the declared margin: too small to matter.",
    "inconclusive": "Neither shown. Not evidence of no difference: see what could have been detected.",
    "unstable": "Some runs diverged. How often they do is the result; means are of the runs that did not.",
    "degenerate": "Every difference is zero, or both sit at the limit of the metric: nothing can be learned.",
}
"""What each verdict means, in a line (METHODS §2)."""


@dataclass(frozen=True)
class Picture:
    """A drawing as it stands in the page: its colours follow the theme."""

    drawing: Drawing
    wide: Markup
    narrow: Markup


@dataclass(frozen=True)
class Section:
    """Pictures below one heading."""

    title: str
    pictures: list[Picture]

    @property
    def grouped(self) -> bool:
        """Whether each of its pictures has a subheading."""
        return bool(self.pictures[0].drawing.section)

    @property
    def name(self) -> str:
        """Of the element that is its heading."""
        return self.title.lower() if self.grouped else self.pictures[0].drawing.name

    @property
    def legend(self) -> str:
        """What is said of all its pictures."""
        return self.pictures[0].drawing.legend


def render(drawing: Drawing, folder: Path, classes: dict[str, str]) -> Picture:
    """Saves the picture for a paper, on white at `style.DPI`, and returns those for the page.

    `classes` are those of `svg.inlined`.
    """
    with style.context():
        wide, narrow = drawing.draw(style.WIDE), drawing.draw(style.NARROW)
        for figure in (wide, narrow):
            fix_ticks(figure)
        sources = [_svg(figure) for figure in (wide, narrow)]
        with replacing(folder / drawing.file) as path:
            _save_png(wide, path)
    inline = [
        Markup(svg.inlined(source, f"{drawing.name}-{suffix}", classes))
        for source, suffix in zip(sources, "wn", strict=True)
    ]
    return Picture(drawing, *inline)


def _save_png(figure: Figure, path: Path) -> None:
    """The figure on white, in as many colours as it needs: a third of the size of true colour."""
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(style.DPI)
    figure.set_facecolor(style.colour("paper"))
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    palette = picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette.save(path, format="png", dpi=(style.DPI, style.DPI))


def _svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def write_report(
    evidence: Evidence,
    comparisons: pd.DataFrame,
    claims: pd.DataFrame,
    headline: list[str],
    folder: Path,
    evaluated: Evaluated = NOTHING,
    left_out: str = "",
    tuning: Tuning | None = None,
    sweep: Sweep | None = None,
) -> None:
    """Writes `report.html`, `report.md` and `figures/` into `folder`, each file whole or not at all.

    `comparisons`, `claims` and `headline` are what `analysis` makes of `evidence`, `evaluated` is what was found
    of kept weights, `left_out` says what else was; `tuning` is what the searches that tuned the variants show, `sweep`
    what a search before the study found. The same arguments give the same bytes. Pictures of an earlier report that
    this one no longer has are removed.
    """
    drawings = [
        *tuning_figures.drawings(tuning, evidence.facts),
        *plan_drawings(evidence, comparisons),
        *attention_maps.drawings(evaluated.maps, evidence.facts),
    ]
    classes: dict[str, str] = {}
    pictures = [render(drawing, folder, classes) for drawing in drawings]
    searched = search_drawings(sweep.searched, sweep.importances) if sweep else []
    found = [render(drawing, folder, classes) for drawing in searched]
    content = _content(evidence, comparisons, claims, headline)
    content["sweep"] = search_content(sweep, evidence) | {"pictures": found} if sweep else None
    content["evaluated"] = evaluation_table(evaluated.rows, evidence.facts)
    content |= {"left_out": left_out, "tuning": tuning_tables.content(tuning)}
    content |= {"sections": _sections(pictures), "picture_css": Markup(svg.css(classes))}
    write_text(folder / "report.html", _environment(True).get_template("report.html.j2").render(content))
    write_text(folder / "report.md", _environment(False).get_template("report.md.j2").render(content))
    kept = {Path(drawing.file).name for drawing in [*drawings, *searched]}
    for path in (folder / FIGURES).glob("*.png"):
        if path.name not in kept:
            path.unlink()


def _sections(pictures: list[Picture]) -> list[Section]:
    """The pictures in order; those beside each other that name the same section share one."""
    groups = itertools.groupby(pictures, lambda picture: picture.drawing.section or picture.drawing.name)
    found = [list(group) for _, group in groups]
    return [Section(group[0].drawing.section or group[0].drawing.title, group) for group in found]


def _content(
    evidence: Evidence,
    comparisons: pd.DataFrame,
    claims: pd.DataFrame,
    headline: list[str],
) -> dict[str, Any]:
    facts = evidence.facts
    learned = figure_data.learned(evidence)
    verdicts = tables.verdict_rows(comparisons, facts.metric)
    pairs = pairing(evidence)
    present = {row["verdict"] for row in verdicts}
    return {
        "facts": facts,
        "headline": headline,
        "badge": _badge(learned),
        "verdicts": tables.verdict_table(verdicts) if verdicts else None,
        "claims": tables.claim_table(tables.rows_of(claims)) if len(claims) else None,
        "all_rows": tables.detail_table(tables.rows_of(comparisons)) if len(comparisons) else None,
        "incidents": figure_data.incidents(evidence).to_dict("records"),
        "guide": {verdict: meaning for verdict, meaning in GUIDE.items() if verdict in present} or GUIDE,
        "variants": costs.cost_table(facts),
        "cost_differences": costs.differences(facts),
        "pairing": tables.pairing_table(tables.rows_of(pairs)) if len(pairs) else None,
        "pairing_summary": summary(pairs) if len(pairs) else "",
        "provenance": _provenance(evidence),
        "marks": tables.MARKS,
        "colours": {verdict: mark.colour for verdict, mark in style.VERDICTS.items()}
        | {"supported": "blue", "refuted": "orange"},
        "light": Markup(style.css_variables("light")),
        "dark": Markup(style.css_variables("dark")),
    }


def _badge(learned: list[figure_data.Learned]) -> dict[str, str]:
    """Whether the baseline learned, in a few words, and their colour."""
    if not any(task.runs for task in learned):
        return {"words": "No baseline run has an outcome", "colour": "orange"}
    if not all(task.everywhere for task in learned):
        return {"words": "The baseline did not learn", "colour": "orange"}
    if all(task.solved is None for task in learned):
        return {"words": "No threshold says whether the baseline learned", "colour": "soft"}
    return {"words": "The baseline learned", "colour": "green"}


def _provenance(evidence: Evidence) -> list[tuple[str, str]]:
    """How the study was run, as pairs of a term and its description."""
    facts, known = evidence.facts, dict(evidence.facts.environment)
    commit, dirty = known.pop("commit", None), known.pop("dirty", None)
    versions = known.pop("versions", None) or {}
    statuses = evidence.trials["status"].value_counts().sort_index()
    seeds = ", ".join(map(str, facts.seeds))
    at = {"last": "at the last step", "best_validation": "at the step that was best on validation"}
    pairs = [
        ("Command", known.pop("command", None)),
        ("Commit", commit and f"{commit}{', with uncommitted changes' if dirty else ''}"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Machine", known.pop("machine", None)),
        *((key.replace("_", " ").capitalize(), value) for key, value in sorted(known.items())),
        ("Design", facts.design.replace("_", " ")),
        ("Metric", f"{facts.metric}, {at.get(facts.at, facts.at)}"),
        ("Margin", "none declared" if facts.margin is None else f"±{wording.exact(facts.margin)}"),
        ("Seeds", f"{len(facts.seeds)} ({seeds})" if len(facts.seeds) <= 20 else str(len(facts.seeds))),
        ("Trials", ", ".join(f"{n} {status}" for status, n in statuses.items())),
        (
            "Test data",
            "the same split for every seed; verdicts are conditional on it" if facts.data_fixed else None,
        ),
    ]
    return [(term, tables.text(value)) for term, value in pairs if tables.text(value)]


def _environment(html: bool) -> Environment:
    environment = Environment(
        loader=PackageLoader("ablate.report"),
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Callable[..., Any]] = {
        "md": tables.markdown,
        "md_line": tables.markdown_line,
        "line": tables.text,
        "table": tables.markdown_table,
        "breakable": _breakable,
        "glued": _glued,
    }
    environment.filters |= filters
    environment.globals["baseline"] = BASELINE
    return environment


def _breakable(name: str) -> Markup:
    """A name that a line may break after any of its separators, escaped."""
    return Markup("<wbr>").join(re.findall(r"[^.,=/_]*[.,=/_]*", name)[:-1])


def _glued(sentence: str) -> str:
    """A sentence that no line breaks inside `[−.01, .02]` or before a percent sign."""
    sentence = re.sub(r"\[[^\[\] ]*, [^\[\] ]*\]", lambda match: match[0].replace(" ", "\u00a0"), sentence)
    return re.sub(r"(?<=\d) %", "\u00a0%", sentence)
