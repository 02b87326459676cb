"""The objects that `--json` prints; what they hold is told in `ablate guide json`.

They are made from the files of a report alone, without pandas and torch, so that a run that finds everything done
answers at once.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from ablate.base.text import _UNSEEN
from ablate.core.facts import StudyFacts
from ablate.records.folder import BESIDE, StudyFolder
from ablate.report.sentences.lost_runs import left_out, left_out_of_claim
from ablate.report.words import Row
from ablate.session.options import RunOutcome

# Columns whose values are words, whatever they look like.
TEXT = {
    *("variant", "baseline", "task", "metric", "verdict", "settings"),
    *("claim", "hash", "declared", "reason"),
    *("over", "deciding", "heaviest", "scales", "along"),
}


def json_text(data: Mapping[str, Any]) -> str:
    """Returns one JSON object as text, in which no character controls a terminal or deceives.

    NaN and infinity are null.
    """
    text = to_json(data, inf_nan_mode="null", fallback=str).decode()
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    """Returns the JSON escape of a character that cannot be seen; the flag emoji of a region stays as it is."""
    return match["flag"] or json.dumps(match[0])[1:-1]


def report_object(folder: StudyFolder, outcome: RunOutcome | None = None, code: int = 0) -> dict[str, Any]:
    """Returns the content of a report; `outcome` and exit `code` are those of the run that made it."""
    facts = folder.facts() if folder.has_report else None
    if outcome is None:
        outcome = _outcome_of(folder, facts) if facts else RunOutcome(folder.path)
    return {
        "study": folder.name,
        "folder": str(folder.path),
        "question": facts.question if facts else None,
        "answer": folder.answer() if facts else [],
        "verdicts": _rows_with_pairs(folder.comparisons(), facts, left_out) if facts else [],
        "claims": _rows_with_pairs(folder.claims(), facts, left_out_of_claim) if facts else [],
        **{name.removesuffix(".csv"): _typed_rows(folder.beside(name)) if facts else [] for name in BESIDE},
        "paths": {name: str(path) for name, path in folder.report_files().items()},
        "trained": outcome.trained,
        "failed": list(outcome.failed),
        "missing": outcome.missing,
        "exit_code": code,
    }


def _rows_with_pairs(
    table: Sequence[Mapping[str, str]], facts: StudyFacts, left_out_of: Callable[[Row, StudyFacts], str]
) -> list[dict[str, Any]]:
    """Returns judged rows; of those of which pairs are left out, `left_out` says which, and what that assumes."""
    rows = _typed_rows(table)
    for row in rows:
        words = left_out_of(row, facts)
        if words:
            row["left_out"] = words
    return rows


def _typed_rows(rows: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Returns rows of a CSV file with numbers, true and false as such, and null for what is empty."""
    return [{name: _typed_value(name, text) for name, text in row.items()} for row in rows]


def _typed_value(column: str, text: str | None) -> str | float | bool | None:
    """Returns the text of a cell as the value that it stands for."""
    if not text:
        return None
    if column in TEXT:
        return text
    try:
        number = float(text)
    except ValueError:
        return {"True": True, "False": False}.get(text, text)
    is_whole = number.is_integer() and "." not in text and "e" not in text.lower()
    return int(number) if is_whole else number


def _outcome_of(folder: StudyFolder, facts: StudyFacts) -> RunOutcome:
    """Returns the outcome of a report: its failed trials, with reasons, and how many planned ones have no result."""
    failed = []
    num_ended = 0
    for cell, row in folder.rows():
        if not cell.judged or cell.seed not in facts.seeds_of(cell.variant, cell.task):
            continue
        if row["status"] == "failed":
            failed.append(f"{cell.name}: {row['reason']}")
        if row["status"] != "pruned":
            num_ended += 1
    return RunOutcome(folder.path, failed, missing=max(0, facts.planned - num_ended))
