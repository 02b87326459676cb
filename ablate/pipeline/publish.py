"""From the evidence in a study's folder to verdicts and report; and what the terminal shows of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.text import at_results, masked, printable, typed
from ablate.core.derived import DERIVED
from ablate.core.names import confirmed
from ablate.core.reason import Reason
from ablate.records.folder import CLAIMS, COMPARISONS, StudyFolder
from ablate.report.verdicts import planned_rows
from ablate.report.words import message

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from ablate.report.section import ReportData

# Seeds that someone may still train to settle a comparison.
MANY = 100


@dataclass(frozen=True)
class Verdicts:
    """The first part of a report: its tables, by the names of their files, and its answer in sentences."""

    tables: Mapping[str, pd.DataFrame]
    answer: Sequence[str]


@dataclass(frozen=True)
class Page:
    """The second part of a report: page and figures, by their paths in the study's folder, and what was not drawn."""

    files: Mapping[str, str]
    faults: Sequence[str]


def make_report(folder: StudyFolder) -> Iterator[Verdicts | Page]:
    """Yields the verdicts of a study and then its page, from its folder alone; writes nothing. Raises `AblateError`."""
    from ablate.pipeline.claims import with_waiting
    from ablate.report.sections import HEADLINE
    from ablate.report.sections.headline import noise_lines

    found = report_data(folder)
    tables = {COMPARISONS: found.comparisons, CLAIMS: with_waiting(found.claims, folder)}
    tables |= {f"{name}.csv": table for name, table in found.tables.items()}
    yield Verdicts(tables, [*HEADLINE.answers(found), *noise_lines(found)])
    from ablate.report.page import render

    faults: list[str] = []
    yield Page(render(found, faults.append), faults)


def publish(
    folder: StudyFolder, warn: Callable[[str], None], judged: Callable[[], None] = lambda: None
) -> None:
    """Writes verdicts and page of a study from its folder alone. Raises `AblateError`.

    `judged` is called when the verdicts are written. What cannot be drawn after that is a warning.
    """
    write_report(folder, make_report(folder), warn, judged)


def write_report(
    folder: StudyFolder,
    parts: Iterable[Verdicts | Page],
    warn: Callable[[str], None],
    judged: Callable[[], None],
) -> None:
    """Writes the parts of a report as they are made; see `publish`."""
    for part in parts:
        if isinstance(part, Verdicts):
            folder.save_verdicts(part.tables, part.answer)
            judged()
        else:
            folder.save_page(part.files)
            for fault in part.faults:
                warn(f"{folder.report_file}: {fault}")


def report_data(folder: StudyFolder) -> ReportData:
    """Collects what the report of a study is made from."""
    from ablate.analysis.claims import judge_claims
    from ablate.analysis.compare import compare
    from ablate.analysis.speed_tables import speed_tables
    from ablate.analysis.stability import stability
    from ablate.records.evaluated import reported_evaluations
    from ablate.report.section import ReportData

    evidence = folder.evidence()
    comparisons, claims, steady = compare(evidence), judge_claims(evidence), stability(evidence)
    if evidence.only_measured:
        # Nothing was trained that could be compared, and claims about it wait.
        comparisons, steady = comparisons[:0], steady[:0]
        claims = claims[claims["metric"].isin([name for name, of in DERIVED.items() if of.kind == "ratio"])]
    return ReportData(
        evidence,
        comparisons,
        claims,
        reported_evaluations(folder, evidence),
        tables={"stability": steady, **speed_tables(evidence)},
        results=folder.results,
    )


def print_results(folder: StudyFolder, console: Console) -> None:
    """Prints the verdicts of a study, and where the report and MLflow are."""
    from ablate.report.terminal import print_verdicts

    print_verdicts(folder, console)
    print_places(folder, console)


def print_places(folder: StudyFolder, console: Console, tracking_uri: str | None = None) -> None:
    """Prints where the report and MLflow are, and the next command, as it can be typed."""
    results = at_results(folder.results)
    mlflow = masked(tracking_uri) if tracking_uri else typed("ui", *results)
    tracked = [] if folder.facts().given else [(message("terminal.mlflow"), mlflow)]
    console.print()
    for words, typing in [
        (message("terminal.report"), str(folder.report_file)),
        *tracked,
        *_next(folder, results),
    ]:
        console.print(printable(f"{words}: {typing}"), markup=False, highlight=False, soft_wrap=True)


def _next(folder: StudyFolder, results: list[str]) -> list[tuple[str, str]]:
    """Returns the command that would settle what is open, or the one that confirms what was found on fresh seeds.

    Nothing for the report of a run that differs from its study, and where more seeds would not help.
    """
    facts = folder.facts()
    source = Path(os.path.relpath(folder.path.resolve() / facts.source))
    if facts.differs or not facts.source or not source.is_file() or folder.written is not None:
        return []
    command = "sweep" if facts.searched == "sweep" else "run"
    rows = planned_rows(folder.comparisons())
    needed = [_needed(row["reason"]) for row in rows if row["verdict"] == "inconclusive"]
    if enough := [seeds for seeds in needed if len(facts.seeds) < seeds <= MANY]:
        # Seeds that have been looked at would be another chance for a false verdict.
        fresh = f"seeds={{from: {max(facts.seeds) + 1}, count: {max(enough):.0f}}}"
        return [(message("terminal.resolve"), typed(command, source, "--set", fresh, *results))]
    if rows and not needed and command == "run" and not confirmed(folder.name):
        return [(message("terminal.confirm"), typed(command, source, "--confirm", *results))]
    return []


def _needed(reason: str) -> float:
    """Returns the seeds that would settle a comparison, by its reason; infinite where it names none."""
    found = Reason.parse(reason)
    return found.numbers.get("seeds", math.inf) if found is not None and found.code == "open" else math.inf
