"""Samplers: how a search chooses the next setting. Optuna's, by name, with their own parameters.

A part of the slot `sampler`. A new sampler is made for every trial, from a seed of its own, so that the settings of a
search depend on its results alone and not on who ran it, or how often it was interrupted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from ablate.registry import OnOff, PartConfig, register

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

Probability = Annotated[float, Field(ge=0, le=1)]


class Sampler:
    """Base of all samplers."""

    several: ClassVar[bool] = True
    "Whether it can look for several objectives."
    exhaustive: ClassVar[bool] = False
    "Whether it visits every point of the space once; `build` is then not used."

    def __init__(self, config: PartConfig) -> None:
        self.config = config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """Optuna's sampler for one trial of a search of as many `trials`."""
        raise NotImplementedError


@register("sampler", "random")
class Random(Sampler):
    """Independent draws (Bergstra and Bengio 2012)."""

    def build(self, seed: int, trials: int) -> BaseSampler:
        """See `Sampler.build`."""
        from optuna.samplers import RandomSampler

        return RandomSampler(seed)


@register("sampler", "grid")
class Grid(Sampler):
    """Every point once; a float needs a `step`. What is not searched under a `when` is not repeated."""

    exhaustive = True


@register("sampler", "tpe")
class TPE(Sampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011; for several objectives, Ozaki et al. 2020)."""

    class Config(PartConfig):
        """Parameters of the Parzen estimator."""

        n_startup_trials: PositiveInt = 10
        "Settings that are drawn at random first."
        n_ei_candidates: PositiveInt = 24
        "Candidates of which the one with the highest expected improvement is taken."
        multivariate: OnOff = False
        "Whether parameters are modelled together."
        group: OnOff = False
        "With multivariate: whether those that are searched under the same conditions make a group."

    config: Config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """See `Sampler.build`."""
        from optuna.samplers import TPESampler

        return TPESampler(
            n_startup_trials=self.config.n_startup_trials,
            n_ei_candidates=self.config.n_ei_candidates,
            multivariate=self.config.multivariate,
            group=self.config.group,
            constant_liar=True,
            seed=seed,
        )


@register("sampler", "gp")
class GaussianProcess(Sampler):
    """Gaussian process with expected improvement (Jones et al. 1998)."""

    class Config(PartConfig):
        """Parameters of the Gaussian process."""

        n_startup_trials: PositiveInt = 10
        "Settings that are drawn at random first."
        deterministic_objective: OnOff = False
        "Whether the objective has no noise."

    config: Config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """See `Sampler.build`."""
        from optuna.samplers import GPSampler

        return GPSampler(
            seed=seed,
            n_startup_trials=self.config.n_startup_trials,
            deterministic_objective=self.config.deterministic_objective,
            warn_independent_sampling=False,
        )


@register("sampler", "nsga2")
class NSGA2(Sampler):
    """Evolution by non-dominated sorting, for several objectives (Deb et al. 2002)."""

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

    config: Config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """See `Sampler.build`."""
        from optuna.samplers import NSGAIISampler

        return NSGAIISampler(
            population_size=self.config.population_size or max(4, trials // 5),
            mutation_prob=self.config.mutation_prob,
            crossover_prob=self.config.crossover_prob,
            swapping_prob=self.config.swapping_prob,
            seed=seed,
        )


@register("sampler", "qmc")
class QuasiMonteCarlo(Sampler):
    """A sequence of low discrepancy: fills the space more evenly than random draws (Sobol' 1967)."""

    class Config(PartConfig):
        """Parameters of the sequence."""

        sequence: Literal["sobol", "halton"] = "sobol"
        "Which sequence."

    config: Config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """See `Sampler.build`."""
        from optuna.samplers import QMCSampler

        return QMCSampler(
            qmc_type=self.config.sequence,
            scramble=False,
            seed=seed,
            warn_asynchronous_seeding=False,
            warn_independent_sampling=False,
        )


@register("sampler", "cmaes")
class CMAES(Sampler):
    """Covariance matrix adaptation, for numbers (Hansen and Ostermeier 2001); choices are drawn at random."""

    several = False

    class Config(PartConfig):
        """Parameters of the evolution."""

        n_startup_trials: PositiveInt = 1
        "Settings that are drawn at random first."
        sigma0: PositiveFloat | None = None
        "Initial step, as a share of the ranges; not given: a sixth."

    config: Config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """See `Sampler.build`."""
        from optuna.samplers import CmaEsSampler

        return CmaEsSampler(
            n_startup_trials=self.config.n_startup_trials,
            sigma0=self.config.sigma0,
            seed=seed,
            warn_independent_sampling=False,
        )
