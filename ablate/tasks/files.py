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
MAX_KEPT = 8  # Results of a function of files that are kept.
MIN_EXAMPLES = 50  # Different examples of the smallest file.
TEST_SHARE = 0.2  # Share of all hashes that is for test.
VALIDATION_SHARE = 0.125  # Share of the other rows that is for validation.
# Codes of every vocabulary; a language model's text has no padding.
UNKNOWN = 0
PADDING = 1
WORD = re.compile(r"\w+|[^\w\s]")

Unit = Literal["characters", "words"]
Parts = Mapping[str, NDArray[np.intp]]  # Rows of train, validation and test.
Result = TypeVar("Result")


def kept_per_file(function: Callable[..., Result]) -> Callable[..., Result]:
    """Decorates a function of a file: its last 8 results are kept,
    and returned again for equal arguments until the file's time or size changes.

    Tasks are built many times. Arguments beside the first, the file, are compared by their representation. The function
    raises `Invalid` for a file that cannot be read.
    """
    results: dict[object, Result] = {}

    @functools.wraps(function)
    def kept(file: DataFile, *others: object) -> Result:
        rule = unreadable(Path(file), MAX_BYTES)
        if rule is not None:
            raise Invalid("file", rule, file.written)
        state = os.stat(file)
        key = (state.st_mtime_ns, state.st_size, state.st_ino, file, repr(others))
        if key not in results:
            results[key] = function(file, *others)
            if len(results) > MAX_KEPT:
                oldest = next(iter(results))
                del results[oldest]
        return results[key]

    return kept


@kept_per_file
def read_text(file: DataFile) -> str:
    """Returns a whole file as text, with line feeds at the ends of lines. Raises `Invalid` where the file is blank and,
    with the line, where it is not UTF-8.
    """
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
    """Yields (line on which the row ends, cells of the row) for each non-empty row of a text. Raises `Invalid` for a
    row with more or fewer cells than the first.

    quoted: whether a cell may stand in quotation marks, and then hold the delimiter and line feeds. Raises it too for
    text that is no table.
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
    """A table as text: columns of cells by name, each in the order of the rows;
    a cell without a value is empty text.
    """

    file: DataFile
    columns: Mapping[str, Sequence[str]]
    "The cells of each column, in the order of the rows."
    places: Sequence[str]
    "The place of each row in the file: `line 17`."

    def column(self, field: str, name: str) -> Sequence[str]:
        """Returns the cells of the column `name`. Raises `Invalid` at `field`, the config field that names the column,
        where the table has no such column.
        """
        if name not in self.columns:
            rule = f"is no column of {self.file.written}"
            raise Invalid(field, rule, name, allowed=listed(self.columns), hint=nearest(name, self.columns))
        return self.columns[name]


@kept_per_file
def read_table(file: DataFile) -> Table:
    """Returns the table of a parquet file (`.parquet`), or of text with a header.
    Raises `Invalid` where two columns have one name.

    It raises it too where a column of a text has no name. The cells of a `.tsv` are parted by tabs, those of any other
    text by commas, semicolons, tabs or bars. A file is read once, until it changes.
    """
    if file.lower().endswith(".parquet"):
        return _read_parquet(file)
    first_line = read_text(file).partition("\n")[0]
    delimiter = "\t" if file.lower().endswith(".tsv") else max(",;\t|", key=first_line.count)
    (_, header), *rows = read_rows(file, delimiter)
    names = [name.strip() for name in header]
    if "" in names or len({*names}) < len(names):
        rule = f"must have a header that names each column, and none twice: it has {listed(map(repr, names))}"
        raise Invalid("file", rule, file.written)
    columns = {}
    for place, name in enumerate(names):
        columns[name] = [cells[place].strip() for _, cells in rows]
    return Table(file, columns, [f"line {line}" for line, _ in rows])


def _read_parquet(file: DataFile) -> Table:
    """Returns the table of a parquet file, each value as text; raises `Invalid` for any other file."""
    # Studies of other tasks need not wait for it.
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(str(file))
    except (pyarrow.ArrowException, OSError) as error:
        raise Invalid("file", f"is no parquet file: {str(error).splitlines()[0]}", file.written) from None
    columns = {name: [_as_text(value) for value in table[name].to_pylist()] for name in table.column_names}
    return Table(file, columns, [f"row {row + 1}" for row in range(table.num_rows)])


def _as_text(value: object) -> str:
    """Returns a value of a parquet file as text without space around it; empty for a missing value or NaN."""
    # Only NaN differs from itself.
    is_missing = value is None or value != value
    return "" if is_missing else str(value).strip()


def split_rows(file: DataFile, keys: Sequence[str], seed: int = 0) -> Parts:
    """Returns the rows, as indices from 0, of `train`, `validation` and `test`: the hash of a row's key decides whether
    the row is for test, and `seed` draws the validation rows from the rest. Raises `Invalid` for fewer than 50
    different keys.

    keys: the input of each row, (N); equal keys are never in two parts. A fifth of all hashes is for test, whatever the
    seed, and stays there when other rows are added; an eighth of the other rows is for validation. Raises `Invalid` too
    where no row is for test.
    """
    digests = [hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest() for key in keys]
    hashes = np.frombuffer(b"".join(digests), dtype="<u8")
    is_test = hashes < np.uint64(TEST_SHARE * 2**64)
    num_distinct = len({*keys})
    if num_distinct < MIN_EXAMPLES or not is_test.any():
        rule = (
            "is too small to be split into training, validation and test data: "
            f"it has {num_distinct} different examples"
        )
        raise Invalid("file", rule, file.written, f"at least {MIN_EXAMPLES}")

    rest = np.flatnonzero(~is_test)
    groups, group = np.unique(hashes[rest], return_inverse=True)
    place = numpy_stream(seed, "data", "split").permutation(len(groups))[group]
    order = rest[np.argsort(place, kind="stable")]
    num_validation = max(1, int(VALIDATION_SHARE * len(rest)))
    # Further rows with the last key for validation are in neither part.
    places = np.sort(place)
    train = order[places > places[num_validation - 1]]
    return {
        "train": np.sort(train),
        "validation": np.sort(order[:num_validation]),
        "test": np.flatnonzero(is_test),
    }


def symbols(text: str, unit: Unit) -> Sequence[str]:
    """Returns the characters of a text, or a list of its words, each sign of punctuation as a word."""
    return text if unit == "characters" else WORD.findall(text)


class Vocabulary:
    """Codes, counted from `marks`, for the most frequent symbols of training data; all others are `UNKNOWN`, 0."""

    def __init__(self, texts: Iterable[Sequence[str]], limit: int, marks: int = 2) -> None:
        """Gives codes, counted from `marks`, to the `limit` most frequent symbols of texts: the most frequent first,
        equally frequent ones in sorted order.

        marks: how many codes stand before those of symbols, for unknown ones, padding, and so on.
        """
        counts = Counter(chain.from_iterable(texts))
        self.symbols = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))[:limit]
        self.codes = {symbol: code for code, symbol in enumerate(self.symbols, marks)}
        self.marks = marks

    def __len__(self) -> int:
        return self.marks + len(self.symbols)

    def encode(self, text: Iterable[str]) -> list[int]:
        """Returns a list of the code of each symbol of a text; `UNKNOWN` for a symbol that has none."""
        return [self.codes.get(symbol, UNKNOWN) for symbol in text]

    def digest(self) -> str:
        """Returns 16 hexadecimal digits that identify the vocabulary by its symbols."""
        content = "\0".join(self.symbols).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(content, digest_size=8).hexdigest()


def padded(rows: Sequence[Sequence[int]], fill: int = PADDING) -> NDArray[np.int64]:
    """Returns rows of codes as one array (N, T), T being the length of the longest row; shorter rows are filled up at
    their ends with `fill`.
    """
    longest = max(map(len, rows))
    return np.array([[*row, *[fill] * (longest - len(row))] for row in rows])
