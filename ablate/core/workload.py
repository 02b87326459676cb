"""The contract between the harness and the code that trains.

The driver, the store and the verdicts know nothing of sequence models: they know trials, events and records.
`ablate.training` is the built-in workload; a user's own training function is another.

No trial id stands for the text of this module (`study/sources.py`), so that the contract may grow.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from ablate.core.code_note import CodeNote
from ablate.core.data_statement import DataStatement
from ablate.core.metric import FRESH, Description, Metric
from ablate.core.record import Record
from ablate.core.speed import Operation, TimedRun
from ablate.core.trial import Emit, Trial
from ablate.core.untold import Untold

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Evaluation:
    """Results of kept weights on one test split."""

    metrics: Mapping[str, float]
    # Attention weights (examples, H, T_q, T_k) of the first examples, by the part that has them; NaN at padding.
    maps: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    attention: str = ""  # Equal for two configs exactly when their attention is made of the same parts.


class Workload(ABC):
    """Base of everything that can be trained, registered with `@register("workload", NAME)`.

    A workload that only trains gives `schema`, `train` and `metrics`; the rest has a default. Class attributes say
    what else it can do; each names the methods that go with it.
    """

    name: ClassVar[str]  # Under which it is registered.
    folder = Path()  # To which paths of its study are relative.
    results: Path | None = None  # The folder of results, which is no part of its code; None in a worker.
    # Metrics of every config, the primary one first. Where they depend on the config, override `describe`.
    metrics: ClassVar[Mapping[str, Metric]] = {}
    threads: ClassVar[int] = 1  # Threads on which a trial trains.
    # Whether it honours `Trial.checkpoint`; it then has `evaluate` and, where needed, `check_evaluation`.
    keeps_weights: ClassVar[bool] = False
    resumes: ClassVar[bool] = False  # Whether it honours `Trial.save_every` and `Trial.state`.
    # Whether trials run in processes of their own, from code of the user's with a commit of its own. Records then name
    # that commit, and trials may share what is outside their copies.
    runs_apart: ClassVar[bool] = False
    # Whether it is timed by whole runs, in `time_run`, in place of the calls of `operations`.
    times_runs: ClassVar[bool] = False
    # Path of the number of training steps in its config; None: it has none.
    steps_path: ClassVar[str | None] = None
    # Path of the learning rate in its config, which decides many comparisons; None: it has none.
    rate_path: ClassVar[str | None] = None
    # Path of the switch for test metrics at the evaluation that was best; None: records have them, or never do.
    best_path: ClassVar[str | None] = None

    @abstractmethod
    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        """Returns its sections of a study: name → (type, default); `task` is the one that `tasks` repeats."""

    @abstractmethod
    def train(self, trial: Trial, emit: Emit) -> Record:
        """Trains, and fills in the record's status, metrics, curves, arrays and data digests, the harness the rest."""

    def load_parts(self) -> None:  # noqa: B027
        """Registers the parts that its schema may name."""

    def check(self, config: Mapping[str, Any]) -> None:  # noqa: B027
        """Raises `Invalid`, with paths from the root of the config, when `config` cannot be built."""

    def describe(self, config: Mapping[str, Any]) -> Description:
        """Returns the metrics of a config; a workload that overrides it adds parameters and FLOPs."""
        if not self.metrics:
            raise TypeError(f"{type(self).__name__} must define `metrics` or override `describe`")
        return Description(self.metrics)

    def parameters(self, config: Mapping[str, Any]) -> int:
        """Returns `describe(config).parameters`. Matching asks for it often: override it where counting is cheaper."""
        return self.describe(config).parameters

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """Returns what limits a verdict on `config`, known without training it: sentences without full stops."""
        return []

    def advice(self, config: Mapping[str, Any]) -> list[str]:
        """Returns what `ablate plan` says of a baseline that will likely not learn.

        Sentences without their subject, which is the task, and without full stops.
        """
        return []

    def code_notes(self, config: Mapping[str, Any]) -> list[CodeNote]:
        """Returns signs in the source of a user's program that seeds or settings have no effect; runs may differ."""
        return []

    def untold(
        self,
        configs: Mapping[str, Mapping[str, Any]],
        paths: Sequence[str],
        varied: Mapping[str, Sequence[str]],
    ) -> list[Untold]:
        """Returns the differences of which the training code may not be told; none by default.

        configs: variant → its config on the first task, the baseline first, without placebos. paths: those that some
        variant changes. varied: key of the study → the paths that its stage varies.
        """
        return []

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement | None:
        """Returns what the study states of its data; None where `describe` says how they are sampled.

        By default an empty statement where `describe` does not say it. judged: the metric that the study judges.
        """
        return DataStatement() if self.describe(config).sampling == FRESH else None

    def check_best_validation(self, judged: str, metrics: Mapping[str, Metric]) -> None:  # noqa: B027
        """Raises `Invalid` where a study may not judge at the step that was best on validation data; by default never.

        judged: its name, empty where the study names none and tasks share none. metrics: those that all tasks have.
        """

    def fingerprint(self, config: Mapping[str, Any]) -> str:
        """Returns a text that two configs share when they compute the same function from the same initial values."""
        return json.dumps(config, sort_keys=True)

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns everything else that the result depends on: versions, device type, dtype, more threads than one."""
        return {"device": "cpu"} | ({} if self.threads == 1 else {"threads": str(self.threads)})

    def irrelevant(self) -> tuple[str, ...]:
        """Returns paths of the config that cannot change the result (a device given as `auto`)."""
        return ()

    def files(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns the files that the result of `config` rests on, beside those that it names: name → place."""
        return {}

    def sources(self, config: BaseModel) -> list[Any]:
        """Returns the functions and classes that train `config`, beside the parts that it names."""
        return [type(self)]

    def freeze(self) -> None:  # noqa: B027
        """Fixes code and data that trials get, before the first of them is trained. Raises `AblateError`."""

    def pack(self) -> bytes:
        """Returns what a worker must know of this object beside its name and folder; empty: nothing."""
        return b""

    def unpack(self, packed: bytes) -> None:  # noqa: B027
        """Takes in, in a worker, what `pack` has returned; not called where that is empty."""

    def more_at_once(self, config: Mapping[str, Any], cores: int) -> str:
        """Returns how many trials, by which change of the study, could run at once on these cores; empty: no more."""
        return ""

    def gpus(self, config: Mapping[str, Any]) -> float | None:
        """Returns the GPUs that a trial takes, where its config says so; None: those that the study gives it."""
        return None

    def command_line(self, config: Mapping[str, Any], seed: int) -> Sequence[str]:
        """Returns the words of the command that a trial runs; none where it runs no command. Raises `Invalid`."""
        return ()

    def beside_command(self, config: Mapping[str, Any], seed: int) -> Sequence[str]:
        """Returns the variables and files that a trial is given beside its command, a line each."""
        return ()

    def interpreter(self, config: Mapping[str, Any]) -> str:
        """Returns the Python that runs the code of a trial, with its version; empty where it is not another program."""
        return ""

    def notation(self, config: Mapping[str, Any]) -> str:
        """Returns how its command takes null, lists and switches, and why that is known; empty where it is not."""
        return ""

    def inputs(self, trial: Trial) -> str:
        """Returns a digest of all that a trial depends on beside its config and code, which its record keeps.

        A record of equal config and inputs may be reused for later code. Empty: code cannot be told apart from them.
        """
        return ""

    def code_change(self, record: Record, config: Mapping[str, Any]) -> str:
        """Returns how the code has changed since a record: a diff, or why there is none; empty where nobody can say."""
        return ""

    def operations(self, config: Mapping[str, Any]) -> Mapping[str, Operation]:
        """Returns the calls that `ablate bench` times, by the names of `core.speed.CALLS`; none: it cannot be timed.

        Whatever a call changes, such as weights, is the operations' own, so that calls take turns undisturbed.
        """
        return {}

    def time_run(self, trial: Trial) -> TimedRun:
        """Trains `trial` once, as a study would, and returns how long its process took; leaves no files."""
        raise TypeError(f"{type(self).__name__} has no runs that could be timed")

    def check_evaluation(self, config: Mapping[str, Any], task: Mapping[str, Any]) -> None:  # noqa: B027
        """Raises `Invalid`, with paths from the root of the config, when its weights cannot do another `task`."""

    def evaluate(self, trial: Trial, weights: bytes, task: Mapping[str, Any]) -> Evaluation:
        """Evaluates the kept weights of `trial` on the test split of `task`: the study's own, or another."""
        raise TypeError(f"{type(self).__name__} keeps no weights and cannot evaluate them")
