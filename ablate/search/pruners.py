"""Pruners end settings early; they are those of Optuna, with their own parameters.

Each is a part of the slot `pruner`. It compares a setting with settings of earlier batches alone, so that its
decisions do not depend on the number of workers. Steps are those at which a trial reports, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import PartConfig, register
from ablate.search.wrapped import Wrapped


class Pruner(Wrapped):
    """Base of all pruners."""

    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    "Validation results at the steps of the first tuning seed, or the results of one seed after the other."
    compares: ClassVar[bool] = True
    "Whether it compares settings with one another."

    def check(
        self, *, objectives: int, reports: Sequence[int] | None, seeds: int, trials: int, batch: int = 1
    ) -> None:
        """Raises `Invalid` when it could never prune, with paths from the part.

        `reports` are the steps at which a trial reports, the last included, where that is known; `seeds` the tuning
        seeds of a setting; `trials` the settings that are tried, `batch` of them at a time.
        """
        if objectives > 1:
            allowed = "one objective, or pruner: none"
            raise Invalid("", "prunes by one objective alone", f"{objectives} objectives", allowed)
        if self.reads == "steps" and reports is not None and len(reports) < 2:
            raise Invalid(
                "",
                "needs intermediate values: a trial must report before its last step",
                f"one report, at step {reports[0]}" if reports else "no report",
                "reports at two steps or more",
                "Report more often (training.eval_every), or leave the pruner out",
            )
        earlier = (trials - 1) // batch * batch
        with Gather() as at:
            with at():
                if self.compares and earlier < 1:
                    rule = "compares with earlier batches, of which there is none"
                    given = f"{trials} trials, {batch} at a time"
                    raise Invalid("", rule, given, "more trials, or a smaller batch")
            for name, (most, what) in self.limits(max(earlier, 1), reports).items():
                with at():
                    if (given := getattr(self.config, name)) > most:
                        rule = f"must not be above {most:,}, {what}: nothing would ever be pruned"
                        raise Invalid(name, rule, given, f"at most {most:,}")

    def limits(self, earlier: int, reports: Sequence[int] | None) -> dict[str, tuple[int, str]]:
        """Parameter → the most that it may be, and what that is; a setting has at most `earlier` others before it."""
        return {}


@register("pruner", "none")
class NoPruner(Pruner):
    """Every setting is trained to its end, on every seed."""

    wraps = "pruners.NopPruner"
    reads = "nothing"

    def check(self, **given: Any) -> None:
        """It prunes nothing, whatever is given."""


class _ByStep(Pruner):
    """Base of pruners that look at some of the steps."""

    class Config(PartConfig):
        """When it looks."""

        n_warmup_steps: NonNegativeInt = 0
        "The first step at which a setting may be pruned."
        interval_steps: PositiveInt = 1
        "Steps between two looks, counted from n_warmup_steps."

    def limits(self, earlier: int, reports: Sequence[int] | None) -> dict[str, tuple[int, str]]:
        """See `Pruner.limits`."""
        return {} if reports is None else {"n_warmup_steps": (reports[-2], "the last report but one")}


class _Comparison(_ByStep):
    """Base of pruners that compare settings at the same step."""

    class Config(_ByStep.Config):
        """Parameters of the comparison."""

        n_startup_trials: NonNegativeInt = 5
        "Settings that must have been trained to their end before any is pruned."
        n_min_trials: PositiveInt = 1
        "Others that must have reported at the same step."

    def limits(self, earlier: int, reports: Sequence[int] | None) -> dict[str, tuple[int, str]]:
        """See `Pruner.limits`."""
        others = (earlier, "settings of earlier batches")
        return {"n_startup_trials": others, "n_min_trials": others, **super().limits(earlier, reports)}


@register("pruner", "median")
class Median(_Comparison):
    """Ends a setting whose best result so far is worse than the median at the step (Golovin et al. 2017)."""

    wraps = "pruners.MedianPruner"


@register("pruner", "percentile")
class Percentile(_Comparison):
    """Ends a setting whose best result so far is not among the best `percentile` % at the step: see `median`."""

    wraps = "pruners.PercentilePruner"

    class Config(_Comparison.Config):
        """Parameters of the comparison."""

        percentile: Annotated[float, Field(ge=0, le=100)] = 25.0
        "The share of the others that counts as the best, in percent."


@register("pruner", "threshold")
class Threshold(_ByStep):
    """Ends a setting whose result is below `lower` or above `upper`."""

    wraps = "pruners.ThresholdPruner"
    compares = False

    class Config(_ByStep.Config):
        """The bounds."""

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
        """Parameters of the patience."""

        patience: NonNegativeInt = 3
        "Reports without an improvement, beyond the next one, before a setting ends."
        min_delta: Annotated[float, Field(ge=0)] = 0.0
        "By how much it must have become worse."

    def arguments(self) -> dict[str, Any]:
        """See `Wrapped.arguments`."""
        return super().arguments() | {"wrapped_pruner": None}

    def limits(self, earlier: int, reports: Sequence[int] | None) -> dict[str, tuple[int, str]]:
        """See `Pruner.limits`."""
        return {} if reports is None else {"patience": (max(0, len(reports) - 3), "the reports less three")}


@register("pruner", "wilcoxon")
class Wilcoxon(Pruner):
    """Ends a setting that is worse than the best on the seeds so far, by the signed-rank test (Wilcoxon 1945).

    The test is repeated seed by seed, and not corrected for it. Its steps are the places of the seeds.
    """

    wraps = "pruners.WilcoxonPruner"
    reads = "seeds"

    class Config(PartConfig):
        """Parameters of the test."""

        p_threshold: Annotated[float, Field(gt=0, le=1)] = 0.1
        "One-sided p below which it ends."
        n_startup_steps: NonNegativeInt = 2
        "Seeds before which nothing is pruned; at least 2."

    @property
    def needed(self) -> int:
        """The smallest number of seeds of which the last can be saved: with k pairs no p is below 2^-k."""
        smallest = math.floor(-math.log2(self.config.p_threshold)) + 1
        return max(2, self.config.n_startup_steps, smallest) + 1

    def check(self, *, seeds: int, **given: Any) -> None:
        """See `Pruner.check`."""
        super().check(seeds=seeds, **given)
        if seeds < self.needed:
            raise Invalid(
                "",
                f"needs {self.needed} seeds to save one: with k pairs, p of a signed-rank test is at least 2^-k, and "
                f"p_threshold is {self.config.p_threshold:g}",
                f"{seeds} seeds",
                f"seeds: {self.needed} or more, or another pruner",
            )
