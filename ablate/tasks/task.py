"""The contract of a task: its data, the shapes that it asks of a model, its loss and its metrics.

A task is a part of the slot `task`, built from its config alone; data are drawn from the seed that each call
names, never from global state:

    @register("task", "parity")
    class Parity(Task):
        class Config(PartConfig):
            seq_len: PositiveInt = 8
            "T."

        config: Config

        def __init__(self, config: Config) -> None: ...

Beside its metrics it declares how they may be judged: `outcome` and `sampling`, in the class or its constructor. A
config that breaks a rule between fields raises `Invalid` from the constructor, with paths from the task.

Shapes: B is the number of examples of a batch, T the length of a sequence, S the length of a source, F the width of a
feature vector, N the number of examples of a split.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ablate.base.errors import NOT_GIVEN, Gather
from ablate.base.registry import PartConfig
from ablate.core.metric import Metric, Outcome, Sampling
from ablate.core.signature import Signature

Split = Literal["validation", "test"]
Topology = Literal["encoder", "decoder", "encoder_decoder"]
IGNORED = -100  # The target of a position at which nothing is asked.


@dataclass(slots=True)
class Batch:
    """Examples that are processed together; every tensor has a row for each example, and a missing tensor is None."""

    inputs: Tensor
    "Tokens (B, T), int64, or feature vectors (B, T, F), float32."
    targets: Tensor
    "(B), or (B, T) where every position is read out, `IGNORED` where nothing is asked; int64, or float32 numbers."
    mask: Tensor | None = None
    "Boolean, (B, 1, T, T) or, for every query alike, (B, 1, 1, T), True where a query may attend; None: everywhere."
    source: Tensor | None = None
    "The sequence that a decoder reads: tokens (B, S) or vectors (B, S, F); None without one."
    source_mask: Tensor | None = None
    "The mask of the source: (B, 1, S, S) or (B, 1, 1, S); None: everywhere."
    segments: Tensor | None = None
    "The number of the segment to which each position belongs, (B, T), int64; None where the task has none."

    @classmethod
    def of(cls, *arrays: NDArray[Any], **named: NDArray[Any]) -> Batch:
        """Returns a batch on the CPU from NumPy arrays, given in the order of the fields or by name; its tensors share
        the memory of the arrays.
        """
        in_order = [torch.from_numpy(array) for array in arrays]
        by_name = {name: torch.from_numpy(array) for name, array in named.items()}
        return cls(*in_order, **by_name)

    def __len__(self) -> int:
        return len(self.targets)

    def model_inputs(self) -> dict[str, Tensor | None]:
        """Returns the arguments of a model's forward pass by name: all fields but `targets`, missing ones as None."""
        return {
            "inputs": self.inputs,
            "mask": self.mask,
            "source": self.source,
            "source_mask": self.source_mask,
            "segments": self.segments,
        }

    def tensors(self) -> list[Tensor | None]:
        """Returns the value of every field, in the order of the fields, missing ones as None."""
        return [self.inputs, self.targets, self.mask, self.source, self.source_mask, self.segments]

    def each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Returns a new batch in which a function has changed every tensor; a missing one stays None."""
        changed = [None if tensor is None else change(tensor) for tensor in self.tensors()]
        return Batch(*changed)  # type: ignore[arg-type]

    def to(self, device: str) -> Batch:
        """Returns a new batch with every tensor on `device`."""
        return self.each(lambda tensor: tensor.to(device))

    def __getitem__(self, rows: slice | Tensor) -> Batch:
        return self.each(lambda tensor: tensor[rows])

    def chunks(self, size: int) -> Iterator[Batch]:
        """Yields the batch's examples in order, as batches of `size` examples; the last batch may be smaller."""
        return (self[start : start + size] for start in range(0, len(self), size))


class StepwiseModel(Protocol):
    """A model that gives the logits of one position at a time, for greedy decoding."""

    @property
    def source_embedding(self) -> object | None:
        """The embedding of the source; None where the model reads no source."""

    def encode(self, source: Tensor | None, mask: Tensor | None, /) -> Any:
        """Returns the encoded source, which `step` takes as `memory`. Raises `ValueError` where `source` or the model's
        `source_embedding` is None.
        """

    def step(self, inputs: Tensor, start: int, state: Any, memory: Any, /) -> tuple[Tensor, Any]:
        """Returns the logits at one more position, (B, num_outputs), and the new state;
        `inputs` (B, 1) are those at the position `start`.

        state: what the step before returned, None at first. memory: what `encode` returned, None without a source.
        """


Integers = NDArray[np.int64]
Outcomes = Mapping[str, NDArray[np.float32]]  # The value of each metric for every example of a split, (N).
Constants = Mapping[str, Mapping[str, float]]  # Name → metric → value.
Slices = Mapping[str, Mapping[str, Any]]  # Name → field of the config → value.


class Task(ABC):
    """Base class of tasks: data, loss and metrics. A subclass sets the attributes in its body or its constructor."""

    config: PartConfig
    "The parameters of the task; a subclass declares its own type."
    signature: Signature
    "The shapes of a model's inputs and outputs."
    topologies: tuple[Topology, ...]
    "The topologies that can answer the task."
    metrics: Mapping[str, Metric]
    "The metrics of a split (`summarise`); the first is the one that studies judge by default."
    decoded: Mapping[str, Metric] = MappingProxyType({})
    "The metrics of the test split that `decode` gives."
    chance_loss: float
    "The loss of guessing without looking at the input."
    outcome: Outcome
    """graded: a run may end anywhere between guessing and perfect. all_or_nothing: it finds the solution, or stays
    near guessing. It decides how runs are compared, and has no default."""
    sampling: Sampling
    "The pool that test examples come from, and the sizes of the splits."
    recommended: Mapping[str, Any] = MappingProxyType({})
    """Sections of a study, `task`, `model` and `training`, at which a small baseline learns the task on one core; their
    `steps` are the steps that this takes."""
    support: float = math.inf
    "Number of distinct examples that the task can draw, for training and evaluation together."

    def check_declared(self) -> None:
        """Raises `Invalid` unless the task's `outcome` is `graded` or `all_or_nothing`, and its `sampling` a
        `Sampling`.
        """
        name = type(self).__name__
        allowed = get_args(Outcome)
        with Gather() as at:
            # The contract has no default: a class that declares neither lacks both attributes.
            outcome = getattr(self, "outcome", NOT_GIVEN)
            rule = (
                f"class {name} must declare `outcome`: {allowed[0]} where a run may end anywhere between guessing "
                f"and perfect, {allowed[1]} where it finds the solution or stays near guessing"
            )
            hint = f'Write `outcome = "{allowed[0]}"` or `outcome = "{allowed[1]}"` into the class'
            at.refuse(outcome not in allowed, "", rule, given=outcome, allowed=", ".join(allowed), hint=hint)
            sampling = getattr(self, "sampling", NOT_GIVEN)
            rule = f"class {name} must declare `sampling`: where its test examples come from, and how many there are"
            hint = 'Write `self.sampling = Sampling("fresh", NUMBER OF TEST EXAMPLES)` into its constructor'
            at.refuse(not isinstance(sampling, Sampling), "", rule, hint=hint)

    @abstractmethod
    def train_batches(self, seed: int, batch_size: int, device: str) -> Iterator[Batch]:
        """Returns endless training batches of `batch_size` examples each, on `device`."""

    @abstractmethod
    def split(self, seed: int, name: Split, device: str) -> Batch:
        """Returns all examples of the validation or the test split as one batch, on `device`."""

    @abstractmethod
    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Returns the mean loss of a batch, a scalar that gradients flow through."""

    @abstractmethod
    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns the value of each metric by name for each example, (B);
        `summarise` makes a split's metrics of them.
        """

    def coverage(self, draws: int) -> float | None:
        """Returns the expected share of test examples, 0 to 1, that are among `draws` training examples; None, as here,
        where the share is unknown.
        """
        return None

    def cautions(self) -> Iterable[str]:
        """Returns sentences, for plans and reports, on what limits every model on the task; here, none."""
        return ()

    def constants(self) -> Constants:
        """Returns values with which claims may compare a variant: name of the constant → metric → value; here, none.

        Constants are called `without_order` or `ngram`, for instance. One that begins with `without_` is the best value
        that a model can reach which lacks an ability.
        """
        return {}

    def summarise(self, outcomes: Outcomes) -> dict[str, float]:
        """Returns the metrics of a split by name: the mean over its examples of what `measure` and `decode` gave,
        (N), in float64.
        """
        return {name: float(np.mean(values, dtype=np.float64)) for name, values in outcomes.items()}

    def decode(self, model: StepwiseModel, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics of a test batch by name, each (B), for which the model has to write the answer itself, by
        greedy decoding; here, none.
        """
        return {}

    def slices(self) -> Slices:
        """Returns the fields of the config that differ in each evaluation slice: slice → field → value; here, none."""
        return {}

    def sliced(self, name: str) -> Task:
        """Returns a new task, whose test split is the slice called `name`,
        from the config with the fields of this slice.
        """
        return self.config.model_copy(update=dict(self.slices()[name])).build()

    def for_topology(self, topology: Topology) -> Task:
        """Returns the task with its examples laid out for a topology; here, the task itself.

        A decoder may read in one sequence what others read in two.
        """
        return self

    def digests(self, seed: int) -> Mapping[str, str]:
        """Returns a digest of each finite split by name, for the record;
        here `validation` and `test`, as training data are endless.
        """
        return {name: digest(self.split(seed, name, "cpu")) for name in get_args(Split)}


def digest(batch: Batch) -> str:
    """Returns 16 hexadecimal digits that identify a batch by the types, shapes and values of its tensors."""
    code = hashlib.blake2b(digest_size=8)
    for tensor in batch.tensors():
        if tensor is not None:
            array = np.ascontiguousarray(tensor.cpu().numpy())
            code.update(f"{array.dtype.str}{array.shape}".encode())
            code.update(array.tobytes())
    return code.hexdigest()


def example_stream(chunks: Iterator[Batch], batch_size: int) -> Iterator[Batch]:
    """Yields batches of `batch_size` examples each from an endless sequence of examples, given in chunks of any size.

    The batches are the same whatever the sizes of the chunks. All chunks have the same fields.
    """
    waiting: list[Batch] = []
    for chunk in chunks:
        waiting.append(chunk)
        num_waiting = sum(map(len, waiting))
        if num_waiting >= batch_size:
            examples = _joined(waiting)
            num_whole = num_waiting - num_waiting % batch_size
            yield from examples[:num_whole].chunks(batch_size)
            waiting = [examples[num_whole:]]


def _joined(batches: Sequence[Batch]) -> Batch:
    """Returns the examples of several batches, in their order, as one batch; each field must be missing in all batches
    or in none.
    """
    tensors = []
    for parts in zip(*[batch.tensors() for batch in batches], strict=True):
        tensors.append(None if parts[0] is None else torch.cat(parts))
    return Batch(*tensors)  # type: ignore[arg-type]


class Classification(Task):
    """A task that asks for one class per example: logits (B, num_outputs), targets (B)."""

    topologies: tuple[Topology, ...] = ("encoder", "decoder")

    def set_metrics(self, *, num_classes: int, num_test: int, solved: float) -> None:
        """Sets `metrics` (`accuracy`, `loss`) and `chance_loss` for classes that are equally likely.

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
        """Returns the mean cross-entropy of a batch in nats, a scalar, from logits (B, num_outputs)."""
        return functional.cross_entropy(logits, batch.targets)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics by name, each (B): `accuracy` is 1 where the largest logit is the target's, else 0; `loss` is
        the cross-entropy in nats.
        """
        return {
            "accuracy": (logits.argmax(-1) == batch.targets).to(torch.float32),
            "loss": functional.cross_entropy(logits, batch.targets, reduction="none"),
        }
