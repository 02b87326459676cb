"""The end of a report in the terminal: verdicts, places, and the command that comes next."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.text import at_results, masked, printable, typed
from ablate.core.names import confirmed
from ablate.core.reason import Reason
from ablate.records.folder import StudyFolder
from ablate.report.verdicts import planned_rows
from ablate.report.words import message

if TYPE_CHECKING:
    from rich.console import Console

MAX_SEEDS = 100
"""The most seeds that someone may still train to settle a comparison."""


def print_results(folder: StudyFolder, console: Console) -> None:
    """Prints the verdicts of a study, and where the report and MLflow are."""
    from ablate.report.terminal import print_verdicts

    print_verdicts(folder, console)
    print_places(folder, console)


def print_places(folder: StudyFolder, console: Console, tracking_uri: str | None = None) -> None:
    """Prints where the report and MLflow are, and the next command, as it can be typed."""
    results = at_results(folder.results)
    lines = [(message("terminal.report"), str(folder.report_file))]
    # Runs that were only read are not tracked.
    if not folder.facts().given:
        mlflow = masked(tracking_uri) if tracking_uri else typed("ui", *results)
        lines.append((message("terminal.mlflow"), mlflow))
    next_command = _next_command(folder, results)
    if next_command is not None:
        lines.append(next_command)
    console.print()
    for label, line in lines:
        console.print(printable(f"{label}: {line}"), markup=False, highlight=False, soft_wrap=True)


def _next_command(folder: StudyFolder, results: Sequence[str]) -> tuple[str, str] | None:
    """Returns the purpose and the command of a run that settles what is open, or confirms verdicts.

    None for the report of a run that differs from its study, and where more seeds would not help.

    results: the words that name the results folder.
    """
    facts = folder.facts()
    source = Path(os.path.relpath(folder.path.resolve() / facts.source))
    if facts.differs or not facts.source or not source.is_file() or folder.written is not None:
        return None
    command = "sweep" if facts.searched == "sweep" else "run"
    rows = planned_rows(folder.comparisons())
    seeds_to_decide = [_seeds_to_decide(row["reason"]) for row in rows if row["verdict"] == "inconclusive"]
    feasible = [seeds for seeds in seeds_to_decide if len(facts.seeds) < seeds <= MAX_SEEDS]
    if feasible:
        # Seeds that have been looked at would be another chance for a false verdict.
        fresh = f"seeds={{from: {max(facts.seeds) + 1}, count: {max(feasible):.0f}}}"
        return message("terminal.resolve"), typed(command, source, "--set", fresh, *results)
    if rows and not seeds_to_decide and command == "run" and not confirmed(folder.name):
        return message("terminal.confirm"), typed(command, source, "--confirm", *results)
    return None


def _seeds_to_decide(reason_text: str) -> float:
    """Returns the seeds that would settle a comparison, by its reason; infinite where it names none."""
    reason = Reason.parse(reason_text)
    if reason is None or reason.code != "open":
        return math.inf
    return reason.numbers.get("seeds", math.inf)
