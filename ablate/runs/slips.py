"""What names and numbers of runs say that is likely a slip: the scale, the margin, the seeds, the metric.

Each is a sentence beside the verdicts, and refuses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from ablate.core.directions import doubtful_choice, doubtful_direction
from ablate.report.words import message
from ablate.runs.options import AnalysisOptions

_PERCENT = 100.0
_LEAST_PERCENT = 10.0
"""The median above which values look like percent."""
_FRACTION = 0.1
"""The margin below which it looks like a fraction."""
_INVISIBLE = re.compile(r"\\(?:u[0-9a-f]{4}|x[0-9a-f]{2})")
"""What stands in a name for a character that nobody sees, see `visible`."""
_MARKS_OF_MISSING = (-1.0, *(sign * float("9" * digits) for digits in range(2, 7) for sign in (1, -1)))
"""The numbers that stand for a missing value in many tables: -1, 99, -999."""
_FAR = 10.0
"""How many times the range of all other values such a number lies away from them, at least."""
_FEWEST_OTHERS = 3
"""The fewest different values that have a range to speak of."""
_NEAR_TWICE = 2.0
"""The factor by which values in percent may lie beyond the fractions, both taken as fractions."""


def likely_slips(trials: pd.DataFrame, options: AnalysisOptions) -> Iterator[str]:
    """Yields what is likely a slip."""
    yield from filter(None, [doubtful_direction(options.metric, options.judged_direction)])
    yield from filter(None, [doubtful_choice(options.metric)])
    values = trials[options.metric].abs().dropna()
    if _has_both_scales(values):
        yield message("analyse.scales", options.metric)
    if _is_small_for_percent(values, options):
        yield message("analyse.percent", options.margin, options.metric, float(values.median()))
    missing = _marks_of_missing(trials[options.metric].dropna())
    if missing:
        yield message("analyse.marks_of_missing", options.metric, missing)
    alike = _alike([*map(str, trials["variant"].unique())])
    if alike:
        yield message("analyse.alike_names", alike)


def differences_beside(differing: Mapping[str, Mapping[str, str]], baseline: str) -> Iterator[str]:
    """Yields in what variants differ beside their names; `differing`: column → variant → its value."""
    told = []
    for name, values in differing.items():
        if baseline not in values:
            continue
        others = dict.fromkeys(value for value in values.values() if value != values[baseline])
        if others:
            told.append(f"{name} ({', '.join([*others][:3])} against {values[baseline]})")
    if told:
        yield message("analyse.beside", baseline, told)


def _alike(names: Sequence[str]) -> list[str]:
    """Returns the names that differ from another in capitals, blanks, dashes or invisible characters alone."""
    groups: dict[str, list[str]] = {}
    for name in names:
        visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
        groups.setdefault(re.sub(r"[\s_-]+", "_", visible.casefold().strip()), []).append(name)
    return [" and ".join(map(repr, group)) for group in groups.values() if len(group) > 1]


def _marks_of_missing(values: pd.Series) -> list[str]:
    """Returns the values that are a usual mark of a missing one, and lie far from all others."""
    is_mark = values.isin(_MARKS_OF_MISSING)
    others = values[~is_mark]
    if others.nunique() < _FEWEST_OTHERS:
        return []
    reach = _FAR * (others.max() - others.min())
    is_far = (values < others.min() - reach) | (values > others.max() + reach)
    return [f"{mark:.0f}" for mark in sorted({*values[is_mark & is_far]})]


def _is_small_for_percent(values: pd.Series, options: AnalysisOptions) -> bool:
    """Returns whether values look like percent, and the margin like a fraction."""
    if options.margin is None or options.direction != "max" or values.empty:
        return False
    return bool(values.max() <= _PERCENT and values.median() > _LEAST_PERCENT and options.margin < _FRACTION)


def _has_both_scales(values: pd.Series) -> bool:
    """Returns whether some values are fractions, and the others look like the same in percent."""
    fractions = values[(values > 0) & (values <= 1)]
    percent = values[values > 1]
    if fractions.empty or percent.empty or percent.max() > _PERCENT:
        return False
    is_apart = percent.min() > 10 * fractions.max()
    low, high = fractions.min() / _NEAR_TWICE, fractions.max() * _NEAR_TWICE
    return bool(is_apart and (percent / _PERCENT).between(low, high).all())
