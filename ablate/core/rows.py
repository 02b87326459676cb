"""Tables whose rows are frozen dataclasses: the fields of a class are the columns, in their order.

A cell that holds several of something is a list in JSON, written by `list_as_text` and read by `list_in`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import Field, asdict, fields
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


def list_as_text(rows: Iterable[Dataclass]) -> str:
    """Returns rows of one class as a cell stores them: a list of objects in JSON; empty text for none."""
    listed = [asdict(row) for row in rows]
    return json.dumps(listed, ensure_ascii=False) if listed else ""


def list_in(text: str, kind: type[Row]) -> list[Row]:
    """Returns the rows of one class in the text that `list_as_text` writes; none in empty text."""
    return [kind(**row) for row in json.loads(text)] if text else []
