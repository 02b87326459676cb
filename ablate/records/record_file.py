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
# The JSON of a record.
_Stored: type[BaseModel] = create_model(  # type: ignore[call-overload]
    "_Stored",
    __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False),
    **{
        name: (kind, ...)
        for name, kind in get_type_hints(Record, localns={"np": np, "NDArray": NDArray}).items()
        if name not in _ARRAYS
    },
)


def encoded(record: Record) -> tuple[bytes, bytes]:
    """The content of the JSON file, and that of the arrays."""
    arrays = {f"array/{name}": array for name, array in record.arrays.items()}
    for name, curve in record.curves.items():
        arrays[f"steps/{name}"], arrays[f"values/{name}"] = curve.steps, curve.values
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    content = buffer.getvalue()
    data = {"format": FORMAT, **_plain(record), "arrays_digest": digest_of(content)}
    whole = data | {"digest": digest_of_data(data)}
    return (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode(), content


def decoded(text: bytes, arrays: bytes | None) -> Record:
    """The record in these two files. Raises errors of several kinds when they are not what was written."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not a record")
    version, digest = data.pop("format", None), data.pop("digest", None)
    if version != FORMAT:
        raise ValueError(f"of format {version!r}; this version of ablate reads format {FORMAT}")
    if digest != digest_of_data({"format": version} | data):
        raise ValueError("its content has another digest")
    if arrays is None or digest_of(arrays) != data.pop("arrays_digest"):
        raise ValueError("its arrays are missing, or have another digest")
    with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    curves = {name: Curve(x, found[f"values/{name}"]) for name, x in _below("steps/", found).items()}
    return Record(**_checked(data), curves=curves, arrays=_below("array/", found))


def fault_of(record: Record) -> str:
    """What keeps a record from being kept, and read again, as it is; empty where nothing does."""
    try:
        _checked(_plain(record))
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields in the JSON of a record. Raises `ValueError` for the first that is not what it must be."""
    try:
        return _Stored.model_validate(data).model_dump()
    except ValidationError as error:
        found = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, found['loc']))}: {found['msg']}") from None


def _plain(record: Record) -> dict[str, Any]:
    """The fields of a record beside its arrays, as JSON gives them back. Raises `TypeError` or `ValueError`."""
    data = {f.name: getattr(record, f.name) for f in dataclasses.fields(record) if f.name not in _ARRAYS}
    data["metrics"] = {
        name: None if value is None or not math.isfinite(value) else value
        for name, value in record.metrics.items()
    }
    return json.loads(json.dumps(data, allow_nan=False))


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
