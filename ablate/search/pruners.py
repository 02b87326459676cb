"""Pruners end settings early; they are those of Optuna, with their own parameters.

Each is a part of the slot `pruner`. It compares a setting with settings of earlier batches alone, so that its
decisions do not depend on the number of workers. Steps are those at which a trial reports, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import PartConfig, register
from ablate.search.wrapped import Wrapped

LAST_CHANCE = "the last report but one"
"""At its last report, a trial is over."""
ReductionFactor = Annotated[int, Field(ge=2)]


class Pruner(Wrapped):
    """Base of all pruners."""

    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    "Validation results at the steps of the first tuning seed, or the results of one seed after the other."

    def check(
        self, *, objectives: int, reports: Sequence[int] | None, seeds: int, trials: int, batch: int = 1
    ) -> None:
        """Raises `Invalid` when it could never prune, with paths from the part.

        `reports` are the steps at which a trial reports, the last included, where that is known; `seeds` the tuning
        seeds of a setting; `trials` the settings that are tried, `batch` of them at a time.
        """
        if self.reads == "nothing":
            return
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
                if earlier < 1:
                    rule = "compares with earlier batches, of which there is none"
                    given = f"{trials} trials, {batch} at a time"
                    raise Invalid("", rule, given, "more trials, or a smaller batch")
            with at():
                self._check(reports, seeds, max(earlier, 1))

    def _check(self, reports: Sequence[int] | None, seeds: int, earlier: int) -> None:
        """Raises `Invalid` for the part's own reasons; a setting has at most `earlier` others before it."""

    def build(self, last_step: int | None) -> Any:
        """Returns Optuna's pruner for trials whose last report is at `last_step`; None: not known yet."""
        return self._made(last_step)


@register("pruner", "none")
class NoPruner(Pruner):
    """Every setting is trained to its end, on every seed."""

    wraps = "pruners.NopPruner"
    reads = "nothing"


class _Comparison(Pruner):
    """Base of pruners that compare settings at the same step."""

    class Config(PartConfig):
        """Parameters of the comparison."""

        n_startup_trials: NonNegativeInt = 5
        "Settings that must have been trained to their end before any is pruned."
        n_warmup_steps: NonNegativeInt = 0
        "The first step at which a setting may be pruned."
        interval_steps: PositiveInt = 1
        "Steps between two comparisons, counted from n_warmup_steps."
        n_min_trials: PositiveInt = 1
        "Others that must have reported at the same step."

    def _check(self, reports: Sequence[int] | None, seeds: int, earlier: int) -> None:
        with Gather() as at:
            for name in ("n_startup_trials", "n_min_trials"):
                with at():
                    _at_most(name, getattr(self.config, name), earlier, "settings of earlier batches")
            if reports is not None:
                with at():
                    _at_most("n_warmup_steps", self.config.n_warmup_steps, reports[-2], LAST_CHANCE)


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


class _Rungs(Pruner):
    """Base of pruners that let a share of the settings pass at steps that grow by a factor."""

    resource: ClassVar[str]
    "The parameter that must be given before settings can be ended by their count."

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if config.bootstrap_count and getattr(config, self.resource) == "auto":
            rule, allowed = f"needs a {self.resource} that is given", f"0, or a number for {self.resource}"
            raise Invalid("bootstrap_count", rule, config.bootstrap_count, allowed)

    def _check(self, reports: Sequence[int] | None, seeds: int, earlier: int) -> None:
        count = self.config.bootstrap_count
        if count > earlier:
            rule = f"ends every setting: at most {earlier} come before another"
            raise Invalid("bootstrap_count", rule, count, f"at most {earlier}")
        if reports is not None:
            self._check_first_rung(reports)

    def _check_first_rung(self, reports: Sequence[int]) -> None:
        """Raises `Invalid` when the first rung is behind the last report but one."""
        raise NotImplementedError


@register("pruner", "successive_halving")
class SuccessiveHalving(_Rungs):
    """Lets the best go on at steps that grow by a factor: one in `reduction_factor` (Li et al. 2020, ASHA)."""

    wraps = "pruners.SuccessiveHalvingPruner"
    resource = "min_resource"

    class Config(PartConfig):
        """Parameters of the rungs."""

        min_resource: PositiveInt | Literal["auto"] = "auto"
        "The first rung, a step, where min_early_stopping_rate is 0; auto: a hundredth of the last step, at least 1."
        reduction_factor: ReductionFactor = 4
        "Each rung is so many times the one before, and one in so many passes it."
        min_early_stopping_rate: NonNegativeInt = 0
        "Rungs that are left out at the beginning."
        bootstrap_count: NonNegativeInt = 0
        "Settings that end at a rung, whatever their results, before others may pass it."

    def _check_first_rung(self, reports: Sequence[int]) -> None:
        rate = self.config.min_early_stopping_rate
        first = self._min_resource(reports[-1]) * self.config.reduction_factor**rate
        if first > reports[-2]:
            raise Invalid(
                "min_early_stopping_rate" if rate else "min_resource",
                f"puts the first rung at step {first:,}, behind {LAST_CHANCE}: nothing would ever be pruned",
                rate or self.config.min_resource,
                f"min_resource · reduction_factor^min_early_stopping_rate of at most {reports[-2]:,}",
            )

    def _min_resource(self, last_step: int) -> int:
        """The first rung; that of `auto` is Optuna's, here known before a trial has ended."""
        given = self.config.min_resource
        return max(last_step // 100, 1) if given == "auto" else given

    def arguments(self, length: int | None) -> dict[str, Any]:
        """See `Wrapped.arguments`."""
        return super().arguments(length) | ({"min_resource": self._min_resource(length)} if length else {})


@register("pruner", "hyperband")
class Hyperband(_Rungs):
    """Successive halving with several first rungs, among which the settings are shared out (Li et al. 2018)."""

    wraps = "pruners.HyperbandPruner"
    resource = "max_resource"

    class Config(PartConfig):
        """Parameters of the brackets."""

        min_resource: PositiveInt = 1
        "The first rung, a step, of the first bracket."
        max_resource: PositiveInt | Literal["auto"] = "auto"
        "The step up to which there are brackets; auto: the last."
        reduction_factor: ReductionFactor = 3
        "Each rung is so many times the one before, and one in so many passes it."
        bootstrap_count: NonNegativeInt = 0
        "Settings that end at a rung, whatever their results, before others may pass it."

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        if config.max_resource != "auto" and config.min_resource > config.max_resource:
            rule = f"must not be above max_resource = {config.max_resource}"
            raise Invalid("min_resource", rule, config.min_resource, f"1 to {config.max_resource}")

    def _check_first_rung(self, reports: Sequence[int]) -> None:
        _at_most("min_resource", self.config.min_resource, reports[-2], LAST_CHANCE)

    def arguments(self, length: int | None) -> dict[str, Any]:
        """See `Wrapped.arguments`."""
        found = super().arguments(length)
        return found | ({"max_resource": length} if length and found["max_resource"] == "auto" else {})


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

    def _check(self, reports: Sequence[int] | None, seeds: int, earlier: int) -> None:
        if seeds < self.needed:
            raise Invalid(
                "",
                f"needs {self.needed} seeds to save one: with k pairs, p of a signed-rank test is at least 2^-k, and "
                f"p_threshold is {self.config.p_threshold:g}",
                f"{seeds} seeds",
                f"seeds: {self.needed} or more, or another pruner",
            )


def _at_most(name: str, given: int, limit: int, what: str) -> None:
    if given > limit:
        rule = f"must not be above {limit:,}, {what}: nothing would ever be pruned"
        raise Invalid(name, rule, given, f"at most {limit:,}")
