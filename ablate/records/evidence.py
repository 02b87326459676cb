"""The evidence of a study as files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.core.cell import Cell
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.core.trial import Trial
from ablate.records.tables import cells_of, existing, load_frame, rows_and_facts, save_frame


@dataclass(frozen=True)
class EvidenceFiles:
    """Where the frames of some evidence are; the last three are missing where there is nothing in them."""

    trials: Path
    curves: Path
    examples: Path
    stress: Path
    speed: Path

    @property
    def _optional(self) -> dict[str, Path]:
        return {"examples": self.examples, "stress": self.stress, "speed": self.speed}

    @property
    def found(self) -> bool:
        """Whether there is evidence."""
        return self.trials.is_file() and self.curves.is_file()

    def load(self) -> Evidence:
        """The evidence. Raises `AblateError`."""
        trials, curves = map(existing, (self.trials, self.curves))
        more = {name: load_frame(path, dict)[1] for name, path in self._optional.items() if path.is_file()}
        return Evidence(*load_frame(trials, Facts.from_dict), load_frame(curves, dict)[1], **more)

    def save(self, evidence: Evidence) -> None:
        """Writes the frames, each whole or not at all; removes those of an earlier run that have no rows any more."""
        save_frame(self.trials, evidence.trials, evidence.facts)
        save_frame(self.curves, evidence.curves)
        for name, path in self._optional.items():
            if len(frame := getattr(evidence, name)):
                save_frame(path, frame)
            else:
                path.unlink(missing_ok=True)

    def rows(self, *, untuned: bool) -> Iterator[tuple[Path, Cell, dict[str, Any]]]:
        """The file, the place in the study and the row of every trial, of one that has several its first.

        Raises `AblateError`.
        """
        if not self.trials.is_file():
            return
        known = set()
        for cell, row in cells_of(self.trials, untuned=untuned):
            known.add(cell.id)
            yield self.trials, cell, row
        if self.stress.is_file():
            facts = rows_and_facts(self.trials, [])[1]
            path, several = next(iter(facts.get("stress") or {}), ""), len(facts.get("tasks", [])) > 1
            for row in rows_and_facts(self.stress)[0]:
                if row["id"] not in known:
                    yield self.stress, _cell(row, path, several=several), row


def _cell(row: dict[str, Any], path: str, *, several: bool) -> Cell:
    """The place of a trial of the stress grid, which has an id and a seed, and no config."""
    variant, task, seed, value = (row[name] for name in ("variant", "task", "seed", "value"))
    place = f"{variant}{f' on {task}' if several and task else ''} seed {seed}"
    name = f"{place} at {path.rpartition('.')[2]} {value:g}"
    return Cell(variant, task, seed, Trial(row["id"], {}, seed), name, {path: value}, judged=False)
