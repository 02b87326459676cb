"""All that tables, verdicts and figures need, in one folder: two frames and the facts about the study.

    trials.parquet   one row a trial: id, variant, task, seed, a column a factor path, status, metrics
    curves.parquet   id, step, metric, value

The facts travel in the attributes of the trials frame, which pandas keeps in the parquet file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.core.facts import Facts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evidence:
    """The records of one study as frames, with the facts."""

    facts: Facts
    trials: pd.DataFrame
    curves: pd.DataFrame

    def save(self, folder: Path) -> None:
        """Writes both frames, each whole or not at all."""
        from ablate.base.files import replacing

        trials = self.trials.copy()
        trials.attrs = {"ablate": self.facts.to_dict()}
        for name, frame in (("trials.parquet", trials), ("curves.parquet", self.curves)):
            with replacing(folder / name) as path:
                frame.to_parquet(path, index=False)

    @classmethod
    def load(cls, folder: Path) -> Evidence:
        """Reads what `save` wrote; raises `AblateError` when it is not there."""
        import pandas as pd

        paths = [folder / "trials.parquet", folder / "curves.parquet"]
        for path in paths:
            if not path.is_file():
                raise AblateError(
                    f"{folder}: has no {path.name}; run the study first, or name a folder of results/"
                )
        try:
            trials, curves = (pd.read_parquet(path) for path in paths)
            # Out of the attributes, which pandas copies deeply whenever a frame is touched.
            return cls(Facts.from_dict(trials.attrs.pop("ablate")), trials, curves)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AblateError(
                f"{folder}: its tables cannot be read ({error}); run the study again"
            ) from error
