"""The end of a report in the terminal: verdicts, places, and the command that comes next."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.analysis.chances import NOMINAL, error_rate_with_another
from ablate.base.text import at_results, masked, printable, typed
from ablate.core.names import confirmed
from ablate.core.reason import Reason
from ablate.records.folder import StudyFolder
from ablate.report.sentences.treatment_words import without_placebos
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import message

if TYPE_CHECKING:
    from rich.console import Console

    from ablate.core.facts import StudyFacts
    from ablate.report.words import Row

MAX_SEEDS = 100
"""The most seeds that someone may still train to settle a comparison."""
NUM_LOOKS = 4
"""The looks of the sequential design that is proposed."""
MIN_LOOK = 3
"""The fewest seeds of its first look."""


def print_results(folder: StudyFolder, facts: StudyFacts, console: Console) -> None:
    """Prints the verdicts of a study, and where the report and MLflow are."""
    from ablate.report.terminal import print_verdicts

    print_verdicts(folder, facts, console)
    print_places(folder, facts, console)


def print_places(
    folder: StudyFolder, facts: StudyFacts, console: Console, tracking_uri: str | None = None
) -> None:
    """Prints where the report and MLflow are, and the next command, as it can be typed.

    facts: those of the report.
    """
    results = at_results(folder.results)
    lines = [(message("terminal.report"), str(folder.report_file))]
    # Runs that were only read are not tracked.
    if not facts.is_given:
        mlflow = masked(tracking_uri) if tracking_uri else typed("ui", *results)
        lines.append((message("terminal.mlflow"), mlflow))
    lines += _next_steps(folder, facts, results)
    console.print()
    for label, line in lines:
        console.print(printable(f"{label}: {line}"), markup=False, highlight=False, soft_wrap=True)


def _next_steps(folder: StudyFolder, facts: StudyFacts, results: Sequence[str]) -> list[tuple[str, str]]:
    """Returns purpose and command of what may settle what is open, or confirms verdicts.

    None for the report of a run that differs from its study, and where more seeds would not help. A placebo needs no
    verdict.

    results: the words that name the results folder.
    """
    source = Path(os.path.relpath(folder.path.resolve() / facts.plan.source))
    if facts.plan.differs or not facts.plan.source or not source.is_file() or folder.written is not None:
        return []
    command = "sweep" if facts.plan.searched == "sweep" else "run"
    rows: Sequence[Row] = folder.claims()
    if facts.family == "all":
        rows = without_placebos(planned_rows(folder.comparisons()), facts)
    seeds_to_decide = [_seeds_to_decide(row["reason"]) for row in rows if row["verdict"] == "inconclusive"]
    feasible = [seeds for seeds in seeds_to_decide if len(facts.seeds) < seeds <= MAX_SEEDS]
    if feasible:
        needed = math.ceil(max(feasible))
        # Seeds that have been looked at would be a further chance that is not independent of the first.
        fresh = f"seeds={{from: {max(facts.seeds) + 1}, count: {needed}}}"
        rate = error_rate_with_another(_error_rate_so_far(facts))
        return [
            (message("terminal.plan_looks"), _seeds_with_looks(needed)),
            (message("terminal.second_chance", rate), typed(command, source, "--set", fresh, *results)),
        ]
    if rows and not seeds_to_decide and command == "run" and not confirmed(folder.name):
        return [(message("terminal.confirm"), typed(command, source, "--confirm", *results))]
    return []


def _seeds_with_looks(needed: int) -> str:
    """Returns the seeds of a study that may stop early, where a fixed number of seeds would decide.

    Looks spend a part of α, so that the last comes a third later.
    """
    least = max(MIN_LOOK, math.ceil(needed / (NUM_LOOKS - 1)))
    return f"seeds: {{min: {least}, max: {NUM_LOOKS * least}}}"


def _error_rate_so_far(facts: StudyFacts) -> float:
    """Returns the probability that the looks at a study so far, at a nominal 0.05, give a false verdict."""
    if facts.plan.replanned is None or facts.plan.replanned.level is None:
        return NOMINAL
    return facts.plan.replanned.level


def _seeds_to_decide(reason_text: str) -> float:
    """Returns the number of seeds that would decide a comparison, by its reason; infinite where it names none."""
    reason = Reason.parse(reason_text)
    if reason is None or reason.code != "open":
        return math.inf
    return reason.numbers.get("seeds", math.inf)
