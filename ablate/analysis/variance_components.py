"""The parts of the variance of a number over conditions, and the standard error that they add up to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ablate.analysis.paired import Floats, MeanSquares, StandardError


@dataclass(frozen=True)
class VarianceComponent:
    """A part of the variance of an estimate."""

    variance: float
    """In the square of the estimate's unit; below 0 where it is subtracted."""
    df: float
    """The degrees of freedom of that variance."""


def satterthwaite(components: Sequence[VarianceComponent], least_df: float = 0.0) -> StandardError:
    """Returns the standard error of a sum of variances, with the degrees of freedom of Satterthwaite 1946."""
    total = math.fsum(component.variance for component in components)
    # As shares of the total, whose square may be too small for a float.
    parts = math.fsum((component.variance / total) ** 2 / component.df for component in components)
    return StandardError(total**0.5, max(1 / parts, least_df))


def components_of_examples(squares: MeanSquares, weight: float) -> list[VarianceComponent]:
    """Returns what shared test examples add to the variance: MS_E less MS_R, or nothing where that is not above 0.

    squares: the mean squares of one condition. weight: w_t/u_t, by which its differences are multiplied.
    """
    if squares.examples <= squares.rest:
        return []
    n = squares.n
    m = squares.m
    share = weight**2 / (n * m)
    return [
        VarianceComponent(share * squares.examples, m - 1),
        VarianceComponent(-share * squares.rest, (n - 1) * (m - 1)),
    ]


def norm_of(weights: Floats, steps: Sequence[float]) -> float:
    """Returns √Σ(w_t·g_t/u_t)²: the standard deviation of a weighted sum whose conditions have g_t each.

    weights: w_t/u_t, shape (T,). steps: g_t, in the units of each condition.
    """
    return float(np.linalg.norm(weights * np.array(steps)))
