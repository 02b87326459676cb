"""Test examples that all seeds share, or draw from one pool: coverage, and false differences."""

import itertools
from collections.abc import Iterator

import numpy as np

from .check import Check, Place, frequency
from .judging import differs
from .simulations import GRID, Floats, Squares, binary

POOL, TEST, TRAIN = 180, 50, 100
"""Examples, of which every seed draws so many to be tested on, and so many others to train on."""


def examples(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """One test set for all seeds; then a pool from which every seed draws."""
    what = "Coverage over seeds and examples, one test set for all seeds"
    for sds, n, m in itertools.product(GRID, (3, 5, 10, 20), (200, 500, 1000)):
        both, alone = Squares.normal(rng, place.studies, n, m, sds).covers()
        setting = {"sds": "/".join(map(str, sds)), "n": n, "m": m}
        yield Check(what, setting, both, 0.94, np.inf, place.studies)
        if (n, m) == (10, 200) and sds == GRID[5]:
            yield Check(what, setting, alone, 0.94, np.inf, place.studies, "seeds alone")
    effects = ((0.1, 1.0, 0.3), (0.3, 0.5, 0.5), (0.0, 1.5, 0.7), (0.1, 0.3, 0.0))
    what = "Coverage over seeds and examples, right and wrong answers"
    for level, sds, n, m in itertools.product((0.5, 2.0), effects, (3, 5, 10, 20), (200,)):
        count = min(place.studies, 2_000_000 // (n * m))
        held = [
            Squares.of(d).covers(truth)[0]
            for d, truth in (binary(rng, count, n, m, level, sds) for _ in range(4))
        ]
        setting = {"level": level, "sds": "/".join(map(str, sds)), "n": n, "m": m}
        yield Check(what, setting, float(np.mean(held)), 0.93, np.inf, 4 * count)
    what = "Every seed draws training and test examples from one pool: `better` or `worse`"
    for n in (5, 10):
        a, b = resplit(rng, place.studies, n)
        yield frequency(what, differs(a, b, overlap=TEST / TRAIN), {"n": n})
        yield frequency(what, differs(a, b), {"n": n}, rules="seeds taken for independent")


def resplit(rng: np.random.Generator, studies: int, n: int, features: int = 4) -> tuple[Floats, Floats]:
    """The accuracy of two least-squares classifiers, (studies, n) each: alike, for each sees half of the features.

    A study draws one pool; every seed splits it anew.
    """
    found = np.empty((2, studies, n))
    for study in range(studies):
        x = rng.normal(size=(2, POOL, features))
        y = np.sign(x.sum(axis=(0, 2)) + rng.normal(0, 1, POOL))
        order = rng.permuted(np.tile(np.arange(POOL), (n, 1)), axis=1)
        test, train = order[:, :TEST], order[:, TEST : TEST + TRAIN]
        rows = x[:, train]  # (2, n, TRAIN, features)
        squares = np.swapaxes(rows, -1, -2) @ rows
        weights = np.linalg.solve(squares, np.swapaxes(rows, -1, -2) @ y[train][..., None])
        found[:, study] = ((x[:, test] @ weights)[..., 0] * y[test] > 0).mean(axis=-1)
    return found[0], found[1]
