"""`report.html` and `report.md`: one page a study, from its evidence and verdicts alone."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ablate.analysis import wording
from ablate.files import replacing, write_text
from ablate.records.evidence import BASELINE, Evidence, Facts
from ablate.report import figure_data, figures, style, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = "figures"
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
class Drawing:
    """One figure of the page; `draw` makes it in a given width."""

    name: str
    "Of its file, and in front of its identifiers."
    title: str
    caption: str
    alt: str
    draw: Callable[[float], Figure]

    @property
    def file(self) -> str:
        """The path of its picture, beside the page."""
        return f"{FIGURES}/{self.name}.png"

    def render(self, folder: Path) -> Picture:
        """Saves the picture for a paper, on white at `style.DPI`, and returns those for the page."""
        with style.context():
            wide, narrow = self.draw(style.WIDE), self.draw(style.NARROW)
            with replacing(folder / self.file) as path:
                wide.savefig(
                    path, dpi=style.DPI, facecolor=style.colour("paper"), metadata={"Software": None}
                )
            return Picture(self, self._svg(wide, "wide"), self._svg(narrow, "narrow"))

    def _svg(self, drawn: Figure, suffix: str) -> Markup:
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return Markup(style.themed(buffer.getvalue(), f"{self.name}-{suffix}"))


@dataclass(frozen=True)
class Picture:
    """A drawing as it stands in the page: outlined text, colours that follow the theme."""

    drawing: Drawing
    wide: Markup
    narrow: Markup


def write_report(
    evidence: Evidence, comparisons: pd.DataFrame, claims: pd.DataFrame, headline: list[str], folder: Path
) -> None:
    """Writes `report.html`, `report.md` and `figures/` into `folder`, each file whole or not at all.

    `comparisons`, `claims` and `headline` are what `analysis` makes of `evidence`. The same arguments give the
    same bytes. Pictures of an earlier report that this one no longer has are removed.
    """
    drawings = plan_drawings(evidence, comparisons)
    pictures = [drawing.render(folder) for drawing in drawings]
    content = _content(evidence, comparisons, claims, headline) | {"pictures": pictures}
    write_text(folder / "report.html", _environment(True).get_template("report.html.j2").render(content))
    write_text(folder / "report.md", _environment(False).get_template("report.md.j2").render(content))
    kept = {Path(drawing.file).name for drawing in drawings}
    for path in (folder / FIGURES).glob("*.png"):
        if path.name not in kept:
            path.unlink()


def plan_drawings(evidence: Evidence, comparisons: pd.DataFrame) -> list[Drawing]:
    """The figures that the evidence has the data for, task by task."""
    facts = evidence.facts
    several = len(facts.tasks) > 1
    result = []
    for i, task in enumerate(facts.tasks):
        if facts.metric not in task.metrics:
            continue
        end = f"-{i + 1}-{_slug(task.name)}" if several else ""
        of = f" on {task.name}" if several else ""
        result += _forest(facts, comparisons, task.name, end, of)
        result += _seeds(evidence, task.name, end, of)
        result += _curves(evidence, task.name, end, of)
    return result


def _forest(facts: Facts, comparisons: pd.DataFrame, task: str, end: str, of: str) -> list[Drawing]:
    data = figure_data.forest(facts, comparisons, task)
    if data["diff"].isna().all():
        return []
    verdicts = [
        f"{n} {verdict}" for verdict, n in data.loc[~data["placebo"], "verdict"].value_counts().items()
    ]
    margin = f" The band is the margin, ±{wording.exact(facts.margin)}." if facts.margin else ""
    floor = " Dotted: the interval of the placebo, the noise floor." if data["placebo"].any() else ""
    caption = (
        f"Mean paired difference in {facts.metric} from the baseline over seeds, right of zero is better. Thick: "
        f"95 % interval; thin: Bonferroni interval of the family, cut at the edge of the axis.{margin}{floor} "
        "Where a few differences dwarf the rest, the right axis looks closer, and an arrow points to what it "
        "leaves out."
    )
    alt = f"Forest plot of {len(data)} differences from the baseline in {facts.metric}{of}: {', '.join(verdicts)}."
    draw = functools.partial(figures.forest, data, facts.metric, facts.margin)
    return [Drawing(f"forest{end}", f"Differences from the baseline{of}", caption, alt, draw)]


def _seeds(evidence: Evidence, task: str, end: str, of: str) -> list[Drawing]:
    facts = evidence.facts
    data = figure_data.seeds(evidence, task)
    if data[["baseline", "value"]].isna().all(axis=None):
        return []
    caption = (
        f"Every run's {facts.metric}. A line joins the two runs of one seed, which share their data and the "
        "initial values they have in common. Upright bars are means."
    )
    runs = int(data["value"].notna().sum())
    alt = f"The {facts.metric} of {runs} runs{of}, each joined to the baseline's run of the same seed."
    draw = functools.partial(figures.seeds, data, facts.metric, figure_data.metric_facts(facts, task))
    return [Drawing(f"seeds{end}", f"Every seed{of}", caption, alt, draw)]


def _curves(evidence: Evidence, task: str, end: str, of: str) -> list[Drawing]:
    facts = evidence.facts
    panels = figure_data.panels(facts)
    result = []
    for metric in figure_data.curve_metrics(evidence):
        data = figure_data.curves(evidence, task, metric)
        broken = figure_data.broken_curves(evidence, task, metric)
        if data.empty and broken.empty:
            continue
        label = metric.replace("_", " ")
        crosses = " A thin line that ends in a cross is a run that did not complete." if len(broken) else ""
        caption = (
            f"{label.capitalize()} by step. Line: mean over the seeds that completed; band: from the lowest seed "
            f"to the highest.{crosses}"
        )
        alt = f"{label.capitalize()} by training step{of}, the baseline and the levels of {len(panels)} factors."
        known = figure_data.metric_facts(facts, task) if metric.endswith(facts.metric) else None
        draw = functools.partial(figures.curves, data, broken, panels, label, known)
        result.append(Drawing(f"{_slug(metric)}{end}", f"{label.capitalize()}{of}", caption, alt, draw))
    return result


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "x"


def _content(
    evidence: Evidence,
    comparisons: pd.DataFrame,
    claims: pd.DataFrame,
    headline: list[str],
) -> dict[str, Any]:
    facts = evidence.facts
    learned = figure_data.learned(evidence)
    verdicts = tables.verdict_rows(comparisons, facts.metric)
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
        "variants": _variants(facts),
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


def _variants(facts: Facts) -> tables.Table:
    """What each variant changes and what it costs; a cost is of the first task where tasks differ."""
    columns = [
        tables.Column("variant", "Variant"),
        tables.Column("changes", "Changes"),
        tables.Column("parameters", "Parameters", True),
        tables.Column("flops", "FLOPs an example", True),
    ]
    rows = []
    for variant in facts.variants:
        changes = ", ".join(f"{path}: {level}" for path, level in variant.changes.items())
        if variant.placebo:
            changes = "nothing but its random streams"
        rows.append(
            {
                "variant": tables.text(variant.name),
                "changes": tables.text(changes) or tables.NOTHING,
                "parameters": _first(variant.parameters),
                "flops": _first(variant.flops),
            }
        )
    return tables.Table(columns, rows)


def _first(by_task: dict[str, Any]) -> str:
    return tables.count(next(iter(by_task.values()), None))


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
