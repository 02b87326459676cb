"""Tables as files: frames with facts in their attributes, rows without pandas, CSV as text."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError
from ablate.base.files import digest_of_data, replacing, write_text
from ablate.base.text import first_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

    from ablate.core.facts import StudyFacts

FORMAT = 2
# The attributes of a frame that hold the facts, the format, and a digest of facts and columns. They stand in the
# parquet file where pandas looks for them; its pages have checksums of their own.
_FACTS = "ablate"
_FORMAT = "ablate_format"
_DIGEST = "ablate_digest"
_ATTRIBUTES = b"PANDAS_ATTRS"
FEW_VALUES = 64  # The most different values of a column that are numbered, in six bits each.
MANY_VALUES = (
    1_000_000  # The most values among which different ones are counted, so that this takes little memory.
)


def save_frame(path: Path, frame: pd.DataFrame, facts: StudyFacts | None = None) -> None:
    """Writes a frame, with facts in its attributes, whole or not at all."""
    import pyarrow.parquet

    content = {} if facts is None else {_FACTS: dataclasses.asdict(facts)}
    digest = digest_of_data([content, list(frame.columns)])
    attributes = {_FORMAT: FORMAT, _DIGEST: digest, **content}
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    few, many = _floats(table)
    options = {
        "compression": "zstd",
        "use_dictionary": few,
        "use_byte_stream_split": many,
        "write_statistics": False,
        "write_page_checksum": True,
        "store_schema": False,  # It would hold the attributes once more.
    }
    with (
        replacing(path) as temporary,
        pyarrow.parquet.ParquetWriter(temporary, table.schema, **options) as writer,
    ):
        writer.write_table(table)
        writer.add_key_value_metadata({_ATTRIBUTES: json.dumps(attributes)})


def _floats(table: pyarrow.Table) -> tuple[list[str], list[str]]:
    """Returns the columns of lists of few different floats, and the other columns of floats, as parquet calls them.

    In the first, parquet numbers the values, and each takes the bits of its number: an outcome of 0 or 1 takes one. Of
    the others it stores all first bytes, then all second ones, and so on, which compresses well.
    """
    from pyarrow.compute import count_distinct, list_flatten
    from pyarrow.types import is_floating, is_list

    few: list[str] = []
    many: list[str] = []
    for field in table.schema:
        if is_floating(field.type):
            many.append(field.name)
        elif is_list(field.type) and is_floating(field.type.value_type):
            values = list_flatten(table[field.name]).slice(length=MANY_VALUES)
            columns = few if count_distinct(values).as_py() <= FEW_VALUES else many
            columns.append(f"{field.name}.list.element")
    return few, many


def load_frame(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """Returns the facts of a frame as plain data, and the frame. Raises `AblateError`."""
    with reading(path):
        table, facts = _read(path)
        # By the names that the digest covers, and not those that pandas keeps beside.
        return facts, table.replace_schema_metadata(None).to_pandas()


def rows_and_facts(
    path: Path, columns: list[str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns the rows of a parquet file (of some columns) and its facts as plain data. Raises `AblateError`.

    It does without pandas, which takes long to import.
    """
    with reading(path):
        table, facts = _read(path, columns)
        return table.to_pylist(), facts


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises `AblateError` where a parquet file is not there, or cannot be read inside."""
    import pyarrow

    if not path.is_file():
        raise AblateError(
            f"{path.parent}: has no {path.name}; run the study first, or give a folder of results/"
        )
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
        reason = first_line(error)
        raise AblateError(f"{path}: cannot be read ({reason}); restore it, or run the study again") from None


def _read(path: Path, columns: list[str] | None = None) -> tuple[pyarrow.Table, dict[str, Any]]:
    """Returns a table and its facts as plain data. Raises `ValueError` where its digest is another."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        schema = file.schema_arrow
        attributes = json.loads((schema.metadata or {}).get(_ATTRIBUTES, b"{}"))
        version = attributes.pop(_FORMAT, None)
        digest = attributes.pop(_DIGEST, None)
        if version != FORMAT:
            raise AblateError(
                f"{path}: is of format {version!r}, and this version of ablate reads {FORMAT}; use the version that "
                "wrote it, or run the study again"
            )
        if digest != digest_of_data([attributes, schema.names]):
            raise ValueError("its facts or columns have another digest")
        return file.read(columns=columns), attributes.get(_FACTS, {})


def read_csv(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Returns the rows of a CSV file as text, with these columns at least; none where there is no file.

    Raises `AblateError`.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            present = reader.fieldnames or ()
            if not set(columns) <= set(present):
                raise ValueError("a column is missing")
            return list(reader)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, csv.Error) as error:
        raise AblateError(
            f"{path}: cannot be read ({error}); restore it, or remove it and run again"
        ) from None


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes these columns of rows, whole or not at all; what a row lacks is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
