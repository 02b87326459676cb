"""The protocol between the harness and what it trains.

The driver, the store and the verdicts know nothing of sequence models: they know trials, events and records.
`ablate.training` is the built-in workload; a user's own training function is another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from ablate.core.metric import Description
from ablate.core.record import Record
from ablate.core.trial import Emit, Trial


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
