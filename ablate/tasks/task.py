"""The contract of a task: its data, the shapes that it asks of a model, the measure of an answer.

A task is a part of the slot `task`, built from its config alone; data are drawn from the seed that each call
names, never from global state:

    @register("task", "parity")
    class Parity(Task):
        class Config(PartConfig):
            seq_len: PositiveInt = 8
            "T."

        def __init__(self, config: Config) -> None: ...

Beside its metrics it says how they may be judged: `outcome` and `sampling`, in the class or its constructor. A config
that breaks a rule between fields raises `Invalid` from the constructor, with paths from the task.
B is the number of examples of a batch, T the length, F the width of a feature vector.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ablate.base.errors import NOT_GIVEN, Gather
from ablate.core.metric import Metric, Outcome, Sampling
from ablate.core.signature import Signature

Split = Literal["validation", "test"]
Topology = Literal["encoder", "decoder", "encoder_decoder"]
IGNORED = -100  # The target of a position at which nothing is asked.


@dataclass(slots=True)
class Batch:
    """Examples that are processed together; every tensor has a row for each."""

    inputs: Tensor
    "Tokens (B, T), int64, or feature vectors (B, T, F), float32."
    targets: Tensor
    "(B), or (B, T) where every position is read out, `IGNORED` where nothing is asked; int64, or float32 numbers."
    mask: Tensor | None = None
    "Boolean, (B, 1, T, T) or, for every query alike, (B, 1, 1, T), True where a query may attend; None: everywhere."
    source: Tensor | None = None
    "The sequence that a decoder reads: tokens (B, S) or vectors (B, S, F); None without one."
    source_mask: Tensor | None = None
    "As `mask`, of the source: (B, 1, S, S) or (B, 1, 1, S)."
    segments: Tensor | None = None
    "Which segment each position belongs to, (B, T), int64; None where the task has none."

    @classmethod
    def of(cls, *arrays: NDArray[Any], **named: NDArray[Any]) -> Batch:
        """The batch whose fields are these arrays."""
        return cls(
            *map(torch.from_numpy, arrays), **{name: torch.from_numpy(of) for name, of in named.items()}
        )

    def __len__(self) -> int:
        return len(self.targets)

    def model_inputs(self) -> dict[str, Tensor | None]:
        """The arguments of a model's forward pass."""
        return {
            "inputs": self.inputs,
            "mask": self.mask,
            "source": self.source,
            "source_mask": self.source_mask,
            "segments": self.segments,
        }

    def tensors(self) -> list[Tensor | None]:
        """The value of every field, in order."""
        return [getattr(self, field.name) for field in fields(self)]

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """A batch of the same fields, each of them changed."""
        return Batch(*(None if x is None else change(x) for x in self.tensors()))  # type: ignore[arg-type]

    def __getitem__(self, rows: slice | Tensor) -> Batch:
        return self.each(lambda tensor: tensor[rows])

    def chunks(self, size: int) -> Iterator[Batch]:
        """The same examples in order, at most `size` at a time."""
        return (self[start : start + size] for start in range(0, len(self), size))


Integers = NDArray[np.int64]
Outcomes = Mapping[str, NDArray[np.float32]]  # What `measure` gives for every example of a split, (N).
Constants = Mapping[str, Mapping[str, float]]  # Name → metric → value.
Slices = Mapping[str, Mapping[str, Any]]  # Name → field of the config → value.


class Task(ABC):
    """Data, loss and metrics; subclasses set the attributes in their constructor."""

    config: Any
    "The task's own config."
    signature: Signature
    "Shapes that go in and come out of the model."
    topologies: tuple[Topology, ...]
    "The topologies that can answer the task."
    metrics: Mapping[str, Metric]
    "Metrics of a split (`summarise`); the first is the one that studies judge by default."
    decoded: Mapping[str, Metric] = MappingProxyType({})
    "Metrics of the test split that `decode` gives."
    chance_loss: float
    "The loss of guessing without looking at the input."
    outcome: Outcome
    """graded: a run may end anywhere between guessing and perfect. all_or_nothing: it finds the solution, or stays
    near guessing. It decides how runs are compared, and has no default."""
    sampling: Sampling
    "Where the test examples come from."
    recommended: Mapping[str, Any] = MappingProxyType({})
    """Sections of a study, `task`, `model` and `training`, at which a small baseline learns it on one core; its steps
    are those that this takes."""
    support: float = math.inf
    "Number of distinct examples that the task can draw, for training and evaluation together."

    def check_declared(self) -> None:
        """Raises `Invalid` for what a task must say and this one does not."""
        name, allowed = type(self).__name__, get_args(Outcome)
        with Gather() as at:
            given = getattr(self, "outcome", NOT_GIVEN)
            rule = (
                f"class {name} must declare `outcome`: {allowed[0]} where a run may end anywhere between guessing "
                f"and perfect, {allowed[1]} where it finds the solution or stays near guessing"
            )
            hint = f'Write `outcome = "{allowed[0]}"` or `outcome = "{allowed[1]}"` into the class'
            at.refuse(given not in allowed, "", rule, given, ", ".join(allowed), hint)
            rule = f"class {name} must declare `sampling`: where its test examples come from, and how many there are"
            hint = 'Write `self.sampling = Sampling("fresh", NUMBER OF TEST EXAMPLES)` into its constructor'
            at.refuse(not isinstance(getattr(self, "sampling", None), Sampling), "", rule, hint=hint)

    @abstractmethod
    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Endless batches of `batch_size` examples each, on `device`."""

    @abstractmethod
    def split(self, seed: int, name: Split, device: str) -> Batch:
        """All examples of the validation or the test split, on `device`."""

    @abstractmethod
    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """The mean loss of a batch, a scalar that gradients flow through."""

    @abstractmethod
    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Each metric's value for each example, (B); a split's metric is the mean over its examples."""

    def coverage(self, draws: int) -> float | None:
        """Share of the test examples that `draws` training examples are expected to contain; None where unknown."""
        return None

    def cautions(self) -> Iterable[str]:
        """What limits every model on the task, for plans and reports."""
        return ()

    def constants(self) -> Constants:
        """What claims may compare a variant with, `without_order` or `ngram` → metric → its value.

        One that begins with `without_` is the best that a model can do which lacks an ability.
        """
        return {}

    def summarise(self, found: Outcomes) -> dict[str, float]:
        """The metrics of a split from those of its examples: each one's mean, summed in float64."""
        return {name: float(np.mean(values, dtype=np.float64)) for name, values in found.items()}

    def decode(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        """What only the model's own output shows, for each test example, (B): greedy decoding, for instance."""
        return {}

    def slices(self) -> Slices:
        """Evaluation slice → the fields of the config that differ where its test examples are drawn."""
        return {}

    def sliced(self, name: str) -> Task:
        """The task whose test split is a slice."""
        return self.config.model_copy(update=dict(self.slices()[name])).build()

    def for_topology(self, topology: Topology) -> Task:
        """Returns the task laid out for a topology; here, itself.

        A decoder may read in one sequence what others read in two.
        """
        return self

    def digests(self, seed: int) -> Mapping[str, str]:
        """A digest of each finite split, for the record; here, training data are endless."""
        return {name: digest(self.split(seed, name, "cpu")) for name in get_args(Split)}


def digest(batch: Batch) -> str:
    """16 hexadecimal digits that tell one batch from another: of its types, shapes and values."""
    code = hashlib.blake2b(digest_size=8)
    for tensor in batch.tensors():
        if tensor is not None:
            array = np.ascontiguousarray(tensor.cpu().numpy())
            code.update(f"{array.dtype.str}{array.shape}".encode())
            code.update(array.tobytes())
    return code.hexdigest()


def example_stream(chunks: Iterator[Batch], batch_size: int) -> Iterator[Batch]:
    """Cuts an endless sequence of examples, given in chunks of any size, into batches.

    The batches are the same whatever the sizes of the chunks. All chunks have the same fields, each with a row
    for every example.
    """
    waiting: list[Batch] = []
    for chunk in chunks:
        waiting.append(chunk)
        count = sum(map(len, waiting))
        if count >= batch_size:
            columns = zip(*(part.tensors() for part in waiting), strict=True)
            joined = Batch(*(None if column[0] is None else torch.cat(column) for column in columns))  # type: ignore[arg-type]
            whole = count - count % batch_size
            yield from joined[:whole].chunks(batch_size)
            waiting = [joined[whole:]]


class Classification(Task):
    """A task whose logits are (B, num_outputs) and whose targets are classes (B)."""

    topologies: tuple[Topology, ...] = ("encoder", "decoder")

    def set_metrics(self, *, num_classes: int, num_test: int, solved: float) -> None:
        """Sets `metrics` and `chance_loss` for classes that are equally likely.

        num_classes: classes that a guess chooses from (at most `num_outputs`).
        num_test: N, examples of the test split; an accuracy moves in steps of 1/N.
        solved: the accuracy at which the task counts as learned.
        """
        self.chance_loss = math.log(num_classes)
        self.metrics = {
            "accuracy": Metric("max", 1 / num_test, floor=1 / num_classes, ceiling=1.0, solved=solved),
            "loss": Metric("min", floor=self.chance_loss, ceiling=0.0),
        }

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats."""
        return functional.cross_entropy(logits, batch.targets)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """`accuracy`: 1 where the largest logit is the target's; `loss`: cross-entropy in nats."""
        return {
            "accuracy": (logits.argmax(-1) == batch.targets).to(torch.float32),
            "loss": functional.cross_entropy(logits, batch.targets, reduction="none"),
        }
