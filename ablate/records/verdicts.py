"""The verdicts of a study as files of its folder."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError
from ablate.base.files import write_text
from ablate.records.tables import existing, read_csv, write_csv

if TYPE_CHECKING:
    import pandas as pd

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


ANSWER, COMPARISONS, CLAIMS = "answer.txt", "comparisons.csv", "claims.csv"
STABILITY = "stability.csv"
SPEED, SCALING = "speed.csv", "scaling.csv"
BESIDE = (STABILITY, SPEED, SCALING)
"""The tables of some studies."""


class Verdicts:
    """The answer, the comparisons, the claims and the tables `BESIDE` them of the folder at `path`."""

    path: Path

    def claims(self) -> list[dict[str, str]]:
        """The claims with their dates and verdicts; none before the first run. Raises `AblateError`."""
        return load_claims(self.path / CLAIMS)

    def write_claims(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes claims that have dates, and no verdicts yet."""
        save_claims(self.path / CLAIMS, rows)

    def comparisons(self) -> list[dict[str, str]]:
        """The comparisons of the last report, as text. Raises `AblateError` where there are none."""
        return read_csv(existing(self.path / COMPARISONS))

    def beside(self, name: str) -> list[dict[str, str]]:
        """The rows of one of the tables `BESIDE` the verdicts of the last report, as text; none where it has none."""
        path = self.path / name
        return read_csv(path) if path.is_file() else []

    def frames(self) -> list[pd.DataFrame]:
        """Comparisons, judged claims, stability and speed of the last report; those without rows that it lacks."""
        import pandas as pd

        comparisons, claims = (pd.read_csv(self.path / name) for name in (COMPARISONS, CLAIMS))
        paths = [self.path / name for name in (STABILITY, SPEED)]
        more = [pd.read_csv(path) if path.is_file() else pd.DataFrame() for path in paths]
        return [comparisons, claims[claims["verdict"].notna()].reset_index(drop=True), *more]

    def answer(self) -> list[str]:
        """The answer of the last report in sentences; none where it has none."""
        path = self.path / ANSWER
        return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []

    def save_verdicts(
        self,
        comparisons: pd.DataFrame,
        claims: pd.DataFrame,
        answer: Sequence[str] = (),
        beside: Mapping[str, pd.DataFrame] = MappingProxyType({}),
    ) -> None:
        """Writes verdicts; beside: name → one of the tables `BESIDE` them. One without rows is removed."""
        for name, frame in {COMPARISONS: comparisons, CLAIMS: claims, **beside}.items():
            if name in BESIDE and frame.empty:
                (self.path / name).unlink(missing_ok=True)
            else:
                write_text(self.path / name, frame.to_csv(index=False))
        write_text(self.path / ANSWER, "".join(f"{' '.join(line.split())}\n" for line in answer))
