"""A study of one variant, whose only verdict the tests of the rules look at."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from made_evidence import study

from ablate.analysis.compare import compare

BASE = np.array([0.850, 0.855, 0.848, 0.851, 0.853])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
FLOOR_OF_1000 = 0.1 + 3 * math.sqrt(0.1 * 0.9 / 1000)
"""Up to which an accuracy over 1,000 examples cannot be told from guessing at .1."""


def of(a, baseline=BASE, **options) -> pd.Series:
    frame = compare(study({"baseline": baseline, "a": a}, **options))
    assert len(frame) == 1
    return frame.iloc[0]


def verdict(a, baseline=BASE, **options) -> str:
    return of(a, baseline, **options)["verdict"]
