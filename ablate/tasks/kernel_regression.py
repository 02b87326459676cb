"""Regression of a function that each sequence draws anew, from noisy values at other places.

The problem of Nadaraya 1964 ("On Estimating Regression") and Watson 1964 ("Smooth Regression Analysis"), whose answer
is an average of the values, each with a weight that falls with its distance: attention, with a kernel for a score
(Zhang et al., "Dive into Deep Learning", section 11.2). The places lie on a circle, so that an inner product of two is
a kernel of their distance. With n = 3:

    cos x      0.54   −0.99    0.28    0.96
    sin x      0.84    0.14   −0.96    0.27
    f(x) + ε   1.21   −0.43   −0.88    0
    is known   1       1       1       0     →  f(x) at the last x
"""

import functools
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from ablate.base.registry import register
from ablate.base.streams import numpy_stream
from ablate.core.signature import Signature
from ablate.tasks.generated import WARMUP_TRAINING, Generated
from ablate.tasks.regression import Regression
from ablate.tasks.task import Batch, Constants, Slices

FREQUENCIES = np.arange(1, 4)
VARIANCE = float(np.sum(1 / FREQUENCIES**2))
SAMPLES = 65_536  # Places that expected errors are averaged over.
CONCENTRATIONS = (0.0, *2.0 ** np.arange(-2, 9))  # Values of κ that are tried.


@register("task", "kernel_regression")
class KernelRegression(Generated, Regression):
    """Places with noisy values of a function; the target is its value at one more place.

    f(x) = Σ a_k sin kx + b_k cos kx over k = 1, 2, 3, with a_k and b_k from N(0, 1/k²) for each sequence anew; places
    are uniform on the circle, noise is normal. The task is harder the fewer pairs there are, and the more noise.

    Chance: always answering 0 has mean squared error 1.36, the variance of f(x), and r2 0, where a failed run sits.
    Ceiling: `bayes`, the mean of f(x) given the pairs, the posterior mean of a Gaussian process. `nadaraya_watson` is
    the best answer of a kernel exp(κ cos(x − x′)) with one κ for all sequences; `mean`, the average of all values.
    Solved: the r2 of `nadaraya_watson` (0.86 with 16 pairs and noise 0.3, where `bayes` has 0.96), or half the r2 of
    `bayes` if it is more. Recommended: these, two layers of attention of width 32 without positions, 600 steps (three
    seeds: 0.90 to 0.91).
    """

    class Config(Generated.Config):
        num_pairs: PositiveInt = 16
        "n, places with a known value; T is n + 1."
        noise: float = Field(0.3, ge=0.01)
        "Standard deviation of the noise of a known value, at least 0.01."

    config: Config
    outcome = "graded"
    recommended = {
        "task": {"num_pairs": 16, "noise": 0.3},
        "model": {"topology": "encoder", "position": "none", "d_model": 32, "num_layers": 2},
        "training": {"steps": 600, **WARMUP_TRAINING},
    }

    def __init__(self, config: Config) -> None:
        self.config = config
        self.signature = Signature(config.num_pairs + 1, num_outputs=1, num_features=4, readout="last")
        errors = expected_errors(config.num_pairs, config.noise)
        # With few pairs, a weighted average is worse than answering 0.
        solved = max(1 - errors["nadaraya_watson"] / VARIANCE, (1 - errors["bayes"] / VARIANCE) / 2)
        self.set_spread(VARIANCE, least=errors["bayes"], solved=solved)
        self.set_support(np.inf)

    def constants(self) -> Constants:
        """Returns the expected `r2` and `loss` of three estimators:
        `bayes`, `nadaraya_watson` and `mean`, each → metric → value.
        """
        errors = expected_errors(self.config.num_pairs, self.config.noise)
        return {name: {"r2": 1 - error / VARIANCE, "loss": error} for name, error in errors.items()}

    def slices(self) -> Slices:
        """Returns the config fields that each slice changes: `noisier` has twice the noise, `more` twice the pairs, and
        `fewer` half the pairs, rounded down. `fewer` is left out where there is only one pair.
        """
        num_pairs = self.config.num_pairs
        slices: dict[str, Mapping[str, float]] = {"noisier": {"noise": 2 * self.config.noise}}
        if num_pairs > 1:
            slices["fewer"] = {"num_pairs": num_pairs // 2}
        slices["more"] = {"num_pairs": 2 * num_pairs}
        return slices

    def examples(self, generator: np.random.Generator, count: int) -> Batch:
        pairs = self.config.num_pairs
        draws = generator.standard_normal((count, 3 * pairs + 2 + 2 * len(FREQUENCIES)))
        points, coefficients, noise = np.split(draws, [2 * (pairs + 1), -pairs], axis=1)
        waves = _waves(np.arctan2(points[:, ::2], points[:, 1::2]))
        values = np.einsum("ntk,nk->nt", waves, coefficients)

        inputs = np.zeros((count, pairs + 1, 4), dtype=np.float32)
        inputs[..., :2] = waves[..., [len(FREQUENCIES), 0]]
        inputs[:, :-1, 2] = values[:, :-1] + self.config.noise * noise
        inputs[:, :-1, 3] = 1
        return Batch.of(inputs, values[:, -1].astype(np.float32))


@functools.cache
def expected_errors(num_pairs: int, noise: float) -> Mapping[str, float]:
    """Returns name → expected mean squared error of the estimators `bayes`, `nadaraya_watson` and `mean`, from
    `num_pairs` values whose noise has standard deviation `noise`.

    All are linear in the values. Over functions and noise the error is exact, over places it is the average of a fixed
    sample.
    """
    size = (max(256, SAMPLES // num_pairs), num_pairs + 1)
    places = numpy_stream(0, "kernel regression").uniform(-np.pi, np.pi, size)
    waves = _waves(places)
    given = waves[:, :-1]
    asked = waves[:, -1]

    precision = np.swapaxes(given, 1, 2) @ given + noise**2 * np.eye(waves.shape[2])
    posterior = np.einsum("ntk,nk->nt", given, np.linalg.solve(precision, asked[..., None])[..., 0])
    nearness = np.cos(places[:, :-1] - places[:, -1:]) - 1
    errors_of_kernels: list[float] = []
    for concentration in CONCENTRATIONS:
        kernel = np.exp(concentration * nearness)
        errors_of_kernels.append(_linear_error(waves, kernel / kernel.sum(1, keepdims=True), noise))
    return {
        "bayes": _linear_error(waves, posterior, noise),
        "nadaraya_watson": min(errors_of_kernels),
        "mean": _linear_error(waves, np.full_like(nearness, 1 / num_pairs), noise),
    }


def _linear_error(waves: NDArray[np.float64], weights: NDArray[np.float64], noise: float) -> float:
    """Returns the expected squared error of answering with a weighted sum of the values, the mean over N sequences.

    That is |φ_q − Σ w_i φ_i|² + noise² Σ w_i², φ(x) being the waves, whose coefficients are independent and standard
    normal. waves: (N, T, 2K), the last of T those of the query. weights: w, (N, T − 1).
    """
    missed = waves[:, -1] - np.einsum("nt,ntk->nk", weights, waves[:, :-1])
    return float(np.mean((missed**2).sum(1) + noise**2 * (weights**2).sum(1)))


def _waves(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns sin kx / k for each of K frequencies, then cos kx / k, at places x in radians: (N, T) → (N, T, 2K).

    f(x) is their sum, each times a standard normal number.
    """
    angles = places[..., None] * FREQUENCIES
    return np.concatenate([np.sin(angles), np.cos(angles)], -1) / np.tile(FREQUENCIES, 2)
