"""A figure that was measured, beside the band in which it must lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .simulations import band

if TYPE_CHECKING:
    from ablate.commands._results import Results

STUDIES = Path(__file__).parent / "studies"
OWN = "ablate"
"""The name of the rules of the package."""


@dataclass(frozen=True)
class Check:
    """One figure in one setting."""

    what: str
    setting: Mapping[str, float | str]
    value: float
    low: float = -math.inf
    high: float = math.inf
    studies: int = 0
    "How many it was counted over; 0: it was not counted."
    rules: str = OWN
    "Those of the package, or the name of wrong ones."
    error: bool = False
    "Whether it is a rate of false verdicts."

    @property
    def inside(self) -> bool:
        """Whether the figure lies in its band."""
        return self.low <= self.value <= self.high


def frequency(
    what: str,
    found: ArrayLike,
    setting: Mapping[str, float | str],
    *,
    rate: float = 0.05,
    exactly: bool = False,
    most: float | None = None,
    settings: int = 1,
    rules: str = OWN,
) -> Check:
    """How often a false verdict was `found`, one flag a study.

    The band is the binomial 99 % band of `rate`, or up to its upper edge where not `exactly`, or up to `most`; of as
    many settings as have the band together.
    """
    flags = np.asarray(found, bool)
    low, high = band(len(flags), rate, settings)
    low, high = low if exactly else -math.inf, high if most is None else most
    return Check(what, setting, float(flags.mean()), low, high, len(flags), rules, error=True)


def at_most(
    what: str,
    found: ArrayLike,
    setting: Mapping[str, float | str],
    *,
    most: float,
    alpha: float,
    settings: int = 1,
    rules: str = OWN,
) -> Check:
    """Returns how often a difference was found; with few studies, up to the upper edge of the band of α."""
    flags = np.asarray(found, bool)
    _, edge = band(len(flags), alpha, settings)
    value = float(flags.mean())
    return Check(what, setting, value, high=max(most, edge), studies=len(flags), rules=rules, error=True)


def near(
    what: str, found: ArrayLike, setting: Mapping[str, float | str], *, stated: float, within: float = 0.03
) -> Check:
    """Returns how often it was found, less how often that is stated; with few studies within four standard errors."""
    flags = np.asarray(found, bool)
    error = math.sqrt(stated * (1 - stated) / len(flags))
    most = max(within, 4 * error)
    less = float(flags.mean()) - stated
    return Check(f"{what}, less the power that is stated", setting, less, -most, most, len(flags))


def never(what: str, found: ArrayLike, setting: Mapping[str, float | str]) -> Check:
    """Returns how often something was found that must never be; found: a flag, or several, a study."""
    flags = np.asarray(found, bool)
    return Check(what, setting, float(flags.mean()), 0.0, 0.0, len(flags))


@dataclass
class Place:
    """Where a calibration works."""

    scratch: Path
    "Results folder of the trainings; what it holds is not trained again."
    studies: int = 10_000
    "Simulated studies a setting."
    draws: int = 1_000
    "Fictitious studies that are drawn from trained runs, a setting."

    @property
    def few(self) -> int:
        """Number of simulated studies that the package judges, too, where it is slow."""
        return max(4, self.studies // 200)

    def trained(self, name: str, seeds: tuple[int, ...] | None = None) -> Results:
        """The results of a study of `STUDIES` through the whole pipeline, with its own seeds or with these."""
        import ablate

        return ablate.run(STUDIES / f"{name}.yaml", results=self.scratch, jobs=1, seeds=seeds)


Part = Callable[[np.random.Generator, Place], Iterator[Check]]
