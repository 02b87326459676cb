"""What the workloads of a user's own training code have in common.

Each trial is a process of its own, which starts from nothing: neither the order of trials nor their number changes a
result, and what hangs, exits or forks is ended with all that it has started.
"""

from __future__ import annotations

import shlex
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from pydantic import BaseModel

from ablate.base.errors import AblateError, listed
from ablate.base.streams import stream_seed
from ablate.core.metric import Description, Metric, Sampling
from ablate.core.record import Record
from ablate.core.trial import AGAIN, Emit, Trial
from ablate.core.workload import Workload
from ablate.external import calling
from ablate.external.command import filled, run, variables
from ablate.external.options import Options, OwnConfig, OwnMetrics
from ablate.external.reading import Reading, compiled
from ablate.external.sources import files_of, seeded


class External(Workload):
    """Base of them: what is run, and which files it rests on."""

    options: Options
    _files: dict[Any, dict[str, str]]

    @abstractmethod
    def words(self, config: Mapping[str, Any], seed: int, place: Path) -> list[str]:
        """The command of a trial; `place` is its own folder, $ABLATE_DIR."""

    @abstractmethod
    def entries(self, config: Mapping[str, Any]) -> Sequence[Path]:
        """The files with which its program begins. Raises `Invalid`."""

    def heard(self, reading: Reading, line: str) -> Mapping[str, float]:
        """The metrics of a line."""
        return reading.hear(line)

    @classmethod
    def of(cls, options: Mapping[str, Any], folder: Path) -> Self:
        """See `Workload`."""
        workload = super().of(options, folder)
        workload.threads = workload.options.resources.threads  # type: ignore[misc]
        workload.parallel = workload.options.parallel  # type: ignore[misc]
        # Files by the entries that lead to them.
        workload._files = {}
        return workload

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        """`config` is free; `metrics` says what is judged."""
        return {"config": (OwnConfig, {}), "metrics": (OwnMetrics, ...)}

    def irrelevant(self) -> tuple[str, ...]:
        """How metrics are judged changes no run."""
        return ("metrics",)

    def margins(self, study: Any) -> Mapping[str, float | None]:
        """See `Workload`."""
        return {name: metric.margin for name, metric in study.metrics.items()}

    def describe(self, config: Mapping[str, Any]) -> Description:
        """The declared metrics."""
        kept = Metric.__dataclass_fields__.keys()
        of = {
            name: Metric(**{key: value for key, value in metric.items() if key in kept})
            for name, metric in config["metrics"].items()
        }
        outcome = next(iter(config["metrics"].values()))["outcome"]
        return Description(of, outcome=outcome, sampling=Sampling("held_out"))

    def check(self, config: Mapping[str, Any]) -> None:
        """The command can be written, and its files are there."""
        self.words(config["config"], 0, Path("$ABLATE_DIR"))
        self.files(config)

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """With what is run, and how it is read."""
        own = self.options.model_dump_json(exclude={"resources", "parallel", "sources"})
        device = "cuda" if self.options.resources.gpu else "cpu"
        return {**super().identity(config), "device": device, "options": own}

    def sources(self, config: BaseModel) -> list[Any]:
        """How numbers are read: all else is the user's own."""
        return [Reading, filled]

    def files(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """See `ablate.external.sources`."""
        entries = tuple(self.entries(config["config"]))
        if entries not in self._files:
            self._files[entries] = files_of(entries, self.folder, self.options.sources)
        return self._files[entries]

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """Generators that are seeded with a constant."""
        entries = {file for name, file in self.files(config).items() if name.startswith("module ")}
        given = getattr(self.options, "seed", "") or ""
        found = [place for file in sorted(entries) for place in seeded(Path(file), given)]
        return [f"the seed of a trial may change nothing: {place} is the same in each" for place in found]

    def shown(self, config: Mapping[str, Any], seed: int) -> str:
        """The command as it is run."""
        return shlex.join(self.words(config["config"], seed, Path("$ABLATE_DIR")))

    def train(self, trial: Trial, emit: Emit) -> Record:
        """Runs it once; a run that ends otherwise than with exit code 0 and all metrics has failed."""
        config, metrics, resources = trial.config["config"], trial.config["metrics"], self.options.resources
        # The streams of a placebo are those of another seed.
        other = stream_seed(trial.seed, "seed", trial.stream) % 2**31
        seed = trial.seed if trial.stream in ("", AGAIN) else other
        reading, fault, pruned = (
            Reading({name: compiled(pattern) for name, pattern in self.options.read.items()}),
            "",
            False,
        )

        def hear(line: str) -> bool:
            nonlocal fault, pruned
            try:
                found = self.heard(reading, line)
            except AblateError as error:
                fault = str(error)
                return True
            pruned = bool(found) and emit(max(max(reading.values[name]) for name in found), found)
            return pruned

        with TemporaryDirectory(prefix="ablate-", ignore_cleanup_errors=True) as place:
            words = self.words(config, seed, Path(place))
            env = variables(Path(place), config, seed, resources.threads)
            if resources.memory is not None:
                words = ["sh", "-c", 'ulimit -d "$0"; exec "$@"', str(int(resources.memory * 2**20)), *words]
            ended = run(words, self.folder, env, hear, resources.time)
            sys.stdout.write(ended.output)
            if not (fault or pruned or ended.fault):
                try:
                    reading.collect(Path(place))
                except AblateError as error:
                    fault = str(error)
        environment = {"ran": self.shown(trial.config, seed), calling.UNREAD: reading.unread}
        fields: dict[str, Any] = {"environment": environment, "curves": reading.curves}
        if pruned:
            return Record.of(
                trial, "pruned", reason="asked to stop", metrics=dict.fromkeys(metrics), **fields
            )
        if fault := fault or ended.fault or reading.lacks([*metrics]):
            read = listed(f"{name} {value:g}" for name, value in reading.last.items())
            printed = (ended.output.strip().splitlines() or ["nothing"])[-1][:200]
            reason = f"{fault}; last read: {read or 'nothing'}; last printed: {printed}"
            return Record.of(trial, "failed", reason=reason, error=ended.output or reason, **fields)
        if reading.unbounded:
            return Record.of(
                trial, "diverged", reason=reading.unbounded, metrics=dict.fromkeys(metrics), **fields
            )
        return Record.of(trial, metrics=dict[str, float | None](reading.last), **fields)
