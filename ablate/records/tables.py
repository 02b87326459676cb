"""Tables as files: frames with facts in their attributes, rows without pandas, CSV as text; and the evidence of a
study, one a frame, with whatever frames features keep beside.
"""

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
from ablate.core.facts import Evidence, StudyFacts
from ablate.core.trial import JUDGED, Cell, Trial

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

FORMAT = 2
# The attributes of a frame that hold the facts, the format, and a digest of facts and columns. They stand in the
# parquet file where pandas looks for them; its pages have checksums of their own.
_FACTS, _FORMAT, _DIGEST = "ablate", "ablate_format", "ablate_digest"
_ATTRIBUTES = b"PANDAS_ATTRS"
FEW_VALUES = 64  # The most different values of a column that are numbered, in six bits each.
MANY_VALUES = 1_000_000  # Those among which they are counted, so that counting takes little memory.


def save_frame(path: Path, frame: pd.DataFrame, facts: Any = None) -> None:
    """Writes a frame, with facts (a dataclass) in its attributes, whole or not at all."""
    import pyarrow.parquet

    known = {} if facts is None else {_FACTS: dataclasses.asdict(facts)}
    attributes = {_FORMAT: FORMAT, _DIGEST: digest_of_data([known, list(frame.columns)]), **known}
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
            some = list_flatten(table[field.name]).slice(length=MANY_VALUES)
            kind = few if count_distinct(some).as_py() <= FEW_VALUES else many
            kind.append(f"{field.name}.list.element")
    return few, many


def load_frame(path: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """The facts of a frame as plain data, and the frame. Raises `AblateError`."""
    with _readable(path):
        table, known = _read(path)
        # By the names that the digest covers, and not those that pandas keeps beside.
        return known, table.replace_schema_metadata(None).to_pandas()


def rows_and_facts(
    path: Path, columns: list[str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of a parquet file (of some columns) and its facts as plain data, without pandas, which takes long.

    Raises `AblateError`.
    """
    with _readable(path):
        table, known = _read(path, columns)
        return table.to_pylist(), known


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    import pyarrow

    if not path.is_file():
        raise AblateError(
            f"{path.parent}: has no {path.name}; run the study first, or give a folder of results/"
        )
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
        why = first_line(error)
        raise AblateError(f"{path}: cannot be read ({why}); restore it, or run the study again") from None


def _read(path: Path, columns: list[str] | None = None) -> tuple[Any, dict[str, Any]]:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        schema = file.schema_arrow
        attributes = json.loads((schema.metadata or {}).get(_ATTRIBUTES, b"{}"))
        version, digest = attributes.pop(_FORMAT, None), attributes.pop(_DIGEST, None)
        if version != FORMAT:
            raise AblateError(
                f"{path}: is of format {version!r}, and this version of ablate reads {FORMAT}; use the version that "
                "wrote it, or run the study again"
            )
        if digest != digest_of_data([attributes, schema.names]):
            raise ValueError("its facts or columns have another digest")
        return file.read(columns=columns), attributes.get(_FACTS, {})


def read_csv(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """The rows of a CSV file as text, with these columns at least; none where there is no file.

    Raises `AblateError`.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if not {*columns} <= {*(reader.fieldnames or ())}:
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


TRIALS, CURVES, EXAMPLES = "trials.parquet", "curves.parquet", "examples.parquet"


class EvidenceFolder:
    """A folder with the frames of some evidence; all but trials and curves are missing where they have no rows."""

    path: Path
    known: Mapping[str, Any] = {}  # The facts as plain data, where they are kept elsewhere too.

    def facts(self) -> StudyFacts:
        """The facts, without the frames. Raises `AblateError`."""
        if self.known:
            return StudyFacts.from_dict(self.known)
        with _readable(self.path / TRIALS):
            return StudyFacts.from_dict(rows_and_facts(self.path / TRIALS, [])[1])

    def evidence(self) -> Evidence:
        """The evidence of the last report. Raises `AblateError`."""
        known, trials = load_frame(self.path / TRIALS)
        with _readable(self.path / TRIALS):
            facts = StudyFacts.from_dict(known)
        curves, examples = load_frame(self.path / CURVES)[1], self.path / EXAMPLES
        by_example = {"examples": load_frame(examples)[1]} if examples.is_file() else {}
        frames = {name: load_frame(path)[1] for name, path in self._beside().items()}
        return Evidence(facts, trials, curves, frames=frames, **by_example)

    def save_evidence(self, evidence: Evidence) -> None:
        """Writes the frames, each whole or not at all; removes those of an earlier run that have no rows any more."""
        save_frame(self.path / TRIALS, evidence.trials, evidence.facts)
        save_frame(self.path / CURVES, evidence.curves)
        frames = {**evidence.frames, Path(EXAMPLES).stem: evidence.examples}
        for name in {*frames, *self._beside()}:
            path = self.path / f"{name}.parquet"
            if name in frames and len(frames[name]):
                save_frame(path, frames[name])
            else:
                path.unlink(missing_ok=True)

    def ids(self) -> set[str]:
        """Every trial in its tables; a row that several trials have made lists them as `ids`. Raises `AblateError`."""
        paths = filter(Path.is_file, (self.path / TRIALS, *self._beside().values()))
        rows = [row for path in paths for row in rows_and_facts(path)[0]]
        return {trial for row in rows for trial in row.get("ids", [row.get("id")]) if trial}

    def rows(self) -> Iterator[tuple[Cell, dict[str, Any]]]:
        """The place in the study and the row of every trial, of one that several tables have the first.

        A row has id, variant, task, seed, factors, status, reason and metrics. Raises `AblateError`.
        """
        if not (self.path / TRIALS).is_file():
            return
        known: set[str] = set()
        trials, facts = rows_and_facts(self.path / TRIALS)
        several = len(facts.get("tasks", [])) > 1
        levels = {path for variant in facts.get("variants", []) for path in variant["levels"]}
        beside = {name: rows_and_facts(path)[0] for name, path in self._beside().items()}
        for role, rows in {JUDGED: trials, **beside}.items():
            for row in rows if rows and {"id", "variant", "task", "seed"} <= rows[0].keys() else ():
                if row["id"] not in known:
                    yield _cell(row, levels, role, several=several), row
            known |= {row["id"] for row in rows if "id" in row}

    def _beside(self) -> dict[str, Path]:
        """Name → the file of a feature's frame."""
        return {
            path.stem: path
            for path in sorted(self.path.glob("[!.]*.parquet"))
            if path.name not in (TRIALS, CURVES, EXAMPLES)
        }


def _cell(row: Mapping[str, Any], paths: set[str], role: str, *, several: bool) -> Cell:
    """The place of a trial, which has an id and a seed, and no config."""
    variant, task, seed = (row[name] for name in ("variant", "task", "seed"))
    known = variant if role == JUDGED else f"{variant} {role}"
    name = f"{known}{f' on {task}' if several and task else ''} seed {seed}"
    levels = {path: row[path] for path in sorted(paths) if row.get(path) is not None}
    return Cell(variant, task, seed, Trial(row["id"], {}, seed), row.get("name", name), levels, role)
