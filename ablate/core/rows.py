"""Tables whose rows are dataclasses: the fields are the columns, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ablate.core.facts import frame_of

if TYPE_CHECKING:
    import pandas as pd


class Row(Protocol):
    """A row of a table: an instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def frame_of_rows(rows: Sequence[Row], kind: type[Row]) -> pd.DataFrame:
    """Returns a frame of dataclasses of one `kind`, which has all its columns without rows too."""
    columns = [field.name for field in fields(kind)]
    return frame_of([vars(row) for row in rows], columns)
