"""What a results folder holds: one row a report, read without torch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.wording import counted
from ablate.core import names
from ablate.core.facts import Facts
from ablate.records.folder import StudyFolder
from ablate.report.tables import NOTHING, Column, Table
from ablate.report.verdicts import planned_rows
from ablate.route.place import reported

COLUMNS = [
    Column("name", "report"),
    Column("what", "question, or what differs", words=True),
    Column("date", "date"),
    Column("trials", "trials", numeric=True),
    Column("state", "state", words=True),
    Column("verdicts", "verdicts", words=True),
]


def overview(results: Path) -> Table:
    """A row for each report under `results`, those of runs that differ from a study below that of the study."""
    rows = [{"name": folder.name} | _row(folder) for folder in StudyFolder.all(results)]
    if not rows:
        raise AblateError(
            f"{results}: holds no reports; run a study first, or name another folder with --results"
        )
    return Table(COLUMNS, rows, f"Reports in {results}")


def _row(folder: StudyFolder) -> dict[str, str]:
    empty = {"what": _what(folder.name, None), "date": NOTHING, "trials": NOTHING, "verdicts": NOTHING}
    facts = reported(folder)
    try:
        if facts is None:
            count = len(folder.roster.ids())
            state = "cannot be read" if folder.has_report else "no report yet"
            return empty | {"state": state, "trials": str(count) if count else NOTHING}
        statuses = Counter(folder.statuses())
        verdicts = Counter(row["verdict"] for row in planned_rows(folder.comparisons()))
    except (AblateError, OSError, ValueError, KeyError):
        return empty | {"state": "cannot be read"}
    planned = facts.planned
    missing, failed = planned - statuses.total(), statuses["failed"]
    lacking = [
        counted(n, "trial") + f" {word}" for n, word in ((missing, "missing"), (failed, "failed")) if n
    ]
    return {
        "what": _what(folder.name, facts),
        "date": facts.reported[:16].replace("T", " ") or NOTHING,
        "trials": f"{statuses.total()} of {planned}" if missing else str(planned),
        "state": (", ".join(lacking) or "finished") if statuses else "only timed",
        "verdicts": ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()) or NOTHING,
    }


def _what(name: str, facts: Facts | None) -> str:
    """The question of a study, or how the run differs from it."""
    of = names.confirmed(name)
    differs = ", ".join(facts.differs) if facts is not None else ""
    if names.written(name) is not None:
        differs = differs or names.difference(name)
    with_options = f"with {differs}" if differs else ""
    question = f"confirms {of}" if of else facts.question if facts is not None else ""
    # The report of the study as written, in the row above, has the question.
    shown = [with_options] if names.written(name) and not of else [question, with_options]
    return "; ".join(filter(None, shown)) or NOTHING
