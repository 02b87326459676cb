"""Event files of TensorBoard: the scalars of each run, a folder a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import Invalid
from ablate.base.extras import refuse_missing
from ablate.base.files import unreadable
from ablate.base.once import put_once
from ablate.base.text import first_line
from ablate.report.words import message
from ablate.runs.content import digest_of_files
from ablate.runs.ends.run_ends import ending_beside
from ablate.runs.formats.run_history import RunHistory, table_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound
from ablate.runs.run_settings import settings_in
from ablate.runs.run_tree import RunFolder, has_files, refuse_many, run_folders

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

_MAX_BYTES = 2**31
_STEP = "step"


class TensorBoardReader(Reader):
    """Reads event files of TensorBoard."""

    looks_for = "event files of TensorBoard, a folder a run (events.out.tfevents.*)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a path is an event file, or has some below it."""
        if options.read:
            return False
        return has_files(path, "events") if path.is_dir() else ".tfevents." in path.name

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
    """Returns the settings and scalars of one run; adds what a later file replaces to the notes. Raises `Invalid`.

    A file that begins at a step replaces what earlier files have of each of its scalars from this step on: the run had
    started again.
    """
    settings = settings_in(folder.configs, notes)
    scalars: dict[str, dict[int, str]] = {}
    for file in folder.results:
        part = folder.part_of(file)
        of_file: dict[str, dict[int, str]] = {}
        for step, name, value in _scalars_of(file, settings):
            of_file.setdefault(part + name, {})[step] = value
        replaced = []
        for name, values in of_file.items():
            first = min(values)
            earlier = scalars.get(name, {})
            before = {step: value for step, value in earlier.items() if step < first}
            scalars[name] = before | values
            if len(before) < len(earlier):
                replaced.append(name)
        if replaced:
            notes.append(message("analyse.written_again", folder.name, replaced, file.name))
    rows: dict[int, dict[str, str]] = {}
    for name, values in scalars.items():
        column = f"scalars/{name}" if name == _STEP else name
        for step, value in values.items():
            put_once(rows.setdefault(step, {_STEP: str(step)}), column, value)
    return RunHistory(
        folder.name,
        str(folder.path),
        rows=[rows[step] for step in sorted(rows)],
        settings=settings,
        content=digest_of_files([*folder.configs, *folder.results]),
        ended=ending_beside(folder),
    )


def _scalars_of(file: Path, settings: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yields step, name and value of each scalar; adds hyperparameters to the settings. Raises `Invalid`."""
    plugins: dict[str, str] = {}
    for event in _events_of(file):
        for value in event.summary.value:
            # The first value of a name alone says what it is.
            plugin = plugins.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            if plugin == "hparams":
                for name, text in _hyperparameters(value.metadata.plugin_data.content):
                    settings.setdefault(name, text)
                continue
            number = _scalar(value, plugin)
            if number is not None:
                yield event.step, value.tag, repr(number)


def _events_of(file: Path) -> Iterator[Event]:
    """Yields the events of a file. Raises `Invalid`."""
    from google.protobuf.message import DecodeError
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    fault = unreadable(file, _MAX_BYTES)
    if fault is not None:
        raise Invalid("", f"{file}: {fault}")
    try:
        yield from LegacyEventFileLoader(str(file)).Load()
    except (DecodeError, ValueError, OSError, MemoryError) as error:
        raise Invalid(
            "", f"{file}: is no event file of TensorBoard that can be read: {first_line(error)}"
        ) from None


def _scalar(value: Summary.Value, plugin: str) -> float | None:
    """Returns the number of a scalar, old or new; None for anything else."""
    from tensorboard.util.tensor_util import make_ndarray

    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor" or plugin != "scalars":
        return None
    array = make_ndarray(value.tensor)
    return float(array.reshape(())) if array.size == 1 else None


def _hyperparameters(content: bytes) -> Sequence[tuple[str, str]]:
    """Returns name and value as text of the hyperparameters that the plugin of this name keeps; none of other data."""
    from google.protobuf.message import DecodeError
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    try:
        start = HParamsPluginData.FromString(content).session_start_info
    except DecodeError:
        return []
    values = []
    for name, value in start.hparams.items():
        kind = value.WhichOneof("kind")
        if kind == "bool_value":
            values.append((name, str(value.bool_value).lower()))
        elif kind == "number_value":
            values.append((name, f"{value.number_value:.15g}"))
        elif kind == "string_value":
            values.append((name, value.string_value))
    return values
