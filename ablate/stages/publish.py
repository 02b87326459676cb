"""From the evidence in a study's folder to verdicts and report; and what the terminal shows of them."""

from __future__ import annotations

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


def publish(folder: StudyFolder) -> None:
    """Writes comparisons, claims, figures and page from the folder alone. Raises `AblateError`."""
    with gc_paused():
        from ablate.report.page import render
        from ablate.stages.claims import with_waiting

        found = material(folder)
        before = found.untuned_comparisons
        folder.publish(
            found.comparisons,
            with_waiting(found.claims, folder),
            render(found),
            None if before is None else before.assign(exploratory=True),
        )


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


def print_results(folder: StudyFolder, console: Console, tracking_uri: str | None = None) -> None:
    """The verdicts of a study, and where the report and MLflow are."""
    from ablate.report.terminal import print_verdicts

    print_verdicts(folder.path, console)
    results = "" if folder.results == Path("results") else f" --results {folder.results}"
    mlflow = masked(tracking_uri) if tracking_uri else f"ablate ui{results}"
    for line in (f"Report: {folder.report_file}", f"MLflow: {mlflow}"):
        console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
