"""The signals of MNIST-1D: ten digits as curves of 12 points, each padded, scaled, moved, sheared and made noisy.

Greydanus and Kobak 2020, "Scaling Down Deep Learning with MNIST-1D" (arXiv 2011.14439), with the numbers of the
authors' package `mnist1d`. The file imports nothing of ablate, so that code for any model may use it or copy it:

    signals, digits = mnist1d(np.random.default_rng(0), 4000)

N is the number of signals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NUM_DIGITS = 10
LENGTH = 40  # Points of a signal.
# The curve of each digit at 12 points, before it is standardised, shape (10, 12).
HEIGHTS = np.array(
    [
        [5, 6, 6.5, 6.75, 7, 7, 7, 7, 6.75, 6.5, 6, 5],
        [5, 3, 3, 3.4, 3.8, 4.2, 4.6, 5, 5.4, 5.8, 5, 5],
        [5, 6, 6.5, 6.5, 6, 5.25, 4.75, 4, 3.5, 3.5, 4, 5],
        [5, 6, 6.5, 6.5, 6, 5, 5, 6, 6.5, 6.5, 6, 5],
        [5, 4.4, 3.8, 3.2, 2.6, 2.6, 5, 5, 5, 5, 5, 5],
        [5, 3, 3, 3, 3, 5, 6, 6.5, 6.5, 6, 4.5, 5],
        [5, 4, 3.5, 3.25, 3, 3, 3, 3, 3.25, 3.5, 4, 5],
        [5, 7, 7, 6.6, 6.2, 5.8, 5.4, 5, 4.6, 4.2, 5, 5],
        [5, 4, 3.5, 3.5, 4, 5, 5, 4, 3.5, 3.5, 4, 5],
        [5, 4, 3.5, 3.5, 4, 5, 5, 5, 5, 4.7, 4.3, 5],
    ]
)
LEAST_PADDING = 36
MOST_PADDING = 60
NUM_POINTS = HEIGHTS.shape[1] + MOST_PADDING  # Points of a signal before the last step, 72.
NUM_SHIFTS = 48
SCALE = 0.4
CORRELATED_NOISE = 0.25
NOISE_WIDTH = 2  # Standard deviation, in points, of the filter that correlates noise.
INDEPENDENT_NOISE = 0.02
SHEAR = 0.75
NONZERO = 1e-8  # Added to a curve, so that none of its points counts as padding.
# Of the points of a million signals; the package takes both from the set that it draws.
MEAN = -0.0060
DEVIATION = 0.1547


@dataclass(frozen=True)
class Draws:
    """The random numbers from which N signals are made."""

    # (N), 0 … 9.
    digits: NDArray[np.int64]
    # (N) each, uniform in [0, 1).
    padding: NDArray[np.float64]
    scale: NDArray[np.float64]
    shear: NDArray[np.float64]
    # (N), 0 … 47.
    shift: NDArray[np.int64]
    # (N, 72) each, standard normal.
    correlated: NDArray[np.float64]
    independent: NDArray[np.float64]


def mnist1d(generator: np.random.Generator, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns the next `count` signals of a stream, (count, 40), and their digits 0 … 9, (count); the points of all
    signals together have about mean 0 and variance 1.

    All digits are equally likely. The signals of a stream do not depend on how many are asked for at a time.
    """
    draws = draw(generator, count)
    signals = (signals_of(draws) - MEAN) / DEVIATION
    return signals.astype(np.float32), draws.digits


def draw(generator: np.random.Generator, count: int) -> Draws:
    """Returns the random numbers of the next `count` signals of a stream;
    each signal takes the same number of normal draws.
    """
    from scipy.special import ndtr

    normal = generator.standard_normal((count, 5 + 2 * NUM_POINTS))
    uniform = ndtr(normal[:, :5])
    correlated, independent = np.split(normal[:, 5:], 2, axis=1)
    return Draws(
        digits=(uniform[:, 0] * NUM_DIGITS).astype(np.int64),
        padding=uniform[:, 1],
        scale=uniform[:, 2],
        shear=uniform[:, 3],
        shift=(uniform[:, 4] * NUM_SHIFTS).astype(np.int64),
        correlated=correlated,
        independent=independent,
    )


def signals_of(draws: Draws) -> NDArray[np.float64]:
    """Returns the signals (N, 40) made from `draws`, not yet standardised."""
    from scipy.ndimage import gaussian_filter1d

    padded = _padded(digit_curves()[draws.digits] + NONZERO, draws.padding)
    scaled = padded * (1 + SCALE * (draws.scale[:, None] - 0.5))
    moved = _moved(scaled, draws.shift)

    correlated = gaussian_filter1d(CORRELATED_NOISE * draws.correlated, NOISE_WIDTH, axis=1)
    noisy = np.where(moved == 0, correlated, moved) + INDEPENDENT_NOISE * draws.independent

    slope = SHEAR * (draws.shear[:, None] - 0.5)
    sheared = noisy - slope * np.linspace(-0.5, 0.5, NUM_POINTS)
    return _between(sheared, np.linspace(0, NUM_POINTS - 1, LENGTH)[None])


def digit_curves() -> NDArray[np.float64]:
    """Returns the curve of each digit at 12 points, (10, 12), standardised, moved to begin at 0 and divided by 6."""
    curves = HEIGHTS - HEIGHTS.mean(axis=1, keepdims=True)
    curves /= curves.std(axis=1, keepdims=True)
    return (curves - curves[:, :1]) / 6


def _padded(curves: NDArray[np.float64], padding: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the N curves (N, 12), each with 36 to 60 zeros after it, stretched to 72 points: (N, 72). `padding` (N),
    in [0, 1), decides how many zeros.
    """
    num_zeros = LEAST_PADDING + (padding * (MOST_PADDING - LEAST_PADDING + 1)).astype(np.int64)
    last = curves.shape[1] + num_zeros - 1
    places = np.arange(NUM_POINTS) * last[:, None] / (NUM_POINTS - 1)
    return _between(np.pad(curves, ((0, 0), (0, MOST_PADDING))), places)


def _moved(signals: NDArray[np.float64], shift: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns each signal, (N, 72), moved to the right by its number of points in `shift`, (N); points that leave at
    the end enter at the beginning.
    """
    sources = (np.arange(NUM_POINTS) - shift[:, None]) % NUM_POINTS
    return np.take_along_axis(signals, sources, axis=1)


def _between(signals: NDArray[np.float64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns signals (N, L) interpolated linearly at `places`: (N, P). Places, in points from 0, are (N, P) or, for
    all signals alike, (1, P).
    """
    places = np.broadcast_to(places, (len(signals), places.shape[1]))
    left = np.minimum(places.astype(np.int64), signals.shape[1] - 2)
    share = places - left
    at_left = np.take_along_axis(signals, left, axis=1)
    at_right = np.take_along_axis(signals, left + 1, axis=1)
    return (1 - share) * at_left + share * at_right
