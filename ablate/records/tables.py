"""Tables as files: frames with facts in their attributes, rows without pandas, CSV as text."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ablate.base.errors import AblateError
from ablate.base.files import replacing, write_text

if TYPE_CHECKING:
    import pandas as pd

KnownFacts = TypeVar("KnownFacts")
_FACTS = "ablate"
"""The attribute of a frame that holds the facts, which pandas keeps in the parquet file."""


def save_frame(path: Path, frame: pd.DataFrame, facts: Any = None) -> None:
    """Writes a frame, with facts (a dataclass) in its attributes, whole or not at all."""
    if facts is not None:
        frame = frame.copy()
        frame.attrs = {_FACTS: dataclasses.asdict(facts)}
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)


def load_frame(path: Path, facts: Callable[[dict[str, Any]], KnownFacts]) -> tuple[KnownFacts, pd.DataFrame]:
    """Reads facts, which `facts` makes from plain data, and frame. Raises `AblateError`."""
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
        # Out of the attributes, which pandas copies deeply whenever a frame is touched.
        return facts(frame.attrs.pop(_FACTS, {})), frame
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AblateError(f"{path}: cannot be read ({error}); run the study again") from error


def rows_and_facts(
    path: Path, columns: list[str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of a parquet file (of some columns) and its facts as plain data, without pandas.

    Raises `AblateError`.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path, columns=columns)
        attributes = json.loads((table.schema.metadata or {}).get(b"PANDAS_ATTRS", b"{}"))
        return table.to_pylist(), attributes.get(_FACTS, {})
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        first = str(error).partition("\n")[0]
        raise AblateError(
            f"{path}: is not a table of trials ({first}); restore it, or run the study again"
        ) from None


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file as text; raises `ValueError` where it has no heading, and `csv.Error`."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if not reader.fieldnames:
            raise ValueError("no heading")
        return list(reader)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes these columns of rows, whole or not at all; what a row lacks is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
