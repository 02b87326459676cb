"""The protocol between the harness and what it trains.

The driver, the store and the verdicts know nothing of sequence models: they know trials, events and records.
`ablate.training` is the built-in workload; a user's own training function is another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ablate.core.record import Record

Direction = Literal["max", "min"]
Checkpoint = Literal["none", "final", "best"]
"""Which weights of a trial are kept: those of the last step, or of the best evaluation on validation data."""


@dataclass(frozen=True)
class Metric:
    """What is known in advance of a number that trials are judged by."""

    direction: Direction
    "`max`: more is better."
    resolution: float = 0.0
    "The smallest step that the number can take: 1/N for an accuracy over N examples."
    floor: float | None = None
    "The value of guessing (for `max`), or the worst value that means anything."
    ceiling: float | None = None
    "The best value there is."
    solved: float | None = None
    "The threshold at which the task counts as learned; None where the metric does not say."


@dataclass(frozen=True)
class Description:
    """What a config is, known without training it."""

    metrics: Mapping[str, Metric]
    parameters_by_part: Mapping[str, int] = field(default_factory=dict)
    "Number of trainable parameters by part."
    flops: int | None = None
    "Floating-point operations of the matrix products of one forward pass on one example."
    training_flops: int | None = None
    "The same of a forward and a backward pass."
    examples: int | None = None
    "Training examples that a whole training run processes; None where that is not known."
    reports: Sequence[int] | None = None
    "Steps at which a trial reports metrics on validation data, the last included; None where that is not known."
    data_fixed: bool = False
    "The test data are the same for every seed, so that verdicts are conditional on them."

    @property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(self.parameters_by_part.values())

    @property
    def compute(self) -> int | None:
        """FLOPs of the whole training, forward and backward; None where they are not known."""
        if self.training_flops is None or self.examples is None:
            return None
        return self.training_flops * self.examples


@dataclass(frozen=True)
class Trial:
    """One training run to be made: everything that its result depends on."""

    id: str
    config: Mapping[str, Any]
    "As resolved: every default filled in."
    seed: int
    stream: str = ""
    "Names other initialisation and dropout streams: that of a placebo."
    time_limit: float | None = None
    "Seconds after which the driver ends it as failed."
    checkpoint: Checkpoint = "none"
    "The weights that its record shall hold."
    prunable: bool = False
    "It waits at each report for the word of the driver, which may end it."
    save_every: int | None = None
    "Steps between two states that it hands out; None: it hands out none."
    state: bytes | None = field(default=None, repr=False)
    "The last that it handed out before it was cut short: where it shall go on."


class Emit(Protocol):
    """How a workload tells the driver of a trial."""

    def __call__(self, step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
        """Reports progress; True asks the workload to stop early and return `pruned`.

        A `state` is all that the trial needs to go on from `step` to the same result, bit for bit. The driver
        keeps the last until the trial has finished.
        """


@dataclass(frozen=True)
class Evaluation:
    """What kept weights have been found to do."""

    metrics: Mapping[str, float]
    maps: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    "Attention weights (examples, H, T_q, T_k) of the first examples, by the part that has them; NaN at padding."
    attention: str = ""
    "Equal for two configs exactly when their attention is made of the same parts."


class Workload(Protocol):
    """Something that can be trained: registered with `@register("workload", NAME)`."""

    def load_parts(self) -> None:
        """Registers the parts that its schema may name."""

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        """The sections of a study that are its own: name → (type, default); `task` is the one `tasks` repeats."""

    def check(self, config: Mapping[str, Any]) -> None:
        """Raises `Invalid`, with paths from the root of the config, when `config` cannot be built."""

    def describe(self, config: Mapping[str, Any]) -> Description:
        """Parameters, FLOPs and metrics of a config."""

    def fingerprint(self, config: Mapping[str, Any]) -> str:
        """Equal for two configs exactly when they compute the same function from the same initial values."""

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """What else the result depends on: versions, device type, dtype; and on nothing else."""

    def irrelevant(self) -> tuple[str, ...]:
        """Paths of the config that cannot change the result (a device given as `auto`)."""

    def sources(self, config: BaseModel) -> list[Any]:
        """The functions and classes that train `config`, beside the parts that it names."""

    def train(self, trial: Trial, emit: Emit) -> Record:
        """Trains; the record needs its status, metrics, curves, arrays and data digests, the rest is added."""


@runtime_checkable
class KeepsWeights(Protocol):
    """A workload that can do more: it honours `Trial.checkpoint`, and evaluates what was kept."""

    def check_evaluation(self, config: Mapping[str, Any], task: Mapping[str, Any]) -> None:
        """Raises `Invalid`, with paths from the root of the config, when its weights cannot do another `task`."""

    def evaluate(self, trial: Trial, weights: bytes, task: Mapping[str, Any]) -> Evaluation:
        """What the kept weights of `trial` do on the test split of `task`: the study's own, or another."""


@runtime_checkable
class Resumes(Protocol):
    """A workload that honours `Trial.save_every` and `Trial.state`."""

    resumes: bool


@runtime_checkable
class CountsParameters(Protocol):
    """A workload that counts parameters at less cost than it describes all: matching asks for them often."""

    def parameters(self, config: Mapping[str, Any]) -> int:
        """`describe(config).parameters`."""


@runtime_checkable
class Timed(Protocol):
    """A workload whose training is a number of steps that take equally long."""

    steps_path: str
    "Where its config says how many."

    def timed(self, config: Mapping[str, Any], steps: int) -> Mapping[str, Any]:
        """`config` for a training of `steps` steps that is timed: with as little as can be beside the steps."""
