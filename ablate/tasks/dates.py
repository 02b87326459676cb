"""Dates as people write them → ISO 8601, `March 5, 1987` → `1987-03-05`, character by character.

The forms are a list of our own. Each is unambiguous: the month is written by its name, or the year comes first.
"""

import functools
import math
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt
from torch import Tensor

from ablate.base.registry import register
from ablate.tasks.generated import Generated, below
from ablate.tasks.task import Batch, Integers, Slices
from ablate.tasks.transduction import FIRST_SYMBOL, PADDING, Answers, Transduction, signature_of

YEARS = range(1900, 2100)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAYS = range(1, 32)
ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
# What a form may hold: the part of a date, and how each of its values is written.
FIELDS = {
    "y": ("year", [f"{year}" for year in YEARS]),
    "month": ("month", MONTHS),
    "mon": ("month", [name[:3] for name in MONTHS]),
    "m": ("month", [f"{month}" for month in range(1, 13)]),
    "mm": ("month", [f"{month:02}" for month in range(1, 13)]),
    "d": ("day", [f"{day}" for day in DAYS]),
    "dd": ("day", [f"{day:02}" for day in DAYS]),
    "th": ("day", [f"{day}{ENDINGS.get(day, 'th')}" for day in DAYS]),
    "weekday": ("weekday", WEEKDAYS),
    "wd": ("weekday", [name[:3] for name in WEEKDAYS]),
}
NAMED = (
    "{d} {month} {y}",
    "{d} {mon} {y}",
    "{dd}-{mon}-{y}",
    "{th} {month} {y}",
    "{th} of {month} {y}",
    "{month} {d}, {y}",
    "{mon} {d}, {y}",
    "{month} {th}, {y}",
    "{y} {month} {d}",
    "{weekday}, {d} {month} {y}",
    "{weekday}, {month} {d}, {y}",
    "{wd} {d} {mon} {y}",
    "{wd}, {mon} {d}, {y}",
)
NUMERIC = ("{y}/{mm}/{dd}", "{y}.{mm}.{dd}", "{y}/{m}/{d}", "{y}{mm}{dd}")
FORMS = {"named": NAMED, "numeric": NUMERIC, "all": NAMED + NUMERIC}
CHARACTERS = sorted(
    {*"".join([*FORMS["all"], *(text for _, texts in FIELDS.values() for text in texts)])} - {*"{}"}
)
CODES = np.zeros(128, dtype=np.int64)
CODES[[ord(character) for character in CHARACTERS]] = FIRST_SYMBOL + np.arange(len(CHARACTERS))


@register("task", "dates")
class Dates(Transduction, Generated):
    """A day from 1900 to 2099 in one of 17 written forms, both uniform and independent; the target is its ISO 8601.

    No day that is for evaluation is trained on, in whatever form. It is harder with all forms than with numeric ones
    alone. Chance of the accuracy: one day of 73,049; of that of tokens: one character at each place, 0.51, since years
    begin alike. Ceiling: 1. Solved: 0.95. There is no plateau. Recommended: the defaults, an encoder–decoder of two
    layers each, d_model 32: 800 steps (0.97 to 0.98 on each of three seeds, 0.64 by step 200, 25 s on one core). A
    decoder that reads both in one sequence takes longer (1,200 steps: 0.95 and 0.94).
    """

    class Config(Generated.Config):
        test_size: PositiveInt = 2048
        "Number of test examples."
        forms: Literal["all", "named", "numeric"] = "all"
        "named: 13 forms with the month by its name; numeric: 4 with the year first; all: both."

    outcome = "graded"
    recommended = {
        "task": {},
        "model": {"topology": "encoder_decoder", "d_model": 32, "num_layers": 2},
        "training": {"steps": 800, "batch_size": 64, "lr": 0.003},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        self.forms = FORMS[config.forms]
        targets = _calendar()["iso"]
        count, length = targets.shape
        vocab_size = FIRST_SYMBOL + len(CHARACTERS)
        self.longest = max(_written(form, np.zeros(1, np.int64)).shape[1] for form in self.forms)
        self.signature = signature_of(vocab_size, range(8, self.longest + 1), range(length, length + 1))
        shares = np.stack([np.bincount(column, minlength=vocab_size) for column in targets.T]) / count
        self.set_chances([Answers(math.log(count), 1 / count, shares)], config.test_size)
        self.set_support(count * len(self.forms))

    def telling(self, examples: Batch) -> Iterable[Tensor | None]:
        """The day, whatever its form."""
        return [examples.inputs]

    def slices(self) -> Slices:
        """`named` and `numeric`, where there are both."""
        kinds = ("named", "numeric") if self.config.forms == "all" else ()
        return {kind: {"forms": kind} for kind in kinds}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        draws, targets = generator.random((count, 2)), _calendar()["iso"]
        days, forms = below(draws[:, 0], len(targets)), below(draws[:, 1], len(self.forms))
        codes = np.full((count, self.longest), PADDING)
        for number, form in enumerate(self.forms):
            of_form = np.flatnonzero(forms == number)
            written = _written(form, days[of_form])
            codes[of_form, : written.shape[1]] = written
        lengths = (codes != PADDING).sum(1, keepdims=True)
        return self.pairs((codes, lengths), (targets[days], np.full_like(lengths, targets.shape[1])))


@functools.cache
def _calendar() -> Mapping[str, Integers]:
    """Of all days in order: `iso` (N, 10), as ISO 8601; `year`, `month`, `day`, `weekday` (N), counted from 0."""
    days = np.arange(f"{YEARS[0]}-01-01", f"{YEARS[-1] + 1}-01-01", dtype="datetime64[D]")
    months = days.astype("datetime64[M]")
    return {
        "iso": _codes(days.astype("U10")),
        "year": days.astype("datetime64[Y]").astype(np.int64) + 1970 - YEARS[0],
        "month": months.astype(np.int64) % 12,
        "day": (days - months.astype("datetime64[D]")).astype(np.int64),
        "weekday": np.arange(len(days)) % 7,  # The first is a Monday.
    }


def _codes(texts: Sequence[str] | NDArray[np.str_]) -> Integers:
    """(N, longest): the characters of each text, and padding."""
    array = np.array(texts, dtype="S")
    return CODES[array.view(np.uint8).reshape(len(array), -1)]


def _written(form: str, days: Integers) -> Integers:
    """(B, longest): days in one form, padding after each."""
    pieces = []
    for literal, name, _, _ in string.Formatter().parse(form):
        pieces.append(np.tile(_codes([literal]), (len(days), 1)))
        part, texts = FIELDS[name or ""]
        pieces.append(_codes(texts)[_calendar()[part][days]])
    row = np.concatenate(pieces, axis=1)
    return np.take_along_axis(row, (row == PADDING).argsort(axis=1, kind="stable"), axis=1)
