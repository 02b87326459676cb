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
from ablate.tasks.transduction import (
    FIRST_SYMBOL,
    PADDING,
    Answers,
    Sequences,
    Transduction,
    signature_of_pairs,
)

YEARS = range(1900, 2100)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAYS = range(1, 32)
ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
# The fields that a form may hold: the part of a date, and how each of its values is written.
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


def _characters() -> list[str]:
    """Returns every character that a written date may have, each once, sorted."""
    characters = set("".join(FORMS["all"])) - set("{}")
    for _, texts in FIELDS.values():
        characters.update("".join(texts))
    return sorted(characters)


CHARACTERS = _characters()
CODES = np.zeros(128, dtype=np.int64)  # The token of each ASCII character.
CODES[[ord(character) for character in CHARACTERS]] = FIRST_SYMBOL + np.arange(len(CHARACTERS))


@register("task", "dates")
class Dates(Transduction, Generated):
    """A day in one of 17 written forms; the target is the day in ISO 8601.

    Days are those of 1900 to 2099. Day and form are uniform and independent. No day that is for evaluation is trained
    on, in whatever form. The task is harder with all forms than with numeric ones alone. There is no plateau.

    Chance of the accuracy: one day of 73,049; of the token accuracy: one character at each place, 0.51, since years
    begin alike. Ceiling: 1. Solved: 0.95. Recommended: the defaults, an encoder–decoder of two layers each, d_model 32:
    800 steps (0.97 to 0.98 on each of three seeds, 0.64 by step 200, 25 s on one core). A decoder that reads both in
    one sequence takes longer (1,200 steps: 0.95 and 0.94).
    """

    class Config(Generated.Config):
        test_size: PositiveInt = 2048
        "Number of test examples."
        forms: Literal["all", "named", "numeric"] = "all"
        "named: 13 forms with the month by its name; numeric: 4 with the year first; all: both."

    config: Config
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
        num_days, length = targets.shape
        vocab_size = FIRST_SYMBOL + len(CHARACTERS)
        any_day = np.zeros(1, dtype=np.int64)
        self.longest = max(_written(form, any_day).shape[1] for form in self.forms)
        self.signature = signature_of_pairs(
            vocab_size,
            source_lengths=range(8, self.longest + 1),
            target_lengths=range(length, length + 1),
        )
        counts = [np.bincount(column, minlength=vocab_size) for column in targets.T]
        answers = Answers(nats=math.log(num_days), likeliest=1 / num_days, shares=np.stack(counts) / num_days)
        self.set_chances([answers], config.test_size)
        self.set_support(num_days * len(self.forms))

    def hashed_tensors(self, examples: Batch) -> Iterable[Tensor | None]:
        """Returns a list of one tensor, the `inputs` (B, T) that spell the day in ISO 8601:
        a day is in one part of the data, whatever its form.
        """
        return [examples.inputs]

    def slices(self) -> Slices:
        """Returns the slices `named` and `numeric`, each with its own name as the value of `forms`; {} unless the task
        has both kinds of forms.
        """
        if self.config.forms != "all":
            return {}
        return {"named": {"forms": "named"}, "numeric": {"forms": "numeric"}}

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        targets = _calendar()["iso"]
        draws = generator.random((count, 2))
        days = below(draws[:, 0], len(targets))
        forms = below(draws[:, 1], len(self.forms))
        tokens = np.full((count, self.longest), PADDING)
        for number, form in enumerate(self.forms):
            rows = np.flatnonzero(forms == number)
            written = _written(form, days[rows])
            tokens[rows, : written.shape[1]] = written
        lengths = (tokens != PADDING).sum(1, keepdims=True)
        target = Sequences(targets[days], np.full_like(lengths, targets.shape[1]))
        return self.pairs(Sequences(tokens, lengths), target)


@functools.cache
def _calendar() -> Mapping[str, Integers]:
    """Returns arrays of all days of the calendar in order: `year`, `month`, `day` and `weekday` (N), from 0 on,
    and `iso`, tokens (N, 10).

    Year 0 is 1900 and weekday 0 a Monday; `iso` spells the day in ISO 8601. The arrays are made once, and shared.
    """
    days = np.arange(f"{YEARS[0]}-01-01", f"{YEARS[-1] + 1}-01-01", dtype="datetime64[D]")
    months = days.astype("datetime64[M]")
    return {
        "iso": _tokens(days.astype("U10")),
        "year": days.astype("datetime64[Y]").astype(np.int64) + 1970 - YEARS[0],
        "month": months.astype(np.int64) % 12,
        "day": (days - months.astype("datetime64[D]")).astype(np.int64),
        "weekday": np.arange(len(days)) % 7,  # The first is a Monday.
    }


def _tokens(texts: Sequence[str] | NDArray[np.str_]) -> Integers:
    """Returns the tokens of the characters of each of N texts, filled up with padding at the end, (N, longest)."""
    array = np.array(texts, dtype="S")
    return CODES[array.view(np.uint8).reshape(len(array), -1)]


def _written(form: str, days: Integers) -> Integers:
    """Returns the tokens of days written in one form, (B, longest), each text padded at its end; `days` (B) are indices
    into the calendar.
    """
    pieces = []
    for literal, name, _, _ in string.Formatter().parse(form):
        pieces.append(np.tile(_tokens([literal]), (len(days), 1)))
        part, texts = FIELDS[name or ""]
        pieces.append(_tokens(texts)[_calendar()[part][days]])
    tokens = np.concatenate(pieces, axis=1)
    order = (tokens == PADDING).argsort(axis=1, kind="stable")
    return np.take_along_axis(tokens, order, axis=1)
