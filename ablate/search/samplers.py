"""Samplers, which choose the next setting of a search: those of Optuna.

Parts of the slot `sampler`, each with the arguments that its class in Optuna has, as those of `pruner` have. A sampler
has a seed: asked the same questions and told the same results, it gives the same settings.
"""

from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveInt

from ablate.base.errors import Gather
from ablate.base.quiet import quiet
from ablate.base.registry import OnOff, PartConfig, register

Probability = Annotated[float, Field(ge=0, le=1)]
# The number of seeds of numpy's older generators, which Optuna uses.
NUM_SEEDS = 2**32


class Wrapped:
    """Base of parts that wrap a class of Optuna's, whose arguments are the parameters of the part."""

    name: ClassVar[str]
    # The class, below `optuna`.
    wraps: ClassVar[str]

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

    # Whether it can search for several objectives.
    several: ClassVar[bool] = True
    # The least number of numeric parameters without a condition; with fewer it would draw at random.
    numbers: ClassVar[int] = 0
    # Whether it visits every point of the space once; then what `build` returns is asked nothing.
    exhaustive: ClassVar[bool] = False

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
        n_startup_trials: PositiveInt = 10
        "Settings that are drawn at random first."
        deterministic_objective: OnOff = False
        "Whether the objective has no noise."


@register("sampler", "nsga2")
class NSGA2(Sampler):
    """Evolution by non-dominated sorting, for several objectives (Deb et al. 2002)."""

    wraps = "samplers.NSGAIISampler"

    class Config(PartConfig):
        population_size: Annotated[int, Field(ge=2)] | None = None
        "Settings of a generation; not given: a fifth of the trials, at least 4."
        mutation_prob: Probability | None = None
        "Of each parameter; not given: one over their number."
        crossover_prob: Probability = 0.9
        "Whether a setting has two parents."
        swapping_prob: Probability = 0.5
        "Of each parameter, between the parents."

    def build(self, seed: int, trials: int) -> Any:
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
        sequence: Literal["sobol", "halton"] = "sobol"
        "Which sequence; sobol is best for trials that are a power of two, and one for the first."

    def arguments(self) -> dict[str, Any]:
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
        n_startup_trials: PositiveInt = 1
        "Settings that are drawn at random first."
        popsize: Annotated[int, Field(ge=3)] | None = None
        "Settings of a generation; not given: 4 and three times the logarithm of the number of parameters."


def check_sampler(part: Sampler, name: str, objectives: int, numbers: int | None) -> None:
    """Raises `Invalid` for a sampler that cannot search for so many objectives, or over so few numbers."""
    with Gather() as at:
        at.refuse(
            objectives > 1 and not part.several,
            "",
            f"looks for one objective; the search has {objectives}",
            name,
            hint="Choose another sampler, or one objective",
        )
        at.refuse(
            numbers is not None and numbers < part.numbers,
            "",
            f"needs {part.numbers} numbers that are always searched; the space has {numbers}",
            name,
            hint="Choose another sampler",
        )
