"""A record as two files: JSON, with a digest over all of it, and its arrays as `.npz`.

Format 1 had no digest, and is refused by name.
"""

import dataclasses
import io
import json
import math
from collections.abc import Mapping
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ablate.base.files import digest_of, digest_of_data
from ablate.core.record import Curve, Record

FORMAT = 2
_ARRAYS = ("curves", "arrays", "weights")  # The fields of a record that are not in its JSON.
_TYPES = get_type_hints(Record, localns={"np": np, "NDArray": NDArray})
# The JSON of a record.
_Stored: type[BaseModel] = create_model(  # type: ignore[call-overload]
    "_Stored",
    __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False),
    **{name: (annotation, ...) for name, annotation in _TYPES.items() if name not in _ARRAYS},
)


def files_of(record: Record) -> dict[str, bytes | None]:
    """Returns name → content of the files of a record, the record itself last; None for weights that it lacks.

    Notes in the record which weights are kept beside it: those of its own training.
    """
    if record.weights is None:
        record.kept = []
        record.weights_digest = ""
    else:
        record.weights_digest = digest_of(record.weights)
    content, arrays = encoded(record)
    return {
        f"{record.id}.npz": arrays,
        f"{record.id}.safetensors": record.weights,
        f"{record.id}.json": content,
    }


def encoded(record: Record) -> tuple[bytes, bytes]:
    """Returns the content of the JSON file, and that of the file of arrays."""
    arrays = {f"array/{name}": array for name, array in record.arrays.items()}
    for name, curve in record.curves.items():
        arrays[f"steps/{name}"] = curve.steps
        arrays[f"values/{name}"] = curve.values
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    archive = buffer.getvalue()

    data = {"format": FORMAT, **_plain(record), "arrays_digest": digest_of(archive)}
    data["digest"] = digest_of_data(data)
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    return text.encode(), archive


def decoded(text: bytes, archive: bytes | None) -> Record:
    """Returns the record in the contents of two files. Raises errors of several kinds where they were changed."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not a record")
    version = data.pop("format", None)
    digest = data.pop("digest", None)
    if version != FORMAT:
        raise ValueError(f"of format {version!r}; this version of ablate reads format {FORMAT}")
    if digest != digest_of_data({"format": version} | data):
        raise ValueError("its content has another digest")
    if archive is None or digest_of(archive) != data.pop("arrays_digest"):
        raise ValueError("its arrays are missing, or have another digest")

    with np.load(io.BytesIO(archive), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    curves = {}
    for name, steps in _below("steps/", arrays).items():
        curves[name] = Curve(steps, arrays[f"values/{name}"])
    return Record(**_checked(data), curves=curves, arrays=_below("array/", arrays))


def fault_of(record: Record) -> str:
    """Returns why a record cannot be kept and read again as it is; empty where it can."""
    try:
        _checked(_plain(record))
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields in the JSON of a record. Raises `ValueError` for the first that is not what it must be."""
    try:
        return _Stored.model_validate(data).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        raise ValueError(f"{path}: {first['msg']}") from None


def _plain(record: Record) -> dict[str, Any]:
    """Returns the fields of a record beside its arrays, as JSON gives them back. Raises `TypeError` or `ValueError`."""
    names = [field.name for field in dataclasses.fields(record)]
    data = {name: getattr(record, name) for name in names if name not in _ARRAYS}
    data["metrics"] = {name: _finite(value) for name, value in record.metrics.items()}
    return json.loads(json.dumps(data, allow_nan=False))


def _finite(value: float | None) -> float | None:
    """Returns the value of a metric; None for infinity and NaN, which JSON cannot hold."""
    if value is None or not math.isfinite(value):
        return None
    return value


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Returns the arrays whose names start with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
