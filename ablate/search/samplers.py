"""Samplers, which choose the next setting of a search: those of Optuna.

Parts of the slot `sampler`: four with arguments that are described here, and every other of Optuna's by the name of its
class. A sampler has a seed: asked the same questions and told the same results, it gives the same settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, PositiveInt

from ablate.base.errors import Invalid
from ablate.base.registry import OnOff, PartConfig, register
from ablate.search.classes import OptunaSlot, check_packages, classes_in, refusing

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.samplers import BaseSampler

    # Asks a trial for a setting.
    Suggest = Callable[[Trial], object]

Probability = Annotated[float, Field(ge=0, le=1)]
# The number of seeds of numpy's older generators, which Optuna uses.
NUM_SEEDS = 2**32
# Sampler → the least number of numeric parameters without a condition; with fewer it would draw at random.
LEAST_NUMBERS = {"CmaEsSampler": 2}


class Sampler:
    """Base of all samplers."""

    name: ClassVar[str]
    # Whether it visits every point of the space once; then what `build` returns is asked nothing.
    exhaustive: ClassVar[bool] = False

    def __init__(self, config: Any) -> None:
        self.config = config

    def build(self, seed: int, trials: int) -> BaseSampler:
        """Returns Optuna's sampler for a search of so many `trials`; `seed` is below `NUM_SEEDS`."""
        raise NotImplementedError

    def check(self, *, objectives: int, numbers: int | None, suggest: Suggest | None) -> None:
        """Raises `Invalid` where it cannot search for so many objectives, or over the space.

        `numbers`: how many numeric parameters are always searched; `suggest` asks a trial for a setting; both are None
        where the space is not known.
        """


@register("sampler", "random")
class Random(Sampler):
    """Independent draws (Bergstra and Bengio 2012)."""

    def build(self, seed: int, trials: int) -> BaseSampler:
        from optuna.samplers import RandomSampler

        return RandomSampler(seed=seed)


@register("sampler", "grid")
class Grid(Random):
    """Every point once; a float needs a `step`. What is not searched under a `when` is not repeated."""

    exhaustive = True


@register("sampler", "tpe")
class TPE(Sampler):
    """Tree-structured Parzen estimator (Bergstra et al. 2011).

    Multivariate as in Falkner et al. 2018; for several objectives, Ozaki et al. 2020.
    """

    class Config(PartConfig):
        n_startup_trials: PositiveInt = 10
        "Settings that are drawn at random first."
        n_ei_candidates: PositiveInt = 24
        "Candidates of which the one with the highest expected improvement is taken."
        multivariate: OnOff | None = None
        "Whether parameters are modelled together; not given: with one objective."
        group: OnOff = False
        """Whether those that are searched under the same conditions are modelled together; else only those that are
        always searched are. Implies multivariate."""

    def build(self, seed: int, trials: int) -> BaseSampler:
        from optuna.samplers import TPESampler

        return TPESampler(
            n_startup_trials=self.config.n_startup_trials,
            n_ei_candidates=self.config.n_ei_candidates,
            multivariate=self.config.group or self.config.multivariate,
            group=self.config.group,
            # The other settings of a batch count as bad, so that they are not drawn again.
            constant_liar=True,
            seed=seed,
        )


@register("sampler", "nsga2")
class NSGA2(Sampler):
    """Evolution by non-dominated sorting, for several objectives (Deb et al. 2002)."""

    class Config(PartConfig):
        population_size: Annotated[int, Field(ge=2)] | None = None
        "Settings of a generation; not given: a fifth of the trials, at least 4."
        mutation_prob: Probability | None = None
        "Of each parameter; not given: one over their number."
        crossover_prob: Probability = 0.9
        "Whether a setting has two parents."
        swapping_prob: Probability = 0.5
        "Of each parameter, between the parents."

    def build(self, seed: int, trials: int) -> BaseSampler:
        from optuna.samplers import NSGAIISampler

        return NSGAIISampler(
            population_size=self.config.population_size or max(4, trials // 5),
            mutation_prob=self.config.mutation_prob,
            crossover_prob=self.config.crossover_prob,
            swapping_prob=self.config.swapping_prob,
            seed=seed,
        )


class NamedSampler(Sampler):
    """Base of the samplers that a study names as Optuna does."""

    slot: ClassVar[str] = "sampler"

    def build(self, seed: int, trials: int) -> BaseSampler:
        sampler: BaseSampler = self.config.make(seed=seed)
        return sampler

    def check(self, *, objectives: int, numbers: int | None, suggest: Suggest | None) -> None:
        """Makes the sampler, and asks it for its first setting."""
        import optuna

        check_packages(self.name)
        least = LEAST_NUMBERS.get(self.name, 0)
        if numbers is not None and numbers < least:
            rule = f"needs {least} numbers that are always searched; the space has {numbers}"
            raise Invalid("", rule, self.name, hint="Choose another sampler")
        with refusing(self.config):
            study = optuna.create_study(sampler=self.build(0, 1), directions=["minimize"] * objectives)
            if suggest is not None:
                suggest(study.ask())


def _classes() -> Mapping[str, type]:
    """Returns the samplers of Optuna, by name."""
    import optuna

    return classes_in(optuna.samplers, optuna.samplers.BaseSampler)


# `sampler:` of a study.
SAMPLERS = OptunaSlot(
    "sampler",
    noun="a class of optuna.samplers",
    classes=_classes,
    base=NamedSampler,
    unusable=("GridSampler", "PartialFixedSampler"),  # Their required arguments are objects.
)
