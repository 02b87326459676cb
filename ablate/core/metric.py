"""Metrics, sizes and costs of a config, known before it is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Direction = Literal["max", "min"]
Outcome = Literal["graded", "all_or_nothing"]
Pool = Literal["fresh", "held_out", "resplit"]

# The metric of a record that a stress grid is summed up by; alone it says how well a run ended, not how steadily.
HELD_OUT = "test_loss"


@dataclass(frozen=True)
class Metric:
    """Direction, range and resolution of a number by which trials are judged."""

    direction: Direction  # `max`: more is better.
    resolution: float = 0.0  # The smallest possible difference: 1/N for an accuracy over N examples.
    floor: float | None = None  # The value of guessing (for `max`), or the worst meaningful value.
    ceiling: float | None = None  # The best possible value.
    # The threshold at which the task counts as learned; None where the metric does not say.
    solved: float | None = None
    margin: float | None = None  # The smallest difference of interest, where the study does not say.

    @property
    def span(self) -> float | None:
        """The distance between floor and ceiling; None where the metric lacks either."""
        return None if self.ceiling is None or self.floor is None else abs(self.ceiling - self.floor)


def sliced(metric: str, name: str) -> str:
    """Returns the name of a metric on an evaluation slice: `accuracy@far`."""
    return f"{metric}@{name}"


def plain(metric: str) -> str:
    """Returns the name of a metric without its slice."""
    return metric.partition("@")[0]


def validated(metric: str) -> str:
    """Returns the name under which runs report a metric on validation data, which has no slices."""
    return f"validation_{plain(metric)}"


class Directed(Protocol):
    """A number with a direction: a metric, or an objective."""

    @property
    def direction(self) -> Direction:
        """`max` where more of it is better, `min` where less is."""


def sign(metric: Directed) -> float:
    """Returns 1 where more of a metric, or an objective, is better, and −1 where less is."""
    return 1.0 if metric.direction == "max" else -1.0


def undominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns whether each point is on the Pareto front, shape (num_points,).

    points: shape (num_points, num_objectives); more is better.
    """
    import numpy as np

    is_undominated = []
    for point in points:
        is_as_good = (points >= point).all(axis=1)
        is_better_somewhere = (points > point).any(axis=1)
        is_undominated.append(not (is_as_good & is_better_somewhere).any())
    return np.array(is_undominated, bool)


@dataclass(frozen=True)
class Sampling:
    """The way in which a task's examples are drawn, and the numbers of examples."""

    # fresh: a generator draws them anew for every seed. held_out: they are the same for every seed, and no seed
    # trains on them. resplit: every seed draws them, and its training examples, from one finite pool.
    pool: Pool = "fresh"
    test: int = 0  # Number of test examples that were drawn independently: sequences, not their tokens.
    train: int | None = None  # Number of training examples of a finite pool, without those for validation.
    validation: int | None = None  # Number of validation examples; None where the task does not say.


FRESH = Sampling()
FREE = ("_seconds", "_per_second", "_memory")  # Ends of the names of metrics that may differ between repeats.


@dataclass(frozen=True)
class Description:
    """The metrics, sizes and costs of a config, known without training it."""

    metrics: Mapping[str, Metric]
    # Number of trainable parameters by part.
    parameters_by_part: Mapping[str, int] = field(default_factory=dict)
    # Floating-point operations of the matrix products of one forward pass on one example; None where not known.
    flops: int | None = None
    training_flops: int | None = None  # The same of a forward and a backward pass.
    # What a forward pass on one example computes beside the matrix products: function → numbers that go through it, but
    # `fft_flops` → floating-point operations.
    beside: Mapping[str, int] = field(default_factory=dict)
    # Training examples that a whole training run processes; None where that is not known.
    examples: int | None = None
    # Steps at which a trial reports metrics on validation data, the last included; None where that is not known.
    reports: Sequence[int] | None = None
    # Validation examples of each report, and the most examples that a whole training forwards without training on them;
    # None where that is not known.
    validation: int | None = None
    forwarded: int | None = None
    # all_or_nothing: a run either finds the solution or stays near guessing; graded: it may end anywhere between.
    outcome: Outcome = "graded"
    sampling: Sampling = FRESH  # How the test data are drawn.
    parallel: bool = True  # Whether several trials run at once unless the user says how many.
    # What claims may compare a variant with, such as guessing → metric → its value.
    constants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # Metrics of a record that tell how steadily a run trained, and that verdicts may be about; a record lacks those of
    # parts that its model does not have.
    stability: Mapping[str, Metric] = field(default_factory=dict)

    @property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(self.parameters_by_part.values())

    @property
    def compute(self) -> int | None:
        """FLOPs of the whole training, forward and backward; None where they are not known."""
        flops, examples = self.training_flops, self.examples
        return None if flops is None or examples is None else flops * examples


def size_of(description: Description | None) -> dict[str, int | None]:
    """Returns the numbers of parameters and FLOPs of a model by name, as records keep them; none for None."""
    if description is None:
        return {}
    return {
        "parameters": description.parameters,
        "flops": description.flops,
        "training_flops": description.training_flops,
        "compute": description.compute,
    }
