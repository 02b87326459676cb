"""`ablate list`: the registered parts, each with its parameters, shapes and cost; or the reports that there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ablate.base.errors import AblateError
from ablate.commands._console import PLUGINS, RESULTS
from ablate.core.names import confirmed

if TYPE_CHECKING:
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
    click.echo(describe(slot, name, CONFIGS))


def overview(results: Path) -> Table:
    """A row for each report under `results`, those of runs that differ from a study below that of the study."""
    from ablate.records.folder import StudyFolder
    from ablate.report.words import Column, Table

    rows = [_row(folder) for folder in StudyFolder.all(results)]
    if not rows:
        raise AblateError(
            f"{results}: holds no reports; run a study first, or name another folder with --results"
        )
    names = ("report", "question", "date", "state", "verdicts")
    return Table([Column(name, name, words=name != "date") for name in names], rows, f"Reports in {results}")


def _row(folder: StudyFolder) -> dict[str, str]:
    """A report, or how far its study is."""
    from ablate.report.verdicts import planned_rows
    from ablate.report.words import NOTHING

    row = {"report": folder.name} | dict.fromkeys(("question", "date", "verdicts"), NOTHING)
    if not folder.has_report:
        return row | {"state": "no report yet"}
    try:
        facts, statuses = folder.facts(), Counter(folder.statuses())
        verdicts = Counter(row["verdict"] for row in planned_rows(folder.comparisons()))
    except (AblateError, OSError, ValueError, KeyError):
        return row | {"state": "cannot be read"}
    of = confirmed(folder.name)
    question = (
        f"confirms {of}" if of else f"with {', '.join(facts.differs)}" if facts.differs else facts.question
    )
    failed = f", {statuses['failed']} failed" if statuses["failed"] else ""
    return row | {
        "question": question or NOTHING,
        "date": facts.reported[:16].replace("T", " ") or NOTHING,
        "state": f"{statuses.total()} of {facts.planned} trials{failed}",
        "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()) or NOTHING,
    }
