"""Tables, figures and a paragraph on methods for a paper: LaTeX, PDF and SVG, made of what a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ablate.base.errors import AblateError, Problem, listed, nearest
from ablate.core.facts import StudyFacts
from ablate.report.export.latex import figure_float, folder_macro, paragraph, tabular
from ablate.report.export.paper_methods import TITLE, as_markdown, methods
from ablate.report.export.paper_tables import paper_tables
from ablate.report.few_figures import with_few_figures
from ablate.report.figures import summary
from ablate.report.figures.saving import saved
from ablate.report.figures.theme import PAPER, theme
from ablate.report.section import Picture, ReportData, failed, slug
from ablate.report.sections import pictures, shown
from ablate.report.summary import NAME as SUMMARY
from ablate.report.summary import summary_picture
from ablate.report.tables.directions import is_share

METHODS = "methods"
"""The name of the paragraph on methods, as one of a table."""
KINDS = ("pdf", "svg")
"""The files of a figure."""


@dataclass(frozen=True)
class Wanted:
    """The form of what a paper gets."""

    width: float
    """Inches of the figures."""
    only: Collection[str] = ()
    """The names of the tables and figures that are made; all of them where empty."""
    folder: str = "."
    """The folder in which LaTeX finds the figures, unless the paper says otherwise."""
    percent: bool = False
    """Whether shares are shown in percent."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The resolved sections of the baseline, for the table of hyperparameters."""

    def has(self, name: str) -> bool:
        """Returns whether a table or figure is made."""
        return not self.only or name in self.only


def for_paper(report_data: ReportData, wanted: Wanted, warn: Callable[[str], None]) -> dict[str, str | bytes]:
    """Returns tables, figures and methods of a study by the names of their files.

    The same data give the same bytes. What cannot be drawn is a warning. Raises `AblateError` for a name that is
    none, and where there is nothing.
    """
    facts = report_data.facts
    if wanted.percent:
        _refuse_no_share(facts)
    tables = list(paper_tables(report_data, wanted.settings, percent=wanted.percent))
    words = methods(report_data)
    sections = shown(report_data)
    drawn = pictures(sections)
    summary_of_study = _summary(report_data, warn)
    known = [table.name for table in tables]
    if words:
        known.append(METHODS)
    known += [picture.name for picture in drawn]
    if summary_of_study is not None:
        known.append(SUMMARY)
    _refuse_unknown(wanted.only, known, facts.study)

    head = _head(facts)
    files: dict[str, str | bytes] = {}
    for table in tables:
        if wanted.has(table.name):
            label = f"tab:{slug(facts.study)}-{table.name}"
            body = tabular(table.table, label, table.bold)
            files[f"{table.name}.tex"] = f"{head}% Needs \\usepackage{{booktabs}}\n{body}"
    if words and wanted.has(METHODS):
        files |= _methods_files(words, facts, head)
    if facts.over.joins_conditions and not wanted.only:
        # What a figure shows of one condition, others would show of the others.
        drawn = pictures(with_few_figures(sections, facts.study, one_a_kind=True))
    asked = [picture for picture in drawn if wanted.has(picture.name)]
    files |= _figure_files(asked, facts, wanted, warn)
    if summary_of_study is not None and wanted.has(SUMMARY):
        files |= _drawn(summary_of_study, summary.SETTINGS, warn)
    return files


def _refuse_no_share(facts: StudyFacts) -> None:
    """Raises `AblateError` for percent of a metric that no task declares as a share of 1."""
    metrics = [task.metrics[facts.metric] for task in facts.tasks if facts.metric in task.metrics]
    if any(is_share(metric) for metric in metrics):
        return
    rule = (
        f"needs a metric with a floor of 0 or more and a ceiling of 1, which {facts.metric} does not declare"
    )
    hint = "Give `floor: 0, ceiling: 1` under `metrics:`, or `--floor 0 --ceiling 1` to `ablate analyse`"
    raise AblateError(str(Problem(rule, hint=hint, source="--percent")))


def _refuse_unknown(only: Iterable[str], known: Collection[str], study: str) -> None:
    """Raises `AblateError` for a name that is no table or figure, and where there is none at all."""
    if not known:
        raise AblateError(f"{study}: has neither comparisons nor figures; run the study first")
    for name in only:
        if name not in known:
            rule = f"is no table or figure of {study}"
            problem = Problem(rule, (), name, listed(known, 40), nearest(name, known), source="--only")
            raise AblateError(str(problem))


def _head(facts: StudyFacts) -> str:
    """Returns the first line of a file of LaTeX: the command that wrote it, and the commit."""
    commit = facts.environment.get("commit")
    of_commit = f", commit {commit[:10]}" if commit else ""
    return f"% {_mark(facts)}{of_commit}\n"


def _mark(facts: StudyFacts) -> str:
    return f"Written by: ablate export {facts.study}"


def _methods_files(words: str, facts: StudyFacts, head: str) -> dict[str, str | bytes]:
    """Returns the paragraph on methods in LaTeX and markdown, and the papers that it cites."""
    papers = (resources.files(__package__) / "references.bib").read_text("utf-8")
    return {
        f"{METHODS}.tex": f"{head}% Needs \\bibliography{{references}}\n{paragraph(TITLE, words)}",
        f"{METHODS}.md": f"<!-- {_mark(facts)} -->\n\n{as_markdown(words)}",
        "references.bib": f"{head}\n{papers}",
    }


def _figure_files(
    asked: Iterable[Picture], facts: StudyFacts, wanted: Wanted, warn: Callable[[str], None]
) -> dict[str, str | bytes]:
    """Returns each figure as PDF and SVG, with its float in LaTeX."""
    settings = {**PAPER, "figure.figsize": (wanted.width, wanted.width)}
    head = _head(facts)
    files: dict[str, str | bytes] = {}
    for picture in asked:
        made = _drawn(picture, settings, warn)
        if made:
            label = f"fig:{slug(facts.study)}-{picture.name}"
            body = figure_float(
                picture.name, picture.caption, label, wanted.width, (folder_macro(facts.study), wanted.folder)
            )
            files |= made
            files[f"{picture.name}.tex"] = f"{head}% Needs \\usepackage{{graphicx}}\n{body}"
    return files


def _drawn(
    picture: Picture, settings: Mapping[str, Any], warn: Callable[[str], None]
) -> dict[str, str | bytes]:
    """Returns the files of one figure; none, and a warning, where it cannot be drawn."""
    try:
        with theme(settings):
            made = saved(picture.draw(), picture.name, KINDS)
    except Exception as error:
        warn(failed(f"The figure “{picture.name}”", error).words)
        return {}
    return {f"{picture.name}.{kind}": data for kind, data in made.items()}


def _summary(report_data: ReportData, warn: Callable[[str], None]) -> Picture | None:
    """Returns the picture of the study, or None where there is none; that it cannot be made is a warning."""
    try:
        return summary_picture(report_data)
    except Exception as error:
        warn(failed(f"The figure “{SUMMARY}”", error).words)
        return None
