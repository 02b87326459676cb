"""Samplers, which choose the next setting of a search, and pruners, which end settings early: those of Optuna.

Parts of the slots `sampler` and `pruner`, each with the arguments that its class in Optuna has. A sampler has a seed:
asked the same questions and told the same results, it gives the same settings. A pruner compares a setting with those
of earlier batches alone, so that its decisions do not depend on the number of workers; steps are those at which a trial
reports, counted from 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt, PositiveInt

from ablate.base.errors import Invalid
from ablate.base.registry import OnOff, PartConfig, register
from ablate.search import quiet

Probability = Annotated[float, Field(ge=0, le=1)]
NUM_SEEDS = 2**32
"""The number of seeds of numpy's older generators, which Optuna uses."""


class Wrapped:
    """Base of parts that wrap a class of Optuna's, whose arguments are the parameters of the part."""

    name: ClassVar[str]
    wraps: ClassVar[str]
    "The class, below `optuna`."

    def __init__(self, config: Any) -> None:
        self.config = config

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of Optuna's class."""
        return self.config.model_dump(exclude={"name"})

    def make(self, **more: Any) -> Any:
        """Returns an instance of Optuna's class."""
        module, _, name = self.wraps.rpartition(".")
        with quiet():
            return getattr(import_module(f"optuna.{module}"), name)(**self.arguments() | more)


class Sampler(Wrapped):
    """Base of all samplers."""

    several: ClassVar[bool] = True
    "Whether it can search for several objectives."
    numbers: ClassVar[int] = 0
    "The least number of numeric parameters without a condition; with fewer it would draw at random."
    exhaustive: ClassVar[bool] = False
    "Whether it visits every point of the space once; then what `build` returns is asked nothing."

    def build(self, seed: int, trials: int) -> Any:
        """Returns Optuna's sampler for a search of so many `trials`."""
        return self.make(seed=seed % NUM_SEEDS)


@register("sampler", "random")
class Random(Sampler):
    """Independent draws (Bergstra and Bengio 2012)."""

    wraps = "samplers.RandomSampler"


@register("sampler", "grid")
class Grid(Sampler):
    """Every point once; a float needs a `step`. What is not searched under a `when` is not repeated."""

    wraps = "samplers.RandomSampler"
    exhaustive = True


@register("sampler", "tpe")
class TPE(Sampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011).

    Multivariate as in Falkner et al. 2018; for several objectives, Ozaki et al. 2020.
    """

    wraps = "samplers.TPESampler"

    class Config(PartConfig):
        """Parameters of the Parzen estimator."""

        n_startup_trials: PositiveInt = 10
        "Settings that are drawn at random first."
        n_ei_candidates: PositiveInt = 24
        "Candidates of which the one with the highest expected improvement is taken."
        multivariate: OnOff | None = None
        "Whether parameters are modelled together; not given: with one objective."
        group: OnOff = False
        """Whether those that are searched under the same conditions are modelled together; else only those that are
        always searched are. Implies multivariate."""

    def arguments(self) -> dict[str, Any]:
        """The other settings of a batch count as bad (`constant_liar`), so that they are not drawn again."""
        together = self.config.group or self.config.multivariate
        return super().arguments() | {"multivariate": together, "constant_liar": True}


@register("sampler", "gp")
class GaussianProcess(Sampler):
    """Gaussian process with expected improvement (Jones et al. 1998); for trials that are few and costly.

    With several objectives, the improvement is that of the hypervolume (Daulton et al. 2020). It models what is always
    searched; the rest is drawn at random.
    """

    wraps = "samplers.GPSampler"

    class Config(PartConfig):
        """Parameters of the Gaussian process."""

        n_startup_trials: PositiveInt = 10
        "Settings that are drawn at random first."
        deterministic_objective: OnOff = False
        "Whether the objective has no noise."


@register("sampler", "nsga2")
class NSGA2(Sampler):
    """Evolution by non-dominated sorting, for several objectives (Deb et al. 2002)."""

    wraps = "samplers.NSGAIISampler"

    class Config(PartConfig):
        """Parameters of the evolution."""

        population_size: Annotated[int, Field(ge=2)] | None = None
        "Settings of a generation; not given: a fifth of the trials, at least 4."
        mutation_prob: Probability | None = None
        "Of each parameter; not given: one over their number."
        crossover_prob: Probability = 0.9
        "Whether a setting has two parents."
        swapping_prob: Probability = 0.5
        "Of each parameter, between the parents."

    def build(self, seed: int, trials: int) -> Any:
        """See `Sampler.build`."""
        size = self.config.population_size or max(4, trials // 5)
        return self.make(seed=seed % NUM_SEEDS, population_size=size)


@register("sampler", "qmc")
class QuasiMonteCarlo(Sampler):
    """A sequence of low discrepancy, which fills a space more evenly than random draws (Sobol' 1967, Halton 1960).

    It is scrambled (Matoušek 1998; Owen 2017): unscrambled it would begin in a corner of the space. It covers what the
    first setting has searched; that setting, and the rest, are drawn at random.
    """

    wraps = "samplers.QMCSampler"

    class Config(PartConfig):
        """Parameters of the sequence."""

        sequence: Literal["sobol", "halton"] = "sobol"
        "Which sequence; sobol is best for trials that are a power of two, and one for the first."

    def arguments(self) -> dict[str, Any]:
        """See `Wrapped.arguments`."""
        return {"qmc_type": self.config.sequence, "scramble": True}


@register("sampler", "cmaes")
class CMAES(Sampler):
    """Covariance matrix adaptation, an evolution strategy for numbers (Hansen and Ostermeier 2001).

    Choices, and what is not always searched, are drawn at random.
    """

    wraps = "samplers.CmaEsSampler"
    several = False
    numbers = 2

    class Config(PartConfig):
        """Parameters of the evolution."""

        n_startup_trials: PositiveInt = 1
        "Settings that are drawn at random first."
        popsize: Annotated[int, Field(ge=3)] | None = None
        "Settings of a generation; not given: 4 and three times the logarithm of the number of parameters."


class Pruner(Wrapped):
    """Base of all pruners."""

    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    "Validation results at the steps of the first tuning seed, or the results of one seed after the other."
    compares: ClassVar[bool] = True
    "Whether it compares settings with one another."

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
        """Parameters of the comparison with settings of earlier batches, at the same step."""

        n_startup_trials: NonNegativeInt = 5
        "Settings that must have been trained to their end before any is pruned."
        n_min_trials: PositiveInt = 1
        "Others that must have reported at the same step."


@register("pruner", "percentile")
class Percentile(Pruner):
    """Ends a setting whose best result so far is not among the best `percentile` % at the step: see `median`."""

    wraps = "pruners.PercentilePruner"

    class Config(Median.Config):
        """Parameters of the comparison."""

        percentile: Annotated[float, Field(ge=0, le=100)] = 25.0
        "The share of the others that counts as the best, in percent."


@register("pruner", "threshold")
class Threshold(Pruner):
    """Ends a setting whose result is below `lower` or above `upper`."""

    wraps = "pruners.ThresholdPruner"
    compares = False

    class Config(_ByStep):
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
    def seeds(self) -> int:
        """One more than the pairs with which p can be below the threshold: with k pairs it is at least 2^-k."""
        smallest = math.floor(-math.log2(self.config.p_threshold)) + 1
        return max(2, self.config.n_startup_steps, smallest) + 1


def check_sampler(part: Sampler, name: str, objectives: int, numbers: int | None) -> None:
    """Raises `Invalid` for a sampler that cannot search for so many objectives, or over so few numbers."""
    if objectives > 1 and not part.several:
        hint = "Choose another sampler, or one objective"
        raise Invalid("", f"looks for one objective; the search has {objectives}", name, hint=hint)
    if numbers is not None and numbers < part.numbers:
        rule = f"needs {part.numbers} numbers that are always searched; the space has {numbers}"
        raise Invalid("", rule, name, hint="Choose another sampler")


def check_pruner(
    part: Pruner, *, objectives: int, reports: Sequence[int] | None, seeds: int, earlier: int
) -> None:
    """Raises `Invalid` for a pruner that could never prune.

    `reports`: the steps at which a trial reports, the last included, where that is known; `seeds`: the tuning seeds of
    a setting; `earlier`: the most settings of earlier batches that one can be compared with.
    """
    if part.reads != "nothing" and objectives > 1:
        raise Invalid(
            "", "prunes by one objective alone", f"{objectives} objectives", "one objective, or pruner: none"
        )
    if part.reads == "steps" and reports is not None and len(reports) < 2:
        raise Invalid(
            "",
            "needs intermediate values: a trial must report before its last step",
            f"{len(reports)} reports",
            hint="Report more often (training.eval_every), or leave it out",
        )
    if part.compares and earlier < 1:
        raise Invalid(
            "",
            "compares with earlier batches, of which there is none",
            hint="Try more settings, or give a smaller batch",
        )
    if seeds < part.seeds:
        rule = f"cannot save a training with fewer than {part.seeds} tuning seeds"
        raise Invalid("", rule, f"{seeds} seeds", f"seeds: {part.seeds} or more, or another pruner")
