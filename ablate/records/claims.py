"""`results/<study>/claims.csv`: every claim with its date, and its verdict once it has one."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError
from ablate.records.tables import read_csv, write_csv

_VERDICT = ("verdict", "diff", "ci_low", "ci_high", "n", "reason")
CLAIM_COLUMNS = ("claim", "hash", "declared", *_VERDICT, "exploratory")


def load_claims(path: Path) -> list[dict[str, str]]:
    """The claims, none where there is no file. Raises `AblateError`."""
    try:
        rows = read_csv(path) if path.is_file() else []
        if rows and not rows[0].keys() >= set(CLAIM_COLUMNS):
            raise ValueError("a column is missing")
        return rows
    except (ValueError, csv.Error) as error:
        raise AblateError(
            f"{path}: is not a table of claims; restore it, or remove it to declare the claims again"
        ) from error


def save_claims(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes claims, whole or not at all; what a row lacks is empty."""
    write_csv(path, CLAIM_COLUMNS, rows)
