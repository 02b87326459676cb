"""Tables as files: frames with facts in their attributes, rows without pandas, CSV as text."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ablate.base.digests import digest_of_data
from ablate.base.errors import AblateError
from ablate.base.files import replacing, write_text

if TYPE_CHECKING:
    import pandas as pd

KnownFacts = TypeVar("KnownFacts")
FORMAT = 2
READ = (1, FORMAT)
"""The formats of the files of a study that can be read; format 1 had no number."""
_FACTS, _FORMAT, _DIGEST = "ablate", "ablate_format", "ablate_digest"
"""The attributes of a frame that hold the facts, the format, and a digest of facts and columns.

Pandas keeps them in the parquet file, whose pages have checksums of their own.
"""


def save_frame(path: Path, frame: pd.DataFrame, facts: Any = None) -> None:
    """Writes a frame, with facts (a dataclass) in its attributes, whole or not at all."""
    frame = frame.copy(deep=False)
    known = {} if facts is None else {_FACTS: dataclasses.asdict(facts)}
    frame.attrs = {_FORMAT: FORMAT, _DIGEST: digest_of_data([known, list(frame.columns)]), **known}
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False, write_page_checksum=True)


def existing(path: Path) -> Path:
    """The path of a file of a report; raises `AblateError` where there is none."""
    if not path.is_file():
        raise AblateError(
            f"{path.parent}: has no {path.name}; run the study first, or give a folder of results/"
        )
    return path


def load_frame(path: Path, facts: Callable[[dict[str, Any]], KnownFacts]) -> tuple[KnownFacts, pd.DataFrame]:
    """Reads facts, which `facts` makes from plain data, and frame. Raises `AblateError`."""
    import pandas as pd

    try:
        frame = pd.read_parquet(path, page_checksum_verification=True)
        _check(path, frame.attrs, frame.columns)
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
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            attributes = json.loads((schema.metadata or {}).get(b"PANDAS_ATTRS", b"{}"))
            _check(path, attributes, schema.names)
            return file.read(columns=columns).to_pylist(), attributes.get(_FACTS, {})
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        first = str(error).partition("\n")[0]
        raise AblateError(
            f"{path}: is not a table of trials ({first}); restore it, or run the study again"
        ) from None


def _check(path: Path, attributes: dict[str, Any], columns: Iterable[str]) -> None:
    """Takes format and digest out of the attributes of a table with these columns.

    Raises `ValueError` for another digest, and `AblateError` for a format that cannot be read.
    """
    version, digest = attributes.pop(_FORMAT, 1), attributes.pop(_DIGEST, None)
    if version not in READ:
        raise AblateError(
            f"{path}: is of format {version!r}, and this version of ablate reads {READ[0]} to {READ[-1]}; use the "
            "version that wrote it, or run the study again"
        )
    if (version, digest) != (1, None) and digest != digest_of_data([attributes, list(columns)]):
        raise ValueError("its facts or columns have another digest")


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
