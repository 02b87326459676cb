"""The recipe of MNIST-1D, beside the numbers that its authors published."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from ablate.tasks import mnist1d_signals
from ablate.tasks.mnist1d_signals import NUM_DIGITS, NUM_POINTS, NUM_SHIFTS, Draws, mnist1d, signals_of

# The first six points of the first training signal of the authors' file `mnist1d_data.pkl`, the last six of its last
# test signal, and the digits of some.
FIRST = [-0.332005667, -0.471910366, -0.778697076, -1.009740827, -0.882352565, 0.103934813]
LAST = [-0.395910551, -0.098646093, 0.447232885, 0.659875647, 0.877734350, 1.193151837]
DIGITS = [2, 6, 4, 5, 6, 6, 6, 0, 3, 1, 6, 9]
LAST_DIGITS = [5, 9, 6, 4]
SUM_OF_CUBES = -10432.009923
"""Over all training signals of that file."""


def drawn_by_the_package(seed: int) -> tuple[Draws, np.ndarray]:
    """Returns the random numbers of the package, example by example, and the order in which it shuffles examples."""
    generator = np.random.RandomState(seed)
    digits = np.repeat(np.arange(NUM_DIGITS), 500)
    names = ("padding", "scale", "shift", "correlated", "independent", "shear")
    numbers = {name: [] for name in names}
    for _ in digits:
        numbers["padding"].append(generator.rand())
        numbers["scale"].append(generator.rand())
        numbers["shift"].append(generator.choice(NUM_SHIFTS))
        numbers["correlated"].append(generator.randn(NUM_POINTS))
        numbers["independent"].append(generator.randn(NUM_POINTS))
        numbers["shear"].append(generator.rand())
    draws = Draws(digits, **{name: np.array(values) for name, values in numbers.items()})
    return draws, generator.permutation(len(digits))


def test_the_draws_of_the_package_give_the_published_file():
    draws, order = drawn_by_the_package(42)
    signals = signals_of(draws)[order]
    digits = draws.digits[order]
    standardised = (signals - signals.mean()) / signals.std()
    assert standardised[0, :6] == pytest.approx(FIRST, abs=1e-8)
    assert standardised[-1, -6:] == pytest.approx(LAST, abs=1e-8)
    assert (standardised[:4000] ** 3).sum() == pytest.approx(SUM_OF_CUBES, abs=1e-5)
    assert digits[:12].tolist() == DIGITS
    assert digits[-4:].tolist() == LAST_DIGITS


def test_signals_do_not_depend_on_how_many_are_drawn_at_a_time():
    whole = mnist1d(np.random.default_rng(5), 100)
    generator = np.random.default_rng(5)
    parts = [mnist1d(generator, count) for count in (1, 60, 39)]
    for place in range(2):
        assert np.array_equal(np.concatenate([part[place] for part in parts]), whole[place])


def test_signals_are_standardised_and_digits_equally_likely():
    signals, digits = mnist1d(np.random.default_rng(0), 20_000)
    assert (signals.dtype, signals.shape) == (np.float32, (20_000, 40))
    assert signals.mean() == pytest.approx(0, abs=0.01)
    assert signals.std() == pytest.approx(1, abs=0.01)
    shares = np.bincount(digits, minlength=NUM_DIGITS) / len(digits)
    assert shares == pytest.approx(np.full(NUM_DIGITS, 0.1), abs=0.01)


ALONE = """
import sys, numpy, signals
generator = numpy.random.default_rng(0)
print(len(signals.mnist1d(generator, 3)[1]), "ablate" in sys.modules)
"""


@pytest.mark.slow
def test_the_file_works_without_the_package(tmp_path):
    """As in a trial of code of one's own, beside which it is copied."""
    shutil.copy(mnist1d_signals.__file__, tmp_path / "signals.py")
    command = [sys.executable, "-c", ALONE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "3 False\n"
