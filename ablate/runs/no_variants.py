"""Columns of numbers beside those of variants that hold none: lengths, times, and differences of two variants."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ablate.runs.cells import number_in
from ablate.runs.roles import STEPS
from ablate.runs.settings import is_index, is_progress

_DIFFERENCES = re.compile(r"[Δδ].*|.*\b(?:diff|difference|delta|gain|improvement|change)\b.*", re.IGNORECASE)
_FAR = 2.0
"""The factor by which numbers lie beyond those of the baseline that are not of its metric."""
_NEAR = 1e-9


def columns_without_variants(table: pd.DataFrame, columns: Sequence[str], baseline: str) -> list[str]:
    """Returns those of some columns of numbers that hold no values of the metric, by name and numbers.

    A variant may be called `memory` or `best`: a column of lengths or times has other numbers than the baseline too.
    """
    numbers = {name: table[name].map(number_in).astype(float) for name in columns}
    others = []
    for name in columns:
        if name == baseline:
            continue
        is_named = is_progress(name) or is_index(name)
        is_other = name.lower() in STEPS or (is_named and _are_far(numbers[name], numbers.get(baseline)))
        if is_other or (_DIFFERENCES.fullmatch(name.replace("_", " ")) and _is_difference(name, numbers)):
            others.append(name)
    return others


def _are_far(values: pd.Series, of_baseline: pd.Series | None) -> bool:
    """Returns whether all numbers lie far from those of the baseline."""
    if of_baseline is None or of_baseline.isna().all():
        return False
    low, high = sorted([of_baseline.abs().min() / _FAR, of_baseline.abs().max() * _FAR])
    return not values.abs().between(low, high).any()


def _is_difference(name: str, numbers: dict[str, pd.Series]) -> bool:
    """Returns whether a column is the difference of two others in each row, as far as doubles tell."""
    for one, other in itertools.permutations([each for each in numbers if each != name], 2):
        exact = (numbers[one] - numbers[other]).to_numpy()
        scale = np.nanmax(np.abs(numbers[one].to_numpy()), initial=0.0)
        if np.allclose(numbers[name].to_numpy(), exact, rtol=0, atol=_NEAR * scale, equal_nan=True):
            return True
    return False
