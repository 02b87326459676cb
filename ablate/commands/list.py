"""`ablate list`: the registered parts, each with its parameters, shapes and cost; or the reports that there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.errors import AblateError
from ablate.base.text import safe
from ablate.commands._console import PLUGINS, RESULTS
from ablate.core.names import confirmed

if TYPE_CHECKING:
    from ablate.core.facts import StudyFacts
    from ablate.records.folder import StudyFolder
    from ablate.report.words import Table


@click.command("list")
@click.argument("slot", required=False)
@click.argument("name", required=False)
@PLUGINS
@RESULTS
def command(slot: str | None, name: str | None, plugins: tuple[Path, ...], results: Path) -> None:
    """List the parts that a study can swap, or results.

    Without arguments, the command lists every slot with its parts; with SLOT, the parts of that slot; with SLOT and
    NAME, it describes one part: formula, parameters, shapes, cost, and source file. `ablate list results` lists the
    reports in the results folder: what each asks or how its run differs from its study, date, trials and verdicts.
    """
    if slot == "results" and name is None:
        from rich.console import Console

        from ablate.report.terminal import print_table

        print_table(overview(results), Console())
        return
    from ablate.base.plugins import load_plugins
    from ablate.report.parts import describe
    from ablate.stages import CONFIGS

    load_plugins(plugins)
    click.echo(safe(describe(slot, name, CONFIGS)))


def overview(results: Path) -> Table:
    """Returns a row for each report under `results`, those of runs that differ from a study below that of the study.

    Raises `AblateError` where there is none.
    """
    from ablate.records.folder import StudyFolder
    from ablate.report.words import Column, Table

    rows = [_row(folder) for folder in StudyFolder.all(results)]
    if not rows:
        raise AblateError(
            f"{results}: holds no reports; run a study first, or name another folder with --results"
        )
    names = ("report", "question", "date", "state", "verdicts")
    columns = [Column(name, name, words=name != "date") for name in names]
    return Table(columns, rows, f"Reports in {results}")


def _row(folder: StudyFolder) -> dict[str, str]:
    """Returns the row of a report, or how far its study is."""
    from ablate.report.tables.verdicts import planned_rows
    from ablate.report.words import NOTHING

    row = {"report": folder.name, "question": NOTHING, "date": NOTHING, "verdicts": NOTHING}
    if not folder.has_report:
        return row | {"state": "no report yet"}
    try:
        facts = folder.facts()
        statuses = Counter(folder.statuses())
        judged = planned_rows(folder.comparisons()) if facts.family == "all" else folder.claims()
        verdicts = Counter(row["verdict"] for row in judged)
    except (AblateError, OSError, ValueError, KeyError):
        return row | {"state": "cannot be read"}

    state = f"{statuses.total()} of {facts.planned} trials"
    if statuses["failed"]:
        state += f", {statuses['failed']} failed"
    counts = [f"{count} {verdict}" for verdict, count in verdicts.most_common()]
    if counts and facts.over.joins_conditions:
        counts.append(f"over: {facts.over.form}")
    return row | {
        "question": _question(folder.name, facts) or NOTHING,
        "date": facts.reported[:16].replace("T", " ") or NOTHING,
        "state": state,
        "verdicts": ", ".join(counts) or NOTHING,
    }


def _question(report: str, facts: StudyFacts) -> str:
    """Returns what a report confirms, how its run differs from its study, or else what the study asks."""
    study = confirmed(report)
    if study is not None:
        return f"confirms {study}"
    if facts.plan.differs:
        return f"with {', '.join(facts.plan.differs)}"
    return facts.question
