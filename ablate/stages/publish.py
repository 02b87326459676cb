"""From the evidence in a study's folder to verdicts and report; and what the terminal shows of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.collector import gc_paused
from ablate.base.errors import StudyError
from ablate.base.passwords import masked
from ablate.base.printable import printable
from ablate.records.folder import StudyFolder

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.report.section import Material


def publish(
    folder: StudyFolder, warn: Callable[[str], None], judged: Callable[[], None] = lambda: None
) -> None:
    """Writes comparisons and claims from the folder alone, then figures and page. Raises `AblateError`.

    `judged` is called when the verdicts are written. What cannot be drawn after that is a warning.
    """
    from ablate.stages.claims import with_waiting

    with gc_paused():
        found = material(folder)
        before = found.untuned_comparisons
        folder.save_verdicts(
            found.comparisons,
            with_waiting(found.claims, folder),
            None if before is None else before.assign(exploratory=True),
        )
    judged()
    with gc_paused():
        from ablate.report.page import render

        folder.save_page(render(found, lambda fault: warn(f"{folder.report_file}: {fault}")))


def material(folder: StudyFolder) -> Material:
    """Everything that the report of a study is made from."""
    from ablate.analysis.claims import judge_claims
    from ablate.analysis.compare import compare
    from ablate.report.section import Material

    evidence = folder.evidence()
    evaluated, left_out = folder.evaluated().current(set(evidence.trials["id"]), _checkpoint(folder))
    kind = evidence.facts.searched
    untuned = folder.evidence(untuned=True) if kind == "tuning" and folder.has_untuned else None
    return Material(
        evidence,
        compare(evidence),
        judge_claims(evidence),
        evaluated,
        left_out,
        folder.search_table(kind),
        folder.importances() if kind == "sweep" else None,
        untuned,
        compare(untuned) if untuned is not None else None,
    )


def _checkpoint(folder: StudyFolder) -> str:
    """Which weights the study keeps, by its resolved file; `none` where that cannot be told."""
    from ablate.study.document import read_document

    try:
        return str(read_document(folder.study_file).data.get("checkpoint", "none"))
    except StudyError:
        return "none"


def describe(folder: StudyFolder) -> str:
    """The question and the verdicts in markdown, for MLflow."""
    from ablate.report.markdown import verdict_markdown

    judged = [row for row in folder.claims() if row["verdict"]]
    question = folder.facts().question or f"Verdicts of {folder.name}"
    return printable(f"{question}\n\n{verdict_markdown(folder.comparisons(), judged)}")


def print_results(folder: StudyFolder, console: Console) -> None:
    """The verdicts of a study, and where the report and MLflow are."""
    print_table(folder, console)
    print_places(folder, console)


def print_table(folder: StudyFolder, console: Console) -> None:
    """The verdicts of a study."""
    from ablate.report.terminal import print_verdicts

    print_verdicts(folder.path, console)


def print_places(folder: StudyFolder, console: Console, tracking_uri: str | None = None) -> None:
    """Where the report and MLflow are."""
    results = "" if folder.results == Path("results") else f" --results {folder.results}"
    mlflow = masked(tracking_uri) if tracking_uri else f"ablate ui{results}"
    for line in (f"Report: {folder.report_file}", f"MLflow: {mlflow}"):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
