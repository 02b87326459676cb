"""The evidence of a study as files, a parquet file a frame, with whatever frames stages keep beside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ablate.base.errors import AblateError, Problem
from ablate.base.kept import problem_of
from ablate.core.facts import EXAMPLE_COLUMNS, TRIALS, Evidence, StudyFacts, frame_of
from ablate.core.trial import JUDGED, Cell, Trial
from ablate.records.facts_file import facts_from
from ablate.records.tables import frames_beside, load_frame, rows_and_facts, save_frame

if TYPE_CHECKING:
    import pandas as pd

CURVES = "curves.parquet"
EXAMPLES = "examples.parquet"
_EXAMPLES = "examples"
_PLACE = {"id", "variant", "task", "seed"}  # The columns of a frame that has a row a trial.


class EvidenceFolder:
    """A folder with the frames of some evidence; all but trials and curves are missing where they have no rows."""

    path: Path

    def facts(self) -> StudyFacts:
        """Returns the facts, without the frames. Raises `AblateError`."""
        _, facts = rows_and_facts(self.path / TRIALS, [])
        return self._facts_from(facts)

    def _facts_from(self, facts: Mapping[str, Any]) -> StudyFacts:
        """Returns facts from plain data. Raises `AblateError` where their fields are those of another version."""
        try:
            return facts_from(facts)
        except ValidationError as error:
            remedy = (
                f"Another version of ablate has written it: run {self.path.name} again, which replaces the report, or "
                "read it with that version"
            )
            raise AblateError(str(problem_of(error, self.path / TRIALS, remedy))) from None

    def evidence(self) -> Evidence:
        """Returns the evidence of the last report. Raises `AblateError`."""
        plain_facts, trials = load_frame(self.path / TRIALS)
        facts = self._facts_from(plain_facts)
        _check_frame(self.path / TRIALS, trials, _OF_TRIALS | _metrics_of(facts), ("variant", "task", "seed"))
        _, curves = load_frame(self.path / CURVES)
        _check_frame(self.path / CURVES, curves, _OF_CURVES, ("id", "step", "metric"))
        examples = frame_of((), EXAMPLE_COLUMNS)
        if (self.path / EXAMPLES).is_file():
            _, examples = load_frame(self.path / EXAMPLES)
        frames = {}
        for name, path in self._files_of_stages().items():
            _, frames[name] = load_frame(path)
        evidence = Evidence(facts, trials, curves, examples=examples, frames=frames)
        self._refuse_missing(evidence)
        _check_examples(self.path / EXAMPLES, evidence)
        return evidence

    def _refuse_missing(self, evidence: Evidence) -> None:
        """Raises `AblateError` where a frame is missing that was written together with the others."""
        expected = frames_beside(self.path / TRIALS)
        if expected is None:
            expected = [_EXAMPLES] if _should_have_examples(evidence.facts) else []
        present = _frames_with_rows(evidence)
        for name in expected:
            if name not in present:
                raise AblateError(f"{self.path / name}.parquet: does not exist. {_remedy(self.path)}")

    def save_evidence(self, evidence: Evidence) -> None:
        """Writes the frames, each whole or not at all; removes those of an earlier run that have no rows any more."""
        frames = _frames_with_rows(evidence)
        save_frame(self.path / TRIALS, evidence.trials, evidence.facts, beside=frames)
        save_frame(self.path / CURVES, evidence.curves)
        for name in {_EXAMPLES, *frames, *self._files_of_stages()}:
            path = self.path / f"{name}.parquet"
            if name in frames:
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


_TEXT = "text"
_WHOLE = "a whole number"
_NUMBER = "a number or nothing"
_OF_TRIALS = {"id": _TEXT, "variant": _TEXT, "task": _TEXT, "seed": _WHOLE, "status": _TEXT, "reason": _TEXT}
_OF_CURVES = {"id": _TEXT, "step": _WHOLE, "metric": _TEXT, "value": _NUMBER}


def _metrics_of(facts: StudyFacts) -> dict[str, str]:
    """Returns the columns of the metrics by which trials are compared, each with what it holds."""
    columns: dict[str, str] = {}
    for task in facts.tasks:
        for name in task.metrics:
            columns[facts.column_of(name)] = _NUMBER
    return columns


def _check_frame(path: Path, frame: pd.DataFrame, columns: Mapping[str, str], key: Sequence[str]) -> None:
    """Raises `AblateError` for the first column that does not hold what it must, and for two rows with one `key`.

    columns: name → what it holds. A frame without rows has no types.
    """
    if frame.empty:
        return
    fault = ""
    for name, content in columns.items():
        if name not in frame:
            fault = f"the column {name} is missing"
            break
        if not _holds(frame[name], content):
            fault = f"the column {name} must hold {content} in each row"
            break
    if not fault and frame.duplicated([*key]).any():
        fault = f"two rows have the same {', '.join(key)}"
    if fault:
        raise AblateError(str(Problem(fault, hint=_remedy(path.parent), source=str(path))))


def _frames_with_rows(evidence: Evidence) -> dict[str, pd.DataFrame]:
    """Returns the frames beside trials and curves that have rows, by name."""
    frames = {**evidence.frames, _EXAMPLES: evidence.examples}
    return {name: frame for name, frame in frames.items() if len(frame)}


def _should_have_examples(facts: StudyFacts) -> bool:
    """Returns whether the primary metric is an accuracy over one test set for all seeds, which has values by example.

    For folders of older versions, which do not list their frames.
    """
    for task in facts.tasks:
        metric = task.metrics.get(facts.metric)
        num_examples = task.sampling.test
        if metric is None or task.sampling.pool != "held_out" or num_examples < 2:
            continue
        if math.isclose(metric.resolution * num_examples, 1.0):
            return True
    return False


def _remedy(folder: Path) -> str:
    return f"Restore it, or run {folder.name} again, which replaces the report"


def _check_examples(path: Path, evidence: Evidence) -> None:
    """Raises `AblateError` for examples of other trials, and for a metric that only some completed trials have them of.

    Without them, comparisons would be over seeds alone, and their intervals narrower.
    """
    examples = evidence.examples
    trials = evidence.trials
    if trials.empty:
        return
    known = {*zip(examples["id"], examples["metric"], strict=True)}
    own = {*trials["id"]}
    for frame in evidence.frames.values():
        own |= {*frame.get("id", ())}
    foreign = sum(trial not in own for trial in examples["id"].unique())
    fault = f"has {foreign} trials that the report does not have" if foreign else ""
    completed = trials[trials["status"] == "completed"]
    for task in evidence.facts.tasks:
        of_task = completed[completed["task"] == task.name]
        for name in task.metrics:
            column = evidence.facts.column_of(name)
            if column not in of_task:
                continue
            ids = of_task.loc[of_task[column].notna(), "id"]
            lacking = [trial for trial in ids if (trial, name) not in known]
            if 0 < len(lacking) < len(ids):
                fault = fault or f"lacks the {name} by example of {len(lacking)} of {len(ids)} trials"
    if fault:
        raise AblateError(str(Problem(fault, hint=_remedy(path.parent), source=str(path))))


def _holds(column: pd.Series[Any], content: str) -> bool:
    """Returns whether a column holds text, whole numbers, or numbers where it has a value."""
    from pandas.api import types

    if content == _WHOLE:
        return bool(types.is_integer_dtype(column))
    if content == _NUMBER:
        return bool(types.is_numeric_dtype(column) or column.isna().all())
    return types.infer_dtype(column, skipna=False) == "string"


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
