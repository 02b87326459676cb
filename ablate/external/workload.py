"""A user's own training code as workloads: a function, a command, a script.

Each is a command line, and a reading of the numbers that it prints and writes. Each trial is a fresh process: neither
the order of trials nor their number changes a result, and a process that hangs, exits or forks is ended with all that
it has started, as far as the system allows; see `guard`.
"""

import ast
import json
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from ablate.base.errors import AblateError, Gather, Invalid, listed, nearest
from ablate.base.files import NotReadableError, digest_of_data, read_plain
from ablate.base.registry import register
from ablate.base.scratch import scratch
from ablate.base.streams import stream_seed
from ablate.core.data_statement import DataStatement
from ablate.core.directions import doubtful_choice, doubtful_direction
from ablate.core.metric import Description, Metric, Sampling
from ablate.core.metric_range import check_declared
from ablate.core.record import INPUTS, Record
from ablate.core.trial import Emit, Trial
from ablate.core.workload import Workload
from ablate.external import options, runner, script
from ablate.external.best import best_values, check_best, guides_of, identity_of
from ablate.external.cautions import assigning, named, seeded
from ablate.external.command import filled
from ablate.external.matching import check_pattern
from ablate.external.reading import Reading
from ablate.external.running import Run
from ablate.external.script import UNREADABLE, Constants, edited, explained, parsed_source
from ablate.external.snapshot import Scope, Snapshot, read_snapshot
from ablate.external.sources import MAX_SOURCE, locks_of, parsed, program_of
from ablate.external.undeclared import STEP


class External(Workload):
    """The base of these workloads; a config has the options of the study as its section `workload`."""

    Options: ClassVar[type[options.Options]]
    # The folder of results, which is no part of the code; None where there is none.
    results: Path | None = None

    def __init__(self) -> None:
        # The code and data of trials, as the driver has read them.
        self.snapshots: dict[Scope, Snapshot] = {}

    @abstractmethod
    def words(self, config: Mapping[str, Any], seed: int) -> list[str]:
        """Returns the command line of a trial. Raises `Invalid`."""

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        return {
            "workload": (self.Options, ...),
            "config": (options.OwnConfig, {}),
            "metrics": (options.OwnMetrics, ...),
            "data": (options.DataSection, options.DataSection()),
        }

    def irrelevant(self) -> tuple[str, ...]:
        of_options = ("data", "exclude", "keep", "resume", "parallel", "resources.memory", "resources.time")
        return ("metrics", "data", *(f"workload.{path}" for path in of_options))

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement:
        """Returns what the study states of its data, and the metric at whose best step the `judged` one counts."""
        return DataStatement(**config["data"], by=guides_of(config["metrics"]).get(judged, ""))

    def describe(self, config: Mapping[str, Any]) -> Description:
        metrics = {name: _metric_of(settings) for name, settings in config["metrics"].items()}
        first, *_ = config["metrics"].values()
        return Description(
            metrics,
            outcome=first["outcome"],
            # A guess on the safe side: nobody says that examples are drawn anew.
            sampling=Sampling("held_out"),
            parallel=config["workload"]["parallel"],
        )

    def check(self, config: Mapping[str, Any]) -> None:
        metrics = config["metrics"]
        readable = [*metrics, STEP]
        with Gather() as at:
            at.refuse("seed" in config["config"], "config.seed", "is given by the study", allowed="`seeds:`")
            for name, settings in metrics.items():
                with at("metrics", name):
                    check_declared(_metric_of(settings), name)
                at.refuse(
                    name == STEP, f"metrics.{name}", "gives the steps of curves, and is not a metric", name
                )
            for name, pattern in config["workload"]["read"].items():
                at.refuse(
                    name not in readable,
                    "workload.read",
                    "is not among `metrics`",
                    name,
                    listed(readable),
                    nearest(name, readable),
                )
                with at("workload", "read", name):
                    check_pattern(pattern)
            with at():
                check_best(metrics)
            with at():
                self.words(config, 0)
            with at():
                self._check_code(config)

    def _check_code(self, config: Mapping[str, Any]) -> None:
        """Raises `Invalid` where trials cannot get copies of the code."""
        try:
            self.snapshot(config)
        except Invalid:
            raise
        except AblateError as error:
            hint = (
                "Add `exclude: [PATTERN]` for files that trials do not need, or `data: [PATH]` for files that they "
                "read in place"
            )
            raise Invalid("workload", str(error), hint=hint) from None

    def snapshot(self, config: Mapping[str, Any]) -> Snapshot:
        """Returns the code and data that trials of a config get, as they were when they were first asked for."""
        scope = Scope.of(config["workload"])
        if scope not in self.snapshots:
            self.snapshots[scope] = read_snapshot(self.folder, self.results, scope)
        return self.snapshots[scope]

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        device = "cuda" if config["workload"]["resources"]["gpu"] else "cpu"
        return {
            **super().identity(config),
            **self.snapshot(config).identity(),
            "device": device,
            "metrics": ", ".join(sorted(config["metrics"])),
            **identity_of(config["metrics"]),
        }

    def sources(self, config: BaseModel) -> list[Any]:
        return [Reading, best_values, filled, runner.main]

    def program(self, config: Mapping[str, Any]) -> dict[str, str]:
        """Returns the files of the program that a command names, as far as they can be seen without running it."""
        words = [word for word in self.words(config, 0) if word not in (runner.__file__, script.__file__)]
        return program_of(words, self.snapshot(config).folder)

    def files(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        snapshot = self.snapshot(config)
        folders = [snapshot.root, snapshot.frozen]
        beside: dict[str, str] = {}
        for name, file in self.program(config).items():
            place = Path(file).resolve()
            if not any(place.is_relative_to(folder) for folder in folders):
                beside[name] = file
        # Lock files of the original, since the frozen copy lacks those that git ignores.
        return beside | locks_of(snapshot.root / snapshot.inside)

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        section = config["workload"]
        files = dict.fromkeys(self.program(config).values())
        cautions: list[str] = []
        if not section["isolate"]:
            cautions.append(
                "trials run in the study's folder (`isolate: off`) and may find what earlier runs left there"
            )
        for place in seeded(files, section.get("seed")):
            cautions.append(f"a random generator at {place} has the same seed in every trial")
        doubts = [
            doubtful_direction(name, settings["direction"]) for name, settings in config["metrics"].items()
        ]
        doubts += [doubtful_choice(name) for name in config["metrics"]]
        cautions += filter(None, doubts)
        named_in_code = named(files)
        command = str(section.get("command"))
        unnamed = [
            name for name in config["config"] if name not in named_in_code and f"{{{name}" not in command
        ]
        if unnamed:
            cautions.append(f"your code never mentions {listed(f'`{name}`' for name in unnamed)}")
        return cautions

    def train(self, trial: Trial, emit: Emit) -> Record:
        """Runs a trial once; without exit code 0 and all metrics it has failed."""
        # The streams of a placebo are those of another seed.
        seed = stream_seed(trial.seed, "seed", trial.stream) % 2**31 if trial.stream else trial.seed
        run = Run(trial, self.words(trial.config, seed), seed, emit)
        record = self._run(run, self.snapshot(trial.config))
        record.environment[INPUTS] = self.inputs(trial)
        return record

    def inputs(self, trial: Trial) -> str:
        """Returns a digest of the identity of a trial without its config and code: data, versions, files beside."""
        identity = dict(self.identity(trial.config))
        del identity["code"]
        return digest_of_data([identity, sorted(trial.files.values())])

    def _run(self, run: Run, snapshot: Snapshot) -> Record:
        """Runs a trial in a copy of the code, or in place where the study is not isolated."""
        if not snapshot.is_isolated:
            return run.in_place(snapshot)
        if snapshot.frozen.is_dir() or snapshot.tree is None:
            return run.in_copy(snapshot)
        with scratch("store") as store:
            # A trial outside of a run, such as a check, has no store.
            snapshot = replace(snapshot, store=Path(store))
            snapshot.freeze()
            return run.in_copy(snapshot)


@register("workload", "function")
class FunctionWorkload(External):
    """A function of the user's, `train(config, seed, report=None)`, which returns metrics by name."""

    Options = options.FunctionOptions

    def words(self, config: Mapping[str, Any], seed: int) -> list[str]:
        values = json.dumps(config["config"])
        return [sys.executable, "-P", runner.__file__, config["workload"]["function"], values, str(seed)]

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        module, _, name = config["workload"]["function"].rpartition(":")
        file = module if module.endswith(".py") else f"{module.replace('.', '/')}.py"
        tree = parsed(self.folder / file)
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if name not in functions:
            rule = f"is not a function in {module or 'a file'}"
            hint = nearest(name, functions) or "Write train.py:train or package.module:train"
            raise Invalid("workload.function", rule, name, listed(functions), hint)


@register("workload", "command")
class CommandWorkload(External):
    """A command of the user's, in which `{name}` stands for a setting and `{seed}` for the seed."""

    Options = options.CommandOptions

    def words(self, config: Mapping[str, Any], seed: int) -> list[str]:
        settings: dict[str, Any] = {}
        for path, value in _settings(config["config"]):
            if path in settings:
                raise Invalid("config", "has two settings of this path", path)
            settings[path] = value
        try:
            return filled(config["workload"]["command"], {**settings, "seed": seed})
        except Invalid as error:
            raise error.under("workload", "command") from None


def _metric_of(settings: Mapping[str, Any]) -> Metric:
    """Returns a metric as a study declares it."""
    return Metric(**{field.name: settings[field.name] for field in fields(Metric)})


def _settings(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields dotted path and value of all settings, sections included."""
    for key, value in config.items():
        path = f"{prefix}{key}"
        yield path, value
        if isinstance(value, dict):
            yield from _settings(value, f"{path}.")


@register("workload", "script")
class ScriptWorkload(External):
    """A script of the user's without flags: constants at its top level are replaced in a temporary copy."""

    Options = options.ScriptOptions

    def words(self, config: Mapping[str, Any], seed: int) -> list[str]:
        values = json.dumps(_values(config, seed))
        return [sys.executable, "-P", script.__file__, config["workload"]["script"], values]

    def sources(self, config: BaseModel) -> list[Any]:
        return [*super().sources(config), script.main]

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        cautions = super().cautions(config)
        for place in assigning(self.folder / config["workload"]["script"]):
            cautions.append(f"code at {place} may assign constants anew, unseen by ablate")
        return cautions

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        file = self.folder / config["workload"]["script"]
        source = _source(file)
        try:
            constants = _constants(source)
        except UNREADABLE as error:
            raise Invalid(
                "workload.script", f"cannot be read as Python: {explained(error)}", file.name
            ) from None
        seed = config["workload"]["seed"]
        places = {name: f"config.{name}" for name in config["config"]}
        names = constants.names()
        with Gather() as at:
            at.refuse(seed in places, f"config.{seed}", "is given by the study", allowed="`seeds:`")
            if seed:
                places[seed] = "workload.seed"
            for name, place in places.items():
                fault = constants.fault(name)
                rule = f"is not assigned once, alone, at the top level of {file.name}: {fault}"
                at.refuse(fault, place, rule, name, listed(names), nearest(name, names))
                value = config["config"].get(name)
                rule = f"has keys in {file.name} that are not text, which a study cannot give"
                at.refuse(constants.has_other_keys(name, value), place, rule, value)
        _try_edit(source, tuple(places))


def _values(config: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns the values of a script's constants in a trial."""
    values = dict(config["config"])
    if config["workload"]["seed"]:
        values[config["workload"]["seed"]] = seed
    return values


def _source(file: Path) -> bytes:
    """Returns the source of a script. Raises `Invalid`."""
    try:
        return read_plain(file, MAX_SOURCE)
    except NotReadableError as error:
        allowed = "a Python file, by its path relative to the study"
        raise Invalid("workload.script", str(error), file.name, allowed) from None


@lru_cache(maxsize=8)
def _constants(source: bytes) -> Constants:
    """Returns the constants of a script. Raises one of `UNREADABLE`."""
    return Constants.of(parsed_source(source))


@lru_cache(maxsize=8)
def _try_edit(source: bytes, names: tuple[str, ...]) -> None:
    """Raises `Invalid` where a script cannot be written with other values of these constants, whatever they are."""
    try:
        edited(source, dict.fromkeys(names, 0))
    except UNREADABLE as error:
        raise Invalid("workload.script", f"cannot be run with other constants: {explained(error)}") from None
