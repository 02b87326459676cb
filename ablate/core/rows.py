"""Frames whose rows are frozen dataclasses: the fields of the class are the columns, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    import pandas as pd


class Dataclass(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Row = TypeVar("Row", bound=Dataclass)


def frame_of_rows(rows: Sequence[Row], kind: type[Row]) -> pd.DataFrame:
    """Returns a frame of rows of one class; without rows it still has the columns of the class."""
    import pandas as pd

    columns = [field.name for field in fields(kind)]
    return pd.DataFrame([vars(row) for row in rows], columns=columns)
