"""Pruners, which end settings of a search early: those of Optuna.

Parts of the slot `pruner`. A pruner compares a setting with those of earlier batches alone, so that its decisions do
not depend on the number of workers; steps are those at which a trial reports, counted from 1.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import PartConfig, register
from ablate.search.samplers import Wrapped


class Pruner(Wrapped):
    """Base of all pruners."""

    # Validation results at the steps of the first tuning seed, or the results of one seed after the other.
    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    # Whether it compares settings with one another.
    compares: ClassVar[bool] = True

    @property
    def seeds(self) -> int:
        """The least number of tuning seeds with which it can save a training."""
        return 1


@register("pruner", "none")
class NoPruner(Pruner):
    """Every setting is trained to its end, on every seed."""

    wraps = "pruners.NopPruner"
    reads = "nothing"
    compares = False


class _ByStep(PartConfig):
    """When a pruner looks."""

    n_warmup_steps: NonNegativeInt = 0
    "The first step at which a setting may be pruned."
    interval_steps: PositiveInt = 1
    "Steps between two looks, counted from n_warmup_steps."


@register("pruner", "median")
class Median(Pruner):
    """Ends a setting whose best result so far is worse than the median at the step (Golovin et al. 2017)."""

    wraps = "pruners.MedianPruner"

    class Config(_ByStep):
        n_startup_trials: NonNegativeInt = 5
        "Settings that must have been trained to their end before any is pruned."
        n_min_trials: PositiveInt = 1
        "Others that must have reported at the same step."


@register("pruner", "percentile")
class Percentile(Pruner):
    """Ends a setting whose best result so far is not among the best `percentile` % at the step: see `median`."""

    wraps = "pruners.PercentilePruner"

    class Config(Median.Config):
        percentile: Annotated[float, Field(ge=0, le=100)] = 25.0
        "The share of the others that counts as the best, in percent."


@register("pruner", "threshold")
class Threshold(Pruner):
    """Ends a setting whose result is below `lower` or above `upper`."""

    wraps = "pruners.ThresholdPruner"
    compares = False

    class Config(_ByStep):
        lower: FiniteFloat | None = None
        "The lowest result that is allowed."
        upper: FiniteFloat | None = None
        "The highest result that is allowed."

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        known = [bound for bound in (config.lower, config.upper) if bound is not None]
        if not known or known != sorted(known):
            raise Invalid(
                "", "needs a bound, and a lower one below an upper one", known, "lower, upper, or both"
            )


@register("pruner", "patient")
class Patient(Pruner):
    """Ends a setting that has not improved over several reports, by early stopping."""

    wraps = "pruners.PatientPruner"
    compares = False

    class Config(PartConfig):
        patience: NonNegativeInt = 3
        "Reports without an improvement, beyond the next one, before a setting ends."
        min_delta: Annotated[float, Field(ge=0)] = 0.0
        "By how much it must have become worse."

    def arguments(self) -> dict[str, Any]:
        return super().arguments() | {"wrapped_pruner": None}


@register("pruner", "wilcoxon")
class Wilcoxon(Pruner):
    """Ends a setting that is worse than the best on the seeds so far, by the signed-rank test (Wilcoxon 1945).

    The test is repeated seed by seed, and not corrected for it. Its steps are the places of the seeds.
    """

    wraps = "pruners.WilcoxonPruner"
    reads = "seeds"

    class Config(PartConfig):
        p_threshold: Annotated[float, Field(gt=0, le=1)] = 0.1
        "One-sided p below which it ends."
        n_startup_steps: NonNegativeInt = 2
        "Seeds before which nothing is pruned; at least 2."

    @property
    def seeds(self) -> int:
        """One more than the pairs with which p can be below the threshold: with k pairs it is at least 2^-k."""
        return max(2, self.config.n_startup_steps, math.floor(-math.log2(self.config.p_threshold)) + 1) + 1


def check_pruner(
    part: Pruner, *, objectives: int, reports: Sequence[int] | None, seeds: int, earlier: int
) -> None:
    """Raises `Invalid` for a pruner that could never prune.

    `reports`: the steps at which a trial reports, the last included, where that is known; `seeds`: the tuning seeds of
    a setting; `earlier`: the most settings of earlier batches that one can be compared with.
    """
    with Gather() as at:
        at.refuse(
            part.reads != "nothing" and objectives > 1,
            "",
            "prunes by one objective alone",
            f"{objectives} objectives",
            "one objective, or pruner: none",
        )
        at.refuse(
            part.reads == "steps" and reports is not None and len(reports) < 2,
            "",
            "needs intermediate values: a trial must report before its last step",
            f"{len(reports or ())} reports",
            hint="Report more often (training.eval_every), or leave it out",
        )
        at.refuse(
            part.compares and earlier < 1,
            "",
            "compares with earlier batches, of which there is none",
            hint="Try more settings, or give a smaller batch",
        )
        at.refuse(
            seeds < part.seeds,
            "",
            f"cannot save a training with fewer than {part.seeds} tuning seeds",
            f"{seeds} seeds",
            f"seeds: {part.seeds} or more, or another pruner",
        )
