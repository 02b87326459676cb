"""The objects that `--json` prints; what they hold is told in `ablate guide json`.

They are made from the files of a report alone, without pandas and torch, so that a run that finds everything done
answers at once.
"""

from collections.abc import Mapping
from typing import Any

from pydantic_core import to_json

from ablate.core.facts import StudyFacts
from ablate.records.folder import BESIDE, StudyFolder
from ablate.session.options import RunOutcome

# Columns whose values are words, whatever they look like.
TEXT = {
    *("variant", "baseline", "task", "metric", "verdict", "settings"),
    *("claim", "hash", "declared", "reason"),
}


def written(found: Mapping[str, Any]) -> str:
    """One JSON object as text; what JSON cannot say, NaN and infinity, is null."""
    return to_json(found, inf_nan_mode="null", fallback=str).decode()


def report_object(folder: StudyFolder, outcome: RunOutcome | None = None, code: int = 0) -> dict[str, Any]:
    """What a report says; `outcome` and exit `code` are those of the run that made it."""
    facts = folder.facts() if folder.has_report else None
    outcome = outcome or (_lost(folder, facts) if facts else RunOutcome(folder.path))
    return {
        "study": folder.name,
        "folder": str(folder.path),
        "question": facts.question if facts else None,
        "answer": folder.answer() if facts else [],
        "verdicts": [typed_row(row) for row in folder.comparisons()] if facts else [],
        "claims": [typed_row(row) for row in folder.claims()],
        **{
            file.removesuffix(".csv"): [typed_row(row) for row in folder.beside(file)] if facts else []
            for file in BESIDE
        },
        "paths": {name: str(path) for name, path in folder.report_files().items()},
        "trained": outcome.trained,
        "failed": list(outcome.failed),
        "missing": outcome.missing,
        "exit_code": code,
    }


def typed_row(row: Mapping[str, str]) -> dict[str, Any]:
    """A row of a CSV file with numbers, true and false as such, and null for what is empty."""
    return {name: _value(name, value) for name, value in row.items()}


def _value(name: str, value: str | None) -> Any:
    if not value:
        return None
    if name in TEXT:
        return value
    try:
        number = float(value)
    except ValueError:
        return {"True": True, "False": False}.get(value, value)
    return int(number) if number.is_integer() and "." not in value and "e" not in value.lower() else number


def _lost(folder: StudyFolder, facts: StudyFacts) -> RunOutcome:
    """That of a report: its failed trials with their reasons, and the number of planned ones without a result."""
    rows = [
        (cell, row)
        for cell, row in folder.rows()
        if cell.judged and cell.seed in facts.seeds_of(cell.variant, cell.task)
    ]
    failed = [f"{cell.name}: {row['reason']}" for cell, row in rows if row["status"] == "failed"]
    ended = sum(row["status"] != "pruned" for _, row in rows)
    return RunOutcome(folder.path, failed, 0, max(0, facts.planned - ended))
