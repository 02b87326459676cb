"""Event files of TensorBoard: the scalars of each run, a folder a run."""

from __future__ import annotations

from pathlib import Path

from ablate.base.errors import Invalid
from ablate.base.event_files import Scalars, add_scalars, is_event_file, scalars_of
from ablate.base.extras import refuse_missing
from ablate.base.once import put_once
from ablate.report.words import message
from ablate.runs.content import digest_of_files
from ablate.runs.ends.run_ends import ending_beside
from ablate.runs.formats.run_history import RunHistory, table_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.run_settings import settings_in
from ablate.runs.run_tree import RunFolder, has_files, refuse_many, run_folders

_STEP = "step"


class TensorBoardReader(Reader):
    """Reads event files of TensorBoard."""

    looks_for = "event files of TensorBoard, a folder a run (events.out.tfevents.*)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a path is an event file, or has some below it."""
        if options.read:
            return False
        return has_files(path, "events") if path.is_dir() else is_event_file(path.name)

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns a row a run and step, of scalars alone. Raises `AblateError`."""
        refuse_missing("tensorboard", "RUNS has event files of TensorBoard: reading them")
        notes: list[str] = []
        if path.is_dir():
            folders = run_folders(path, "events", notes)
        else:
            folders = [RunFolder(path.parent, path.parent.name, [], [path], is_of_hydra=False)]
        refuse_many(folders, path)
        runs = [_history_of(folder, notes) for folder in folders]
        if not any(run.rows for run in runs):
            raise Invalid("RUNS", "has event files of TensorBoard without a scalar", str(path))
        return table_of(runs, "TensorBoard logs", options, notes)


def _history_of(folder: RunFolder, notes: list[str]) -> RunHistory:
    """Returns the settings and scalars of one run; adds what a later file replaces to the notes. Raises `Invalid`."""
    settings = settings_in(folder.configs, notes)
    scalars: Scalars = {}
    for file in folder.results:
        part = folder.part_of(file)
        of_file = ((step, part + name, value) for step, name, value in scalars_of(file, settings))
        replaced = add_scalars(scalars, of_file)
        if replaced:
            notes.append(message("analyse.written_again", folder.name, replaced, file.name))
    rows: dict[int, dict[str, str]] = {}
    for name, values in scalars.items():
        column = f"scalars/{name}" if name == _STEP else name
        for step, value in values.items():
            put_once(rows.setdefault(step, {_STEP: str(step)}), column, repr(value))
    return RunHistory(
        folder.name,
        str(folder.path),
        rows=[rows[step] for step in sorted(rows)],
        settings=settings,
        content=digest_of_files([*folder.configs, *folder.results]),
        ended=ending_beside(folder),
    )
