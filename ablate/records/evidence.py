"""The evidence of a study as files of its folder: one a frame, and whatever frames features keep beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.core.cell import Cell
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.core.trial import Trial
from ablate.records.tables import existing, load_frame, rows_and_facts, save_frame

if TYPE_CHECKING:
    import pandas as pd

TRIALS, CURVES, EXAMPLES = "trials.parquet", "curves.parquet", "examples.parquet"


@dataclass(frozen=True)
class EvidenceFiles:
    """The frames of some evidence in a folder; all but trials and curves are missing where they have no rows."""

    folder: Path
    others: frozenset[str]
    "Names of files there that are no frames of the evidence."
    role: str = ""
    "Of its trials, where verdicts do not rest on them; it ends the names of their variants."

    @property
    def found(self) -> bool:
        """Whether there is evidence."""
        return all((self.folder / name).is_file() for name in (TRIALS, CURVES))

    @property
    def _beside(self) -> dict[str, Path]:
        """Name → the file of a feature's frame."""
        known = {TRIALS, CURVES, EXAMPLES, *self.others}
        return {
            path.stem: path for path in sorted(self.folder.glob("[!.]*.parquet")) if path.name not in known
        }

    def load(self) -> Evidence:
        """The evidence. Raises `AblateError`."""
        trials, curves = (existing(self.folder / name) for name in (TRIALS, CURVES))
        examples = self.folder / EXAMPLES
        known = {"examples": load_frame(examples, dict)[1]} if examples.is_file() else {}
        frames = {name: load_frame(path, dict)[1] for name, path in self._beside.items()}
        return Evidence(
            *load_frame(trials, Facts.from_dict), load_frame(curves, dict)[1], frames=frames, **known
        )

    def save(self, evidence: Evidence) -> None:
        """Writes the frames, each whole or not at all; removes those of an earlier run that have no rows any more."""
        save_frame(self.folder / TRIALS, evidence.trials, evidence.facts)
        save_frame(self.folder / CURVES, evidence.curves)
        gone: Mapping[str, None] = dict.fromkeys(self._beside)
        frames: dict[str, pd.DataFrame | None] = {
            Path(EXAMPLES).stem: evidence.examples,
            **gone,
            **evidence.frames,
        }
        for name, frame in frames.items():
            path = self.folder / f"{name}.parquet"
            if frame is None or frame.empty:
                path.unlink(missing_ok=True)
            else:
                save_frame(path, frame)

    def rows(self) -> Iterator[tuple[Path, Cell, dict[str, Any]]]:
        """The file, the place in the study and the row of every trial, of one that has several its first.

        Raises `AblateError`.
        """
        if not (self.folder / TRIALS).is_file():
            return
        known: set[str] = set()
        for path in (self.folder / TRIALS, *self._beside.values()):
            rows, facts = rows_and_facts(path)
            if path.name == TRIALS:
                several = len(facts.get("tasks", [])) > 1
                levels = {path for variant in facts.get("variants", []) for path in variant["levels"]}
            for row in rows if rows and {"id", "variant", "task", "seed"} <= rows[0].keys() else ():
                if row["id"] not in known:
                    role = self.role or ("judged" if path.name == TRIALS else path.stem)
                    yield path, _cell(row, levels, role, several=several), row
            known |= {row["id"] for row in rows if "id" in row}


def _cell(row: Mapping[str, Any], paths: set[str], role: str, *, several: bool) -> Cell:
    """The place of a trial, which has an id and a seed, and no config."""
    variant, task, seed = (row[name] for name in ("variant", "task", "seed"))
    variant += " untuned" if role == "untuned" else ""
    name = f"{variant}{f' on {task}' if several and task else ''} seed {seed}"
    levels = {path: row[path] for path in sorted(paths) if row.get(path) is not None}
    return Cell(variant, task, seed, Trial(row["id"], {}, seed), row.get("name", name), levels, role)
