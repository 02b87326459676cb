"""Tables as files: frames with facts in their attributes, rows without pandas, CSV as text."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Problem, listed, nearest, shown
from ablate.base.files import digest_of_data, replacing, write_text
from ablate.base.kept import content_of
from ablate.base.text import first_line
from ablate.core.names import RESERVED
from ablate.records.facts_file import plain_facts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

    from ablate.core.facts import StudyFacts

FORMAT = 7
OLDEST = 2  # The oldest format that is read, as far as its facts are those of today.
# The attributes of a frame that hold the facts, the format, the names of the frames beside it, and a digest of all that
# and the columns. They stand in the parquet file where pandas looks for them; its pages have checksums of their own.
_FACTS = "ablate"
_FORMAT = "ablate_format"
_DIGEST = "ablate_digest"
_BESIDE = "ablate_beside"
_ATTRIBUTES = b"PANDAS_ATTRS"
FEW_VALUES = 64  # The most different values of a column that are numbered, in six bits each.
MANY_VALUES = (
    1_000_000  # The most values among which different ones are counted, so that this takes little memory.
)

# The words of some columns of tables of verdicts, and the columns that hold numbers, or nothing.
_TRUTH = ("True", "False")
_OUTCOMES = ("", "better", "worse", "equivalent", "inconclusive", "supported", "refuted")
_WORDS = {"verdict": _OUTCOMES, "exploratory": _TRUTH, "placebo": _TRUTH}
_NUMBERS = ("n", "diff", "ci_low", "ci_high", "level", "p", "mde", "mean_variant", "mean_baseline", "ratio")


def save_frame(
    path: Path, frame: pd.DataFrame, facts: StudyFacts | None = None, beside: Iterable[str] = ()
) -> None:
    """Writes a frame, with facts in its attributes, whole or not at all.

    beside: the names of the frames without which the facts are not whole.
    """
    import pyarrow.parquet

    content: dict[str, object] = {}
    if facts is not None:
        content = {_FACTS: plain_facts(facts), _BESIDE: sorted(beside)}
    digest = digest_of_data([content, list(frame.columns)])
    attributes = {_FORMAT: FORMAT, _DIGEST: digest, **content}
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    few, many = _floats(table)
    options = {
        "compression": "zstd",
        "compression_level": 15,  # Curves take a quarter less than at 1, the default; higher ones take long.
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


def frames_beside(path: Path) -> list[str] | None:
    """Returns the names of the frames that were written with this one; None where an older version has written it.

    Raises `AblateError`.
    """
    import pyarrow.parquet

    with reading(path):
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        names: list[str] | None = json.loads(metadata.get(_ATTRIBUTES, b"{}")).get(_BESIDE)
        return names


def rows_and_facts(
    path: Path, columns: list[str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns the rows of a parquet file (of some columns) and its facts as plain data. Raises `AblateError`.

    It does without pandas, which takes long to import.
    """
    with reading(path):
        table, facts = _read(path, columns)
        return table.to_pylist(), facts


def _no_folder(folder: Path) -> Problem:
    """Returns the problem of a folder that is not there, with the nearest beside it."""
    names = sorted(other.name for other in folder.parent.glob("[!.]*") if other.is_dir())
    beside = [name for name in names if name not in RESERVED]
    hint = nearest(folder.name, beside) or "Run the study first"
    return Problem("does not exist", allowed=listed(beside), hint=hint, source=str(folder))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises `AblateError` where a parquet file is not there, or cannot be read inside."""
    import pyarrow

    if not path.is_file():
        if not path.parent.exists():
            raise AblateError(str(_no_folder(path.parent)))
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
        if version not in range(OLDEST, FORMAT + 1):
            raise AblateError(
                f"{path}: is of format {version!r}, and this version of ablate reads {OLDEST} to {FORMAT}; use the "
                "version that wrote it, or run the study again"
            )
        if digest != digest_of_data([attributes, schema.names]):
            raise ValueError("its facts or columns have another digest")
        return file.read(columns=columns), attributes.get(_FACTS, {})


def read_csv(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """Returns the rows of a CSV file as text, as `numbered_rows` does, without their lines."""
    return [row for _, row in numbered_rows(path, columns)]


def numbered_rows(path: Path, columns: Iterable[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """Returns the rows of a CSV file as text, each as (number of its last line, row); none where there is no file.

    columns: those that the file must have. Raises `AblateError` for a file that cannot be read or lacks one of them,
    and for the first cell in it whose text does not fit its column.
    """
    remedy = "Restore it, or remove it and run again"
    content = content_of(path, remedy)
    if content is None:
        return []
    try:
        reader = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
        present = reader.fieldnames or ()
        if not present:
            raise ValueError("it has no columns")
        missing = [name for name in columns if name not in present]
        if missing:
            raise ValueError(f"the column {missing[0]} is missing")
        rows: list[tuple[int, dict[str, str]]] = []
        for row in reader:
            if len(row) != len(present) or None in row.values():
                raise ValueError(f"line {reader.line_num} must have as many cells as there are columns")
            for name, text in row.items():
                if not _is_of_column(name, text):
                    raise ValueError(f"line {reader.line_num}: {shown(text)} is no {name}")
            rows.append((reader.line_num, row))
        return rows
    except (ValueError, csv.Error) as error:
        raise AblateError(f"{path}: cannot be read ({error}). {remedy}") from None


def _is_of_column(name: str, text: str) -> bool:
    """Returns whether a text can stand in a column of this name."""
    if name in _WORDS:
        return text in _WORDS[name]
    if name not in _NUMBERS or not text:
        return True
    try:
        number = float(text)
    except ValueError:
        return False
    # An effect of any size may go undetected.
    return math.isfinite(number) or (name == "mde" and number == math.inf)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes these columns of rows, whole or not at all; what a row lacks is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
