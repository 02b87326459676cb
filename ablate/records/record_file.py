"""A record as two files: JSON, with a digest over all of it, and its arrays as `.npz`.

Format 1 had no digest, and is refused by name.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ablate.base.files import digest_of, digest_of_data
from ablate.core.record import Curve, Record

FORMAT = 2
_ARRAYS = ("curves", "arrays", "weights")  # The fields of a record that are not in its JSON.


class CorruptRecordError(Exception):
    """A file of the store does not hold what was written."""


_KINDS = {name: kind for name, kind in get_type_hints(Record).items() if name not in _ARRAYS}
# The JSON of a record.
_Stored: type[BaseModel] = create_model(  # type: ignore[call-overload]
    "_Stored",
    __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False),
    **{name: (kind, ...) for name, kind in _KINDS.items()},
)


def encoded(record: Record) -> tuple[bytes, bytes]:
    """The content of the JSON file, and that of the arrays."""
    arrays = {f"array/{name}": array for name, array in record.arrays.items()}
    for name, curve in record.curves.items():
        arrays[f"steps/{name}"], arrays[f"values/{name}"] = curve.steps, curve.values
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    content = buffer.getvalue()
    data = {"format": FORMAT} | _plain(record)
    data["arrays_digest"] = digest_of(content)
    whole = data | {"digest": digest_of_data(data)}
    return (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode(), content


def decoded(text: bytes, arrays: bytes | None) -> Record:
    """The record in these two files. Raises `CorruptRecordError` when they are not what was written."""
    try:
        data = json.loads(text, parse_constant=_refuse)
        if not isinstance(data, dict):
            raise CorruptRecordError("not a record")
        version, digest = data.pop("format", None), data.pop("digest", None)
        if version != FORMAT or isinstance(version, bool):
            raise CorruptRecordError(f"of format {version!r}; this version of ablate reads format {FORMAT}")
        if digest != digest_of_data({"format": version} | data):
            raise CorruptRecordError("its content has another digest")
        if arrays is None or digest_of(arrays) != data.pop("arrays_digest"):
            raise CorruptRecordError("its arrays are missing, or have another digest")
        fields = _Stored.model_validate(data).model_dump()
        with np.load(io.BytesIO(arrays), allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        return Record(**fields, curves=_curves(found), arrays=_below("array/", found))
    except ValidationError as error:
        raise CorruptRecordError(_first(error)) from None
    except CorruptRecordError:
        raise
    except Exception as error:
        # JSON, zip and numpy each raise errors of several kinds, and all of them mean the same here.
        raise CorruptRecordError(str(error) or type(error).__name__) from None


def fault_of(record: Record) -> str:
    """What keeps a record from being kept, and read again, as it is; empty where nothing does."""
    try:
        _Stored.model_validate(_plain(record))
    except ValidationError as error:
        return _first(error)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _plain(record: Record) -> dict[str, Any]:
    """The fields of a record beside its arrays, as JSON gives them back. Raises `TypeError` or `ValueError`."""
    data = {f.name: getattr(record, f.name) for f in dataclasses.fields(record) if f.name not in _ARRAYS}
    data["metrics"] = {
        name: None if value is None or not math.isfinite(value) else value
        for name, value in record.metrics.items()
    }
    found: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return found


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"


def _curves(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Curve]:
    values = _below("values/", arrays)
    return {name: Curve(steps, values[name]) for name, steps in _below("steps/", arrays).items()}


def _below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _refuse(constant: str) -> NoReturn:
    raise CorruptRecordError(f"{constant} is not a number")
