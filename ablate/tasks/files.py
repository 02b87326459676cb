"""A user's own files as data: text and tables, the parts that a hash splits them into, and vocabularies."""

import csv
import functools
import hashlib
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ablate.base.datafile import DataFile
from ablate.base.errors import Invalid, listed, nearest
from ablate.base.files import unreadable
from ablate.base.streams import numpy_stream

MAX_BYTES = 100_000_000  # Of a file.
KEPT = 8  # Of what is made of files.
LEAST = 50  # Different examples of the smallest file.
# Share of all hashes that is for test, and of the remaining rows that is for validation.
TEST, VALIDATION = 0.2, 0.125
UNKNOWN, PADDING = 0, 1  # Codes of every vocabulary; a language model's text has no padding.
WORD = re.compile(r"\w+|[^\w\s]")

Unit = Literal["characters", "words"]
Parts = Mapping[str, NDArray[np.intp]]  # Rows of train, validation and test.
Made = TypeVar("Made")


def of_file(make: Callable[..., Made]) -> Callable[..., Made]:
    """Keeps what a function makes of a file, its first argument, until the file changes: tasks are built many times."""
    known: dict[object, Made] = {}

    @functools.wraps(make)
    def made(file: DataFile, *others: object) -> Made:
        if (rule := unreadable(Path(file), MAX_BYTES)) is not None:
            raise Invalid("file", rule, file.written)
        state = os.stat(file)
        key = state.st_mtime_ns, state.st_size, state.st_ino, file, repr(others)
        if key not in known:
            known[key] = make(file, *others)
            if len(known) > KEPT:
                del known[next(iter(known))]
        return known[key]

    return made


@of_file
def read_text(file: DataFile) -> str:
    """The whole text, in UTF-8, its lines ended by a line feed. Raises `Invalid` with the line of what is none."""
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        rule = f"must be UTF-8 text; line {line} has byte 0x{error.object[error.start]:02x}, which is none"
        raise Invalid("file", rule, file.written, hint="Save it as UTF-8") from None
    if not text.strip():
        raise Invalid("file", "is empty", file.written)
    return text.replace("\r\n", "\n")


def read_rows(file: DataFile, delimiter: str, *, quoted: bool = True) -> Iterator[tuple[int, list[str]]]:
    """The line on which each row ends, and its cells, as many as in the first row; blank lines are left out.

    quoted: whether a cell may stand in quotation marks, and then hold the delimiter and line feeds.
    """
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    rows = csv.reader(io.StringIO(read_text(file)), delimiter=delimiter, quoting=quoting, strict=True)
    width = 0
    try:
        for row in filter(None, rows):
            width = width or len(row)
            if len(row) != width:
                given = f"{len(row)} in line {rows.line_num}, {width} in the first"
                rule = f"must have as many cells in each line as in the first: it has {given}"
                raise Invalid("file", rule, file.written)
            yield rows.line_num, row
    except csv.Error as error:
        raise Invalid("file", f"is no table: line {rows.line_num}: {error}", file.written) from None


@dataclass(frozen=True)
class Table:
    """A table whose columns have names; a cell without a value is empty text."""

    file: DataFile
    columns: Mapping[str, Sequence[str]]
    # Where each row stands in the file: `line 17`.
    places: Sequence[str]

    def column(self, field: str, name: str) -> Sequence[str]:
        """The cells of a column, which a field of a config names."""
        if name not in self.columns:
            rule = f"is no column of {self.file.written}"
            raise Invalid(field, rule, name, listed(self.columns), nearest(name, self.columns))
        return self.columns[name]


@of_file
def read_table(file: DataFile) -> Table:
    """Of a parquet file (`.parquet`), or of text with a header: `.tsv`, or parted by commas, semicolons or bars."""
    if file.lower().endswith(".parquet"):
        return _read_parquet(file)
    first = read_text(file).partition("\n")[0]
    delimiter = "\t" if file.lower().endswith(".tsv") else max(",;\t|", key=first.count)
    (_, header), *rows = read_rows(file, delimiter)
    names = [name.strip() for name in header]
    if "" in names or len({*names}) < len(names):
        rule = f"must have a header that names each column, and none twice: it has {listed(map(repr, names))}"
        raise Invalid("file", rule, file.written)
    columns = {name: [row[place].strip() for _, row in rows] for place, name in enumerate(names)}
    return Table(file, columns, [f"line {line}" for line, _ in rows])


def _read_parquet(file: DataFile) -> Table:
    # Studies of other tasks need not wait for it.
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.read_table(str(file))
    except (pyarrow.ArrowException, OSError) as error:
        raise Invalid("file", f"is no parquet file: {str(error).splitlines()[0]}", file.written) from None
    columns = {
        name: ["" if cell is None or cell != cell else str(cell).strip() for cell in found[name].to_pylist()]
        for name in found.column_names
    }
    return Table(file, columns, [f"row {row + 1}" for row in range(found.num_rows)])


def split_rows(file: DataFile, keys: Sequence[str], seed: int = 0) -> Parts:
    """Rows by a hash of the key of each, its input: equal keys are never in two parts.

    A fifth of all hashes is for test, whatever the seed, and stays there when other rows are added. Of the other rows
    every seed draws an eighth for validation.
    """
    digests = (hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest() for key in keys)
    hashes = np.frombuffer(b"".join(digests), dtype="<u8")
    for_test = hashes < np.uint64(TEST * 2**64)
    if (distinct := len({*keys})) < LEAST or not for_test.any():
        rule = f"is too small to be split into training, validation and test data: it has {distinct} different examples"
        raise Invalid("file", rule, file.written, f"at least {LEAST}")
    rest = np.flatnonzero(~for_test)
    groups, group = np.unique(hashes[rest], return_inverse=True)
    place = numpy_stream(seed, "data", "split").permutation(len(groups))[group]
    order = rest[np.argsort(place, kind="stable")]
    count = max(1, int(VALIDATION * len(rest)))
    # What the last key for validation shares with further rows is for nothing.
    train = order[np.sort(place) > np.sort(place)[count - 1]]
    return {"train": np.sort(train), "validation": np.sort(order[:count]), "test": np.flatnonzero(for_test)}


def symbols(text: str, unit: Unit) -> Sequence[str]:
    """The characters of a text; or its words, each sign of punctuation one of its own."""
    return text if unit == "characters" else WORD.findall(text)


class Vocabulary:
    """A code for each of the most frequent symbols of training data; all others are `UNKNOWN`."""

    def __init__(self, texts: Iterable[Sequence[str]], limit: int, marks: int = 2) -> None:
        """`limit` symbols at most; the first `marks` codes stand for none of them: unknown, padding, and so on."""
        counts = Counter(chain.from_iterable(texts))
        self.symbols = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))[:limit]
        self.codes = {symbol: code for code, symbol in enumerate(self.symbols, marks)}
        self.marks = marks

    def __len__(self) -> int:
        return self.marks + len(self.symbols)

    def encode(self, text: Iterable[str]) -> list[int]:
        """The code of each symbol."""
        return [self.codes.get(symbol, UNKNOWN) for symbol in text]

    def digest(self) -> str:
        """16 hexadecimal digits that tell one vocabulary from another."""
        return hashlib.blake2b(
            "\0".join(self.symbols).encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest()


def padded(rows: Sequence[Sequence[int]], fill: int = PADDING) -> NDArray[np.int64]:
    """Rows of codes as (N, T), filled up to the longest of them."""
    longest = max(map(len, rows))
    return np.array([[*row, *[fill] * (longest - len(row))] for row in rows])
