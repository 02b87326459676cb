"""The step from the evidence in a study's folder to its verdicts and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.core.derived import DERIVED
from ablate.records.folder import CLAIMS, COMPARISONS, StudyFolder

if TYPE_CHECKING:
    import pandas as pd

    from ablate.report.section import ReportData


@dataclass(frozen=True)
class Verdicts:
    """The first part of a report."""

    # By the names of their files.
    tables: Mapping[str, pd.DataFrame]
    # In sentences.
    answer: Sequence[str]


@dataclass(frozen=True)
class Page:
    """The second part of a report: its page and figures."""

    # Path in the study's folder → content.
    files: Mapping[str, str | bytes]
    # What was not drawn, and why.
    faults: Sequence[str]


def publish(
    folder: StudyFolder,
    warn: Callable[[str], None],
    on_verdicts: Callable[[], None] = lambda: None,
    *,
    all_figures: bool = False,
) -> None:
    """Writes verdicts and page of a study from its folder alone. Raises `AblateError`.

    `on_verdicts` is called once the verdicts are written. What cannot be drawn after that is a warning. all_figures:
    whether a page of dozens of figures has more than a few.
    """
    write_report(folder, make_report(folder, all_figures=all_figures), warn, on_verdicts)


def make_report(folder: StudyFolder, *, all_figures: bool = False) -> Iterator[Verdicts | Page]:
    """Yields the verdicts of a study and then its page, from its folder alone; see `publish`.

    Writes nothing. Raises `AblateError`.
    """
    from ablate.pipeline.claims import with_waiting
    from ablate.report.noise_words import noise_lines
    from ablate.report.sections import HEADLINE

    data = report_data(folder)
    tables = {COMPARISONS: data.comparisons, CLAIMS: with_waiting(data.claims, folder)}
    for name, table in data.tables.items():
        tables[f"{name}.csv"] = table
    yield Verdicts(tables, [*HEADLINE.answers(data), *noise_lines(data), *HEADLINE.warnings(data)])

    # Only once the verdicts are on their way: to import what draws takes long.
    from ablate.report.page import render

    faults: list[str] = []
    yield Page(render(data, faults.append, all_figures=all_figures), faults)


def write_report(
    folder: StudyFolder,
    parts: Iterable[Verdicts | Page],
    warn: Callable[[str], None],
    on_verdicts: Callable[[], None],
) -> None:
    """Writes the parts of a report as they are made; see `publish`."""
    for part in parts:
        if isinstance(part, Verdicts):
            folder.save_verdicts(part.tables, part.answer)
            on_verdicts()
        else:
            folder.save_page(part.files)
            for fault in part.faults:
                warn(f"{folder.report_file}: {fault}")


def report_data(folder: StudyFolder) -> ReportData:
    """Judges the evidence of a study, and returns all that its report is made from."""
    from ablate.analysis.claims import judge_claims
    from ablate.analysis.compare import compare
    from ablate.analysis.interactions import interactions
    from ablate.analysis.speed_tables import speed_tables
    from ablate.analysis.stability import stability
    from ablate.pipeline.other_runs import configs_of, other_runs, stored_elsewhere
    from ablate.records.evaluated import reported_evaluations
    from ablate.report.section import ReportData

    evidence = folder.evidence()
    # Other runs may have been added since the evidence was collected.
    others = other_runs(folder, configs_of(folder), evidence, stored_elsewhere(folder, evidence))
    comparisons = compare(evidence)
    claims = judge_claims(evidence)
    stability_rows = stability(evidence)
    tables = {"stability": stability_rows, **speed_tables(evidence)}
    interaction_rows = interactions(evidence)
    if len(interaction_rows):
        tables["interactions"] = interaction_rows
    if evidence.only_measured:
        # Nothing was trained that could be compared, and claims about it wait.
        comparisons = comparisons[:0]
        tables["stability"] = stability_rows[:0]
        ratios = [name for name, derived in DERIVED.items() if derived.kind == "ratio"]
        claims = claims[claims["metric"].isin(ratios)]
    return ReportData(
        evidence,
        comparisons,
        claims,
        evaluated=reported_evaluations(folder, evidence),
        tables=tables,
        results=folder.results,
        other_runs=evidence.facts.other_runs | others,
        dated=_dated(folder),
    )


def _dated(folder: StudyFolder) -> str:
    """Returns the date of the first plan of a study; empty where none was kept, or it cannot be read."""
    plans = folder.readable_plans()
    return plans[0].declared if plans else ""
