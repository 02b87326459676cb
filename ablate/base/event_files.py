"""Event files of TensorBoard: their scalars, and the hyperparameters that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import Invalid
from ablate.base.files import unreadable
from ablate.base.text import first_line

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

_MAX_BYTES = 2**31
Scalars = MutableMapping[str, MutableMapping[int, float]]
"""Name → step → value."""


def is_event_file(name: str) -> bool:
    """Returns whether a file is an event file, by its name."""
    return ".tfevents." in name


def scalars_of(file: Path, hyperparameters: MutableMapping[str, str]) -> Iterator[tuple[int, str, float]]:
    """Yields step, name and value of each scalar; adds the hyperparameters that are new. Raises `Invalid`."""
    plugins: dict[str, str] = {}
    for event in _events_of(file):
        for value in event.summary.value:
            # The first value of a name alone says what it is.
            plugin = plugins.setdefault(value.tag, value.metadata.plugin_data.plugin_name)
            if plugin == "hparams":
                for name, text in _hyperparameters(value.metadata.plugin_data.content):
                    hyperparameters.setdefault(name, text)
                continue
            number = _scalar(value, plugin)
            if number is not None:
                yield event.step, value.tag, number


def add_scalars(scalars: Scalars, of_file: Iterable[tuple[int, str, float]]) -> list[str]:
    """Adds the scalars of a later file, and returns the names of those of which it replaces some.

    A file that begins at a step replaces what earlier files have of each of its scalars from this step on: the run had
    started again.
    """
    later: dict[str, dict[int, float]] = {}
    for step, name, value in of_file:
        later.setdefault(name, {})[step] = value
    replaced: list[str] = []
    for name, values in later.items():
        first = min(values)
        earlier = scalars.get(name, {})
        before = {step: value for step, value in earlier.items() if step < first}
        scalars[name] = before | values
        if len(before) < len(earlier):
            replaced.append(name)
    return replaced


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
