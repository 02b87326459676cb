"""Words for statistics in cells and names of columns, and whether a number is the statistic of some values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.base.numerals import whole_in
from ablate.runs.cells import is_number, mean_and_spread, number_in

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float]
Agreement = Literal["is", "may be", "is not"]
"""Whether a number is a statistic of values; `may be` where those are too alike, or too coarse, to tell."""


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _error(values: Floats) -> float:
    return float(_deviation(values) / np.sqrt(len(values)))


def _variation(values: Floats) -> float:
    mean = float(np.mean(values))
    return _deviation(values) / mean if mean else 0.0


_MEAN: tuple[Statistic, ...] = (lambda values: float(np.mean(values)),)
_DEVIATION: tuple[Statistic, ...] = (_deviation, lambda values: float(np.std(values)))
_VARIANCE: tuple[Statistic, ...] = (
    lambda values: _deviation(values) ** 2,
    lambda values: float(np.var(values)),
)
_SUM: tuple[Statistic, ...] = (lambda values: float(np.sum(values)),)
_MEDIAN: tuple[Statistic, ...] = (lambda values: float(np.median(values)),)


def _quantile(share: float) -> tuple[Statistic, ...]:
    return (lambda values: float(np.quantile(values, share)),)


SPREADS = ("std", "sd", "stdev", "stddev", "std_dev", "standard_deviation", "deviation", "sigma")
ERRORS = ("sem", "se", "stderr", "std_err", "std_error", "standard_error")
VARIANCES = ("var", "variance")
INTERVALS = ("ci", "ci95", "95_ci", "ci_95", "ci_low", "ci_high", "conf", "confidence", "half_width")
MEAN = "mean"
MEANS = (MEAN, "avg", "average", "mu")
_OVERALL = ("all", "overall", "total", "summary", "aggregate", "aggregated")
WORDS: Mapping[str, tuple[Statistic, ...]] = {
    **dict.fromkeys(MEANS, _MEAN),
    **dict.fromkeys(SPREADS, _DEVIATION),
    **dict.fromkeys(ERRORS, (_error,)),
    **dict.fromkeys(VARIANCES, _VARIANCE),
    **dict.fromkeys(("median", "50", "p50", "q50"), _MEDIAN),
    **dict.fromkeys(("min", "minimum", "lowest"), (lambda values: float(np.min(values)),)),
    **dict.fromkeys(("max", "maximum", "highest"), (lambda values: float(np.max(values)),)),
    **dict.fromkeys(("25", "p25", "q25", "q1"), _quantile(0.25)),
    **dict.fromkeys(("75", "p75", "q75", "q3"), _quantile(0.75)),
    "sum": _SUM,
    "cv": (_variation,),
    **dict.fromkeys(("range", "spread"), (lambda values: float(np.ptp(values)),)),
    **dict.fromkeys(("count", "n"), (lambda values: float(len(values)),)),
    **dict.fromkeys(_OVERALL, (*_MEAN, *_SUM, *_MEDIAN)),
    **dict.fromkeys((*INTERVALS, "iqr"), ()),
}
"""Word, in small letters → the statistics that it may name, of which one fits; none of those that are not checked."""
COUNTS = ("n", "n_seeds", "num_seeds", "seeds", "n_runs", "num_runs", "runs", "count", "n_trials", "repeats")
"""Names of columns that say over how many runs a mean was taken."""
_BEST = ("best", "worst", "last", "final")
"""Words that name a run again, where others are numbered."""
_BESIDE_MEANS = (*SPREADS, *ERRORS, *INTERVALS, *VARIANCES, "cv", "iqr")
"""Words that name nothing but a statistic: beside a mean that was checked, they are not checked."""
_PARTS = re.compile(r"(?P<before>.+?)[\s_/.:|,–-]*[\s_/.:|,(\[–-](?P<after>[^\s_/.:|,()\[\]–-]+)[)\]]?")
_AT_START = re.compile(r"([A-Za-z0-9]+)[_ ./](.+)")
_WITH_SCOPE = re.compile(r"^(?:macro|micro|grand|overall|total|simple|unweighted)_|_(?:over|of|across)_.+$")
"""What says over what a statistic was taken: `Macro avg`, `mean over tasks`."""
_MARGIN = 4.0
"""The factor on the inexactness of values by which they must lie apart for an agreement to say something."""


def statistic_word(text: str) -> str:
    """Returns the word for a statistic that a whole text is: `mean` of `Mean (5 seeds)`; empty for another text."""
    if "±" in text or "+/-" in text:
        text = re.split(r"±|\+/-", text)[0].strip() or "std"
    plain = re.sub(r"\s*[(\[].*[)\]]$", "", text.strip())
    word = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    if word not in WORDS:
        word = _WITH_SCOPE.sub("", word)
    return word if word in WORDS else ""


def word_at_end(text: str) -> tuple[str, str] | None:
    """Returns what a text names and the word for its statistic: `BM/64` and `mean` of `BM/64_mean`; else None."""
    match = _PARTS.fullmatch(text.strip())
    if match is None or not statistic_word(match["after"]):
        return None
    return match["before"], statistic_word(match["after"])


def metric_and_word(name: str) -> tuple[str, str]:
    """Returns what a column is about and its statistic: `acc`, `std` of `acc_std`, `std_acc`; no metric of `std`."""
    if statistic_word(name):
        return "", statistic_word(name)
    at_end = word_at_end(name)
    if at_end is not None:
        return at_end
    at_start = _AT_START.fullmatch(name)
    return (at_start[2], statistic_word(at_start[1])) if at_start else (name, "")


def is_count(name: str) -> bool:
    """Returns whether the name of a column says that it has the number of runs of all metrics."""
    return name.lower() in COUNTS


def is_summary_label(cells: pd.Series) -> pd.Series:
    """Returns whether each cell of a column that numbers runs labels no run but a summary: `mean` beside 0, 1 and 2.

    No cell does where others are not whole numbers: such a column does not number runs.
    """
    is_word = cells.map(_is_no_number_of_a_run).astype(bool)
    others = cells[~is_word & (cells != "")]
    if others.empty or any(whole_in(text) is None for text in others.unique()):
        return pd.Series(False, cells.index)
    return is_word


def _is_no_number_of_a_run(text: str) -> bool:
    return not is_number(text) and (bool(statistic_word(text)) or text.strip().lower() in _BEST)


def names_a_spread(word: str) -> bool:
    """Returns whether a word names a spread or an interval; others, such as `mean`, may also name a way of pooling."""
    return word in _BESIDE_MEANS


@dataclass(frozen=True)
class WrittenNumber:
    """A number as a text has it, and how exact it is."""

    value: float
    half_unit: float
    """Half of a unit of its last digit."""

    @classmethod
    def of(cls, text: str) -> WrittenNumber | None:
        """Returns the number of a text, or the mean of `MEAN ± SD`; None of another text."""
        if not is_number(text):
            spread = mean_and_spread(text)
            if spread is None:
                return None
            text = spread[0]
        value = number_in(text)
        if not np.isfinite(value):
            return None
        digits, _, exponent = text.lower().partition("e")
        decimals = len(digits.partition(".")[2]) - int(exponent or 0)
        return cls(value, 0.5 * 10.0**-decimals)


def agreement_with(statistic: str, values: Sequence[WrittenNumber], written: WrittenNumber) -> Agreement:
    """Returns whether a number is the mean, or what else a word names, of values, as far as their digits show it.

    statistic: a word of `WORDS`.
    """
    numbers = np.array([each.value for each in values])
    inexact = max(each.half_unit for each in values)
    for compute in WORDS[statistic]:
        scale = len(numbers) if compute in _SUM else 1
        near = written.half_unit + scale * inexact + 1e-9 * float(np.abs(numbers).max())
        if abs(compute(numbers) - written.value) > near:
            continue
        return "is" if np.ptp(numbers) > _MARGIN * near / scale else "may be"
    return "is not"


def chance_of_mean(cells: pd.Series, text: str) -> float:
    """Returns the probability that a number of the same kind as those of cells lies as near to their mean as one does.

    They are taken to be spread evenly over their range. It is 1 where a text is no number.
    """
    written = WrittenNumber.of(text)
    values = [number.value for number in map(WrittenNumber.of, cells) if number is not None]
    if written is None or not values:
        return 1.0
    spread = float(np.ptp(values))
    distance = max(abs(float(np.mean(values)) - written.value), written.half_unit)
    return min(1.0, 2 * distance / spread) if spread > 0 else 1.0
