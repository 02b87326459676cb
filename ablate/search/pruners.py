"""Pruners: when a search gives up a setting early. Optuna's, by name, with their own parameters.

A part of the slot `pruner`. What a pruner compares a setting with are the settings of earlier batches, so that it
decides alike whatever the number of workers. Steps are those at which a trial reports, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from ablate.base.errors import Gather, Invalid
from ablate.base.registry import PartConfig, register
from ablate.search.quiet import quiet

if TYPE_CHECKING:
    from optuna.pruners import BasePruner

LAST_CHANCE = "the last report but one"
"""At the last, a trial is over."""
ReductionFactor = Annotated[int, Field(ge=2)]


class Pruner:
    """Base of all pruners."""

    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    """What it decides by: validation results at the steps of the first tuning seed, or results of one seed after the
    other."""

    def __init__(self, config: PartConfig) -> None:
        self.config = config

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
            raise Invalid(
                "",
                "prunes by one objective alone",
                f"{objectives} objectives",
                "one objective, or pruner: none",
            )
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

    def build(self, last_step: int | None) -> BasePruner:
        """Optuna's pruner, for trials that report for the last time at `last_step`; None: not known yet."""
        raise NotImplementedError


@register("pruner", "none")
class NoPruner(Pruner):
    """Every setting is trained to its end, on every seed."""

    reads = "nothing"

    def build(self, last_step: int | None) -> BasePruner:
        """See `Pruner.build`."""
        from optuna.pruners import NopPruner

        return NopPruner()


class _AgainstOthers(PartConfig):
    """Parameters of a comparison at the same step."""

    n_startup_trials: NonNegativeInt = 5
    "Settings that must have been trained to their end before any is pruned."
    n_warmup_steps: NonNegativeInt = 0
    "The first step at which a setting may be pruned."
    interval_steps: PositiveInt = 1
    "Steps between two looks, counted from n_warmup_steps."
    n_min_trials: PositiveInt = 1
    "Others that must have reported at the same step."


class _Comparison(Pruner):
    """What median and percentile have in common."""

    config: _AgainstOthers

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

    class Config(_AgainstOthers):
        """Parameters of the comparison."""

    def build(self, last_step: int | None) -> BasePruner:
        """See `Pruner.build`."""
        from optuna.pruners import MedianPruner

        return MedianPruner(**self.config.model_dump(exclude={"name"}))


@register("pruner", "percentile")
class Percentile(_Comparison):
    """Ends a setting whose best result so far is not among the best `percentile` % at the step: see `median`."""

    class Config(_AgainstOthers):
        """Parameters of the comparison."""

        percentile: Annotated[float, Field(ge=0, le=100)] = 25.0
        "The share of the others that counts as the best, in percent."

    def build(self, last_step: int | None) -> BasePruner:
        """See `Pruner.build`."""
        from optuna.pruners import PercentilePruner

        return PercentilePruner(**self.config.model_dump(exclude={"name"}))


@register("pruner", "successive_halving")
class SuccessiveHalving(Pruner):
    """Lets the best go on at steps that grow by a factor: one in `reduction_factor` (Li et al. 2020, ASHA)."""

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

    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if config.bootstrap_count and config.min_resource == "auto":
            rule = "needs a min_resource that is given"
            raise Invalid("bootstrap_count", rule, config.bootstrap_count, "0, or a number for min_resource")

    def _check(self, reports: Sequence[int] | None, seeds: int, earlier: int) -> None:
        _check_bootstrap(self.config.bootstrap_count, earlier)
        if reports is None:
            return
        config = self.config
        rate = config.min_early_stopping_rate
        first = self._min_resource(reports[-1]) * config.reduction_factor**rate
        if first > reports[-2]:
            raise Invalid(
                "min_early_stopping_rate" if rate else "min_resource",
                f"puts the first rung at step {first:,}, behind {LAST_CHANCE}: nothing would ever be pruned",
                rate or config.min_resource,
                f"min_resource · reduction_factor^min_early_stopping_rate of at most {reports[-2]:,}",
            )

    def _min_resource(self, last_step: int) -> int:
        """What `auto` comes to is Optuna's, here known before a trial has ended."""
        given = self.config.min_resource
        return max(last_step // 100, 1) if given == "auto" else given

    def build(self, last_step: int | None) -> BasePruner:
        """See `Pruner.build`."""
        from optuna.pruners import SuccessiveHalvingPruner

        return SuccessiveHalvingPruner(
            min_resource=self._min_resource(last_step) if last_step else self.config.min_resource,
            reduction_factor=self.config.reduction_factor,
            min_early_stopping_rate=self.config.min_early_stopping_rate,
            bootstrap_count=self.config.bootstrap_count,
        )


@register("pruner", "hyperband")
class Hyperband(Pruner):
    """Successive halving with several first rungs, among which the settings are shared out (Li et al. 2018)."""

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

    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        if config.bootstrap_count and config.max_resource == "auto":
            rule = "needs a max_resource that is given"
            raise Invalid("bootstrap_count", rule, config.bootstrap_count, "0, or a number for max_resource")
        if config.max_resource != "auto" and config.min_resource > config.max_resource:
            rule = f"must not be above max_resource = {config.max_resource}"
            raise Invalid("min_resource", rule, config.min_resource, f"1 to {config.max_resource}")

    def _check(self, reports: Sequence[int] | None, seeds: int, earlier: int) -> None:
        _check_bootstrap(self.config.bootstrap_count, earlier)
        if reports is not None:
            _at_most("min_resource", self.config.min_resource, reports[-2], LAST_CHANCE)

    def build(self, last_step: int | None) -> BasePruner:
        """See `Pruner.build`."""
        from optuna.pruners import HyperbandPruner

        given = self.config.max_resource
        return HyperbandPruner(
            min_resource=self.config.min_resource,
            max_resource=last_step if given == "auto" and last_step else given,
            reduction_factor=self.config.reduction_factor,
            bootstrap_count=self.config.bootstrap_count,
        )


@register("pruner", "wilcoxon")
class Wilcoxon(Pruner):
    """Ends a setting that is worse than the best on the seeds so far, by the signed-rank test (Wilcoxon 1945).

    The test is repeated seed by seed, and not corrected for it.
    """

    reads = "seeds"

    class Config(PartConfig):
        """Parameters of the test."""

        p_threshold: Annotated[float, Field(gt=0, le=1)] = 0.1
        "One-sided p below which it ends."
        n_startup_steps: NonNegativeInt = 2
        "Seeds before which nothing is pruned; at least 2."

    config: Config

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

    def build(self, last_step: int | None) -> BasePruner:
        """See `Pruner.build`; steps are the places of the seeds."""
        from optuna.pruners import WilcoxonPruner

        with quiet():
            return WilcoxonPruner(**self.config.model_dump(exclude={"name"}))


def _at_most(name: str, given: int, limit: int, what: str) -> None:
    if given > limit:
        rule = f"must not be above {limit:,}, {what}: nothing would ever be pruned"
        raise Invalid(name, rule, given, f"at most {limit:,}")


def _check_bootstrap(count: int, earlier: int) -> None:
    if count > earlier:
        rule = f"ends every setting: at most {earlier} come before another"
        raise Invalid("bootstrap_count", rule, count, f"at most {earlier}")
