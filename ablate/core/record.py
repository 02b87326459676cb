"""The record of one finished trial."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ablate.core.metric import plain, validated
from ablate.core.trial import identified

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ablate.core.trial import Trial

Status = Literal["completed", "diverged", "pruned", "failed"]

_NO_MEMORY = ("memoryerror", "out of memory", "outofmemory", "not enough memory", "allocate memory")


def lost_to_its_variant(status: str, reason: str) -> bool:
    """Returns whether a trial failed by lack of time or memory.

    That is an outcome of what was trained, as divergence is.
    """
    lacked_time = reason.startswith("time limit of")
    lacked_memory = any(words in reason.lower() for words in _NO_MEMORY)
    return status == "failed" and (lacked_time or lacked_memory)


def outcome(status: str, reason: str) -> str:
    """Returns the status with its reason, which may begin with the status already: `diverged: loss …`."""
    if reason.startswith(f"{status}: "):
        return reason
    return f"{status}: {reason}"


def why(status: str, reason: str) -> str:
    """Returns the reason without the status that it may begin with."""
    return reason.removeprefix(f"{status}: ")


# Keys in the environment of a record of a user's own code.
CODE = "code"
"""The name of the frozen copy of the code."""
INPUTS = "inputs"
"""A digest of all that the id stands for beside the config and the code."""
STOPS = "stops_the_study"
"""True where any further trial of the study would fail for the same reason."""
BESIDE = "files_beside"
"""Path → digest of the files that it has read and its id does not stand for; after an edit it is trained again."""
VARIABLES = "variables"
"""Variable of the environment that the code has read → digest of its value."""

FILE = "file "
"""The beginning of the name of a file of data, before its path, among the digests of a record."""


@dataclass(frozen=True)
class Curve:
    """A number that was measured at some steps."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass
class Record:
    """The record of a finished trial; `failed` is one that raised, `diverged` one whose loss is no longer finite."""

    id: str
    config: Mapping[str, Any]
    seed: int
    status: Status
    stream: str = ""
    # By name; None where the trial has no value (diverged, failed). Names ending in `_seconds`, `_per_second` or
    # `_memory` may differ between repeats, no other.
    metrics: dict[str, float | None] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    # Anything larger that a workload keeps, by name.
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    # Digests of the data that was trained and tested on, by split, and of each file of data, as `file PATH`.
    data: dict[str, str] = field(default_factory=dict)
    reason: str = ""  # Why it diverged, failed or was pruned, in one line.
    error: str = ""  # The traceback of a failed trial.
    output: str = ""  # Standard output, standard error and warnings.
    # Commit, dirty flag, versions, device, threads, command.
    environment: dict[str, Any] = field(default_factory=dict)
    started_at: str = ""  # ISO 8601, UTC.
    finished_at: str = ""
    attempts: int = 1
    # Which weights are kept: `final`, `best`, or both where the last evaluation was the best.
    kept: list[str] = field(default_factory=list)
    weights_digest: str = ""  # Of the file that holds them; nothing where none are kept.
    # The kept weights on their way to the store, in the safetensors format; a record that is read has none.
    weights: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, trial: Trial, status: Status = "completed", **fields: Any) -> Record:
        """Returns the record of `trial`, with `fields` as its outcome."""
        return cls(trial.id, trial.config, trial.seed, status, trial.stream, **fields)

    @property
    def files(self) -> dict[str, str]:
        """The files of data that were read: path → digest."""
        return {
            name.removeprefix(FILE): digest for name, digest in self.data.items() if name.startswith(FILE)
        }

    @property
    def seconds(self) -> float:
        """The seconds from start to end; 0 where these are not known."""
        if not (self.started_at and self.finished_at):
            return 0.0
        start = datetime.fromisoformat(self.started_at)
        end = datetime.fromisoformat(self.finished_at)
        return (end - start).total_seconds()

    @property
    def faulty(self) -> bool:
        """True where the trial failed for a reason other than its variant, about which it then tells nothing."""
        return self.status == "failed" and not lost_to_its_variant(self.status, self.reason)

    def is_of(self, trial: Trial) -> bool:
        """Returns whether the record has the seed, stream and config of a trial.

        The config is compared as far as the id stands for it. Of a trial that is known by its id alone, without a
        config, only the seed is compared.
        """
        if not trial.config:
            return self.seed == trial.seed
        if (self.seed, self.stream) != (trial.seed, trial.stream):
            return False
        config = identified(self.config, trial.irrelevant, self.files)
        wanted = identified(trial.config, trial.irrelevant, trial.files)
        # As JSON gives them back: one of them was read from there.
        return bool(json.loads(json.dumps(config)) == json.loads(json.dumps(wanted)))


def on_validation(record: Record, metric: str, at: str) -> tuple[float, str]:
    """Returns a metric of one finished trial, NaN if it has no value, and its source.

    The source is `validation`, or `own` if the workload does not measure the metric on validation data. `at` is `last`,
    or `best_validation`: the step at which it was best on validation.
    """
    name = validated(metric)
    curve = record.curves.get(name)
    metrics = record.metrics
    if at == "best_validation" and curve is not None:
        best_step = metrics.get(f"{plain(metric)}_best_step")
        values = curve.values[curve.steps == best_step]
        if len(values):
            return float(values[0]), "validation"
    if name in metrics:
        return _number(metrics[name]), "validation"
    if curve is not None and len(curve.values):
        return float(curve.values[-1]), "validation"
    return _number(metrics.get(f"{metric}_at_{at}", metrics.get(metric))), "own"


def _number(value: float | None) -> float:
    """Returns a value, NaN for none."""
    return math.nan if value is None else float(value)
