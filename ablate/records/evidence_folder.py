"""The evidence of a study as files, a parquet file a frame, with whatever frames stages keep beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ablate.base.errors import AblateError
from ablate.base.kept import problem_of
from ablate.core.facts import EXAMPLE_COLUMNS, Evidence, StudyFacts, frame_of
from ablate.core.trial import JUDGED, Cell, Trial
from ablate.records.tables import load_frame, rows_and_facts, save_frame

TRIALS = "trials.parquet"
CURVES = "curves.parquet"
EXAMPLES = "examples.parquet"
_PLACE = {"id", "variant", "task", "seed"}  # The columns of a frame that has a row a trial.


class EvidenceFolder:
    """A folder with the frames of some evidence; all but trials and curves are missing where they have no rows."""

    path: Path
    cached_facts: Mapping[str, Any] = {}  # The facts as plain data, where they are kept elsewhere too.

    def facts(self) -> StudyFacts:
        """Returns the facts, without the frames. Raises `AblateError`."""
        if self.cached_facts:
            return StudyFacts.from_dict(self.cached_facts)
        _, facts = rows_and_facts(self.path / TRIALS, [])
        return self._typed(facts)

    def _typed(self, facts: Mapping[str, Any]) -> StudyFacts:
        """Returns facts from plain data. Raises `AblateError` where their fields are those of another version."""
        try:
            return StudyFacts.from_dict(facts)
        except ValidationError as error:
            remedy = (
                f"Another version of ablate has written it: run {self.path.name} again, which replaces the report, or "
                "read it with that version"
            )
            raise AblateError(str(problem_of(error, self.path / TRIALS, remedy))) from None

    def evidence(self) -> Evidence:
        """Returns the evidence of the last report. Raises `AblateError`."""
        plain_facts, trials = load_frame(self.path / TRIALS)
        facts = self._typed(plain_facts)
        _, curves = load_frame(self.path / CURVES)
        examples = frame_of((), EXAMPLE_COLUMNS)
        if (self.path / EXAMPLES).is_file():
            _, examples = load_frame(self.path / EXAMPLES)
        frames = {}
        for name, path in self._files_of_stages().items():
            _, frames[name] = load_frame(path)
        return Evidence(facts, trials, curves, examples=examples, frames=frames)

    def save_evidence(self, evidence: Evidence) -> None:
        """Writes the frames, each whole or not at all; removes those of an earlier run that have no rows any more."""
        save_frame(self.path / TRIALS, evidence.trials, evidence.facts)
        save_frame(self.path / CURVES, evidence.curves)
        frames = {**evidence.frames, Path(EXAMPLES).stem: evidence.examples}
        for name in {*frames, *self._files_of_stages()}:
            path = self.path / f"{name}.parquet"
            if name in frames and len(frames[name]):
                save_frame(path, frames[name])
            else:
                path.unlink(missing_ok=True)

    def ids(self) -> set[str]:
        """Returns every trial in the tables. Raises `AblateError`.

        A row that several trials have made lists them as `ids`.
        """
        ids: set[str] = set()
        for path in (self.path / TRIALS, *self._files_of_stages().values()):
            if not path.is_file():
                continue
            rows, _ = rows_and_facts(path)
            for row in rows:
                trial_ids = row.get("ids", [row.get("id")])
                ids.update(trial_id for trial_id in trial_ids if trial_id)
        return ids

    def rows(self) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """Yields the place in the study and the row of every trial; of one in several tables, those of the first.

        A row has id, variant, task, seed, factors, status, reason and metrics. Raises `AblateError`.
        """
        if not (self.path / TRIALS).is_file():
            return
        trials, facts = rows_and_facts(self.path / TRIALS)
        tables = {JUDGED: trials}
        for name, path in self._files_of_stages().items():
            tables[name], _ = rows_and_facts(path)
        several_tasks = len(facts.get("tasks", [])) > 1
        factors: set[str] = set()
        for variant in facts.get("variants", []):
            factors.update(variant["levels"])

        earlier: set[str] = set()  # The ids in the tables before this one.
        for role, rows in tables.items():
            has_places = bool(rows) and rows[0].keys() >= _PLACE
            for row in rows:
                if has_places and row["id"] not in earlier:
                    yield _cell(row, factors, role, several_tasks=several_tasks), row
            earlier |= {row["id"] for row in rows if "id" in row}

    def _files_of_stages(self) -> dict[str, Path]:
        """Returns the files of the frames that stages keep, by name."""
        paths = sorted(self.path.glob("[!.]*.parquet"))
        return {path.stem: path for path in paths if path.name not in (TRIALS, CURVES, EXAMPLES)}


def _cell(row: Mapping[str, Any], factors: set[str], role: str, *, several_tasks: bool) -> Cell:
    """Returns the place of a trial, which has an id and a seed, and no config; `role` is the name of its table."""
    variant = row["variant"]
    task = row["task"]
    seed = row["seed"]
    name = variant if role == JUDGED else f"{variant} {role}"
    if several_tasks and task:
        name += f" on {task}"
    name += f" seed {seed}"
    levels = {path: row[path] for path in sorted(factors) if row.get(path) is not None}
    return Cell(
        variant=variant,
        task=task,
        seed=seed,
        trial=Trial(row["id"], {}, seed),
        name=row.get("name", name),
        levels=levels,
        role=role,
    )
