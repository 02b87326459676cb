"""Pruners, which end settings of a search early: those of Optuna.

Parts of the slot `pruner`: two with arguments that are described here, and every other of Optuna's by the name of its
class. A pruner compares a setting with those of earlier batches alone, so that its decisions do not depend on the
number of workers; steps are those at which a trial reports, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import NonNegativeInt, PositiveInt

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import PartConfig, register
from ablate.search.classes import OptunaSlot, check_packages, classes_in, refusing

if TYPE_CHECKING:
    from optuna.pruners import BasePruner


class Pruner:
    """Base of all pruners."""

    name: ClassVar[str]
    # The values that decide: on validation data at the steps of the first tuning seed, or of one seed after the other.
    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    # Whether it compares settings with one another.
    compares: ClassVar[bool] = True

    def __init__(self, config: Any) -> None:
        self.config = config

    @property
    def seeds(self) -> int:
        """The least number of tuning seeds with which it can save a training."""
        return 1

    def make(self) -> BasePruner:
        """Returns Optuna's pruner."""
        raise NotImplementedError

    def check(self) -> None:
        """Raises `Invalid` for arguments that Optuna does not take."""


@register("pruner", "none")
class NoPruner(Pruner):
    """Every setting is trained to its end, on every seed."""

    reads = "nothing"
    compares = False

    def make(self) -> BasePruner:
        from optuna.pruners import NopPruner

        return NopPruner()


@register("pruner", "median")
class Median(Pruner):
    """Ends a setting whose best result so far is worse than the median at the step (Golovin et al. 2017)."""

    class Config(PartConfig):
        n_warmup_steps: NonNegativeInt = 0
        "The first step at which a setting may be pruned."
        interval_steps: PositiveInt = 1
        "Steps between two looks, counted from n_warmup_steps."
        n_startup_trials: NonNegativeInt = 5
        "Settings that must have been trained to their end before any is pruned."
        n_min_trials: PositiveInt = 1
        "Others that must have reported at the same step."

    def make(self) -> BasePruner:
        from optuna.pruners import MedianPruner

        return MedianPruner(
            n_startup_trials=self.config.n_startup_trials,
            n_warmup_steps=self.config.n_warmup_steps,
            interval_steps=self.config.interval_steps,
            n_min_trials=self.config.n_min_trials,
        )


class NamedPruner(Pruner):
    """Base of the pruners that a study names as Optuna does."""

    slot: ClassVar[str] = "pruner"

    def make(self) -> BasePruner:
        pruner: BasePruner = self.config.make()
        return pruner

    def check(self) -> None:
        """Makes the pruner."""
        check_packages(self.name)
        with refusing(self.config):
            self.make()


class Idle(NamedPruner):
    """Base of the part that is made from Optuna's `NopPruner`, which ends no training."""

    reads = "nothing"
    compares = False


class Alone(NamedPruner):
    """The base of pruners that look at one setting alone."""

    compares = False


class BySeed(NamedPruner):
    """The base of a pruner whose steps are the places of the seeds: the signed-rank test (Wilcoxon 1945).

    The test is repeated seed by seed, and not corrected for it.
    """

    reads = "seeds"

    @property
    def seeds(self) -> int:
        """The least number of tuning seeds with which it can save a training.

        One more than the pairs with which p can be below the threshold: with k pairs it is at least 2^-k.
        """
        pairs = math.floor(-math.log2(self.config.p_threshold)) + 1
        return max(2, self.config.n_startup_steps, pairs) + 1

    def check(self) -> None:
        super().check()
        if self.config.p_threshold == 0:
            raise Invalid("p_threshold", "must be above 0: no p is below it", 0.0)


class InBatch(NamedPruner):
    """The base of pruners that compare settings of one batch."""

    def check(self) -> None:
        rule = "compares settings that are trained together, so that its decisions depend on the number of workers"
        raise Invalid("", rule, self.name, hint="Choose another pruner, such as median")


# Class of Optuna's → the base of its part.
BASES: dict[str, type[NamedPruner]] = {
    "NopPruner": Idle,
    "ThresholdPruner": Alone,
    "PatientPruner": Alone,
    "WilcoxonPruner": BySeed,
    "HyperbandPruner": InBatch,
    "SuccessiveHalvingPruner": InBatch,
}


def _classes() -> Mapping[str, type]:
    """Returns the pruners of Optuna, by name."""
    import optuna

    return classes_in(optuna.pruners, optuna.pruners.BasePruner)


# `pruner:` of a study.
PRUNERS = OptunaSlot(
    "pruner",
    noun="a class of optuna.pruners",
    classes=_classes,
    base=NamedPruner,
    bases=BASES,
    unusable=[name for name, base in BASES.items() if base is InBatch],
)


def check_pruner(
    part: Pruner, *, objectives: int, reports: Sequence[int] | None, seeds: int, earlier: int
) -> None:
    """Raises `Invalid` for a pruner that Optuna does not take, or that could never prune.

    `objectives`: their number; `reports`: the steps at which a trial reports, the last included, where that is known;
    `seeds`: the number of tuning seeds of a setting; `earlier`: the most settings of earlier batches that one can be
    compared with.
    """
    part.check()
    with Gather() as problems:
        problems.refuse(
            part.reads != "nothing" and objectives > 1,
            "",
            "can prune by one objective only",
            f"{objectives} objectives",
            allowed="one objective, or pruner: none",
        )
        problems.refuse(
            part.reads == "steps" and reports is not None and len(reports) < 2,
            "",
            "needs intermediate values: a trial must report before its last step",
            f"{len(reports or ())} reports",
            hint="Report more often (training.eval_every), or leave it out",
        )
        problems.refuse(
            part.compares and earlier < 1,
            "",
            "compares with earlier batches, and there is only one batch",
            hint="Try more settings, or give a smaller batch",
        )
        problems.refuse(
            seeds < part.seeds,
            "",
            f"cannot save a training with fewer than {part.seeds} tuning seeds",
            f"{seeds} seeds",
            allowed=f"seeds: {part.seeds} or more, or another pruner",
        )
