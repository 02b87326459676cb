"""The ways in which the measurement of a variant is repeated, which decide which runs are pairs.

Analysis has the estimator of each replication (`Sides.differences`), the report its words (`replication_words`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Seeds = Collection[int]
RunName = Literal["seed", "fold", "run"]
"""The word for one of the runs of a variant: `run` where its number says nothing."""


class _Replicates:
    """The facts that each replication has. The set of them is closed, see `Replication`."""

    def pairs(self, first: Seeds, second: Seeds) -> bool:
        """Returns whether two variants with these seeds are compared by pairs, where the task leaves that open."""
        return False

    @property
    def says_seeds(self) -> bool:
        """True where runs say their seeds; else `seed` numbers them otherwise, and no report shows it as a seed."""
        return False

    @property
    def has_runs(self) -> bool:
        """False where nobody has the runs, but only their mean and deviation."""
        return True

    @property
    def run_name(self) -> RunName:
        """The word for one run: `seed` where runs say theirs."""
        return "seed" if self.says_seeds else "run"

    @property
    def has_numbers(self) -> bool:
        """True where the number of a run says what it is, a seed or a fold, so that reports show it."""
        return self.run_name != "run"

    @property
    def unit(self) -> Literal["seed", "fold", "run", "document"]:
        """The word for what the n of a comparison counts."""
        return self.run_name


@dataclass(frozen=True)
class PlannedSeeds(_Replicates):
    """The seeds of a study: each trains every variant, so that two variants always pair."""

    def pairs(self, first: Seeds, second: Seeds) -> bool:
        """Returns True."""
        return True

    @property
    def says_seeds(self) -> bool:
        """True."""
        return True


@dataclass(frozen=True)
class GivenSeeds(_Replicates):
    """Several given runs of each variant, which say their seeds."""

    def pairs(self, first: Seeds, second: Seeds) -> bool:
        """Returns whether the two share two seeds or more."""
        return len({*first} & {*second}) >= 2

    @property
    def says_seeds(self) -> bool:
        """True."""
        return True


@dataclass(frozen=True)
class Folds(_Replicates):
    """The folds of one cross-validation of each variant: they repeat the split of one data set, and not the seed."""

    def pairs(self, first: Seeds, second: Seeds) -> bool:
        """Returns True."""
        return True

    @property
    def run_name(self) -> Literal["fold"]:
        """The word `fold`."""
        return "fold"


@dataclass(frozen=True)
class UnpairedRuns(_Replicates):
    """Several given runs of each variant, without seeds."""


@dataclass(frozen=True)
class KnownNoise(_Replicates):
    """Kept runs of the baseline, whose spread is taken for that of both sides."""

    says_seeds: bool = False


@dataclass(frozen=True)
class Summaries(_Replicates):
    """Means, standard deviations and numbers of runs."""

    @property
    def has_runs(self) -> bool:
        """False."""
        return False


@dataclass(frozen=True)
class Examples(_Replicates):
    """The test examples of one given run of each variant, which are the pairs."""

    says_seeds: bool = False

    @property
    def unit(self) -> Literal["document"]:
        """The word `document`."""
        return "document"

    def pairs(self, first: Seeds, second: Seeds) -> bool:
        """Returns True."""
        return True


Replication = PlannedSeeds | GivenSeeds | Folds | UnpairedRuns | KnownNoise | Summaries | Examples
