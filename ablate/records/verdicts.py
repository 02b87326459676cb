"""The verdicts of a study as files of its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.files import write_text
from ablate.records.claims import load_claims, save_claims
from ablate.records.tables import existing, read_csv

if TYPE_CHECKING:
    import pandas as pd

ANSWER, COMPARISONS, CLAIMS = "answer.txt", "comparisons.csv", "claims.csv"
STABILITY, NOISE = "stability.csv", "noise.csv"
UNTUNED = "untuned"
"""The folder of the variants before they were tuned."""


class Verdicts:
    """The answer, the comparisons, the claims, stability and noise of the folder at `path`."""

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

    def stability(self) -> list[dict[str, str]]:
        """How steadily the variants of the last report train, as text; none where it does not say."""
        return self._rows(STABILITY)

    def noise(self) -> list[dict[str, str]]:
        """The noise of each task in the last report, as text; none where it has none."""
        return self._rows(NOISE)

    def _rows(self, name: str) -> list[dict[str, str]]:
        path = self.path / name
        return read_csv(path) if path.is_file() else []

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Comparisons, judged claims and stability of the last report; the last without rows where it is not there."""
        import pandas as pd

        comparisons, claims = (pd.read_csv(self.path / name) for name in (COMPARISONS, CLAIMS))
        steady = self.path / STABILITY
        stability = pd.read_csv(steady) if steady.is_file() else pd.DataFrame()
        return comparisons, claims[claims["verdict"].notna()].reset_index(drop=True), stability

    def answer(self) -> list[str]:
        """The answer of the last report in sentences; none where it has none."""
        path = self.path / ANSWER
        return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []

    def save_verdicts(
        self,
        comparisons: pd.DataFrame,
        claims: pd.DataFrame,
        untuned: pd.DataFrame | None = None,
        answer: Sequence[str] = (),
        stability: pd.DataFrame | None = None,
        noise: pd.DataFrame | None = None,
    ) -> None:
        """Writes verdicts; `untuned`: the comparisons of the variants before they were tuned."""
        tables = {COMPARISONS: comparisons, CLAIMS: claims, f"{UNTUNED}/{COMPARISONS}": untuned}
        tables |= {STABILITY: stability, NOISE: noise}
        for name, frame in tables.items():
            if frame is not None:
                write_text(self.path / name, frame.to_csv(index=False))
        write_text(self.path / ANSWER, "".join(f"{' '.join(line.split())}\n" for line in answer))
