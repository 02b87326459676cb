"""A user's own training code as workloads: what a function, a command and a script share; and the function.

Each is a command line, and a reading of the numbers that it prints and writes. Each trial is a fresh process: neither
the order of trials nor their number changes a result, and a process that hangs, exits or forks is ended with all that
it has started, as far as the system allows; see `guard`.
"""

import ast
import json
import pickle
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from ablate.base.errors import AblateError, Gather, Invalid, listed, nearest
from ablate.base.files import digest_of_data
from ablate.base.registry import register
from ablate.base.scratch import scratch
from ablate.base.streams import stream_seed
from ablate.core.code_note import CodeNote
from ablate.core.data_statement import DataStatement
from ablate.core.directions import doubtful_choice, doubtful_direction
from ablate.core.metric import Description, Metric, Sampling
from ablate.core.metric_range import check_declared
from ablate.core.record import CODE, Record
from ablate.core.speed import TimedRun
from ablate.core.trial import Emit, Trial
from ablate.core.untold import Untold
from ablate.core.workload import Workload
from ablate.external import options, runner, script
from ablate.external.best import best_values, check_best, guides_of, identity_of
from ablate.external.cautions import named, seeded
from ablate.external.code_change import diff
from ablate.external.command import filled, placeholders, split
from ablate.external.given import (
    WHOLE,
    Given,
    check_given,
    given,
    in_a_line,
    placeholders_given,
    read_templates,
)
from ablate.external.interpreter import interpreter_at, python_of, python_of_code
from ablate.external.matching import check_pattern
from ablate.external.passing import Reads, check_exists, may_read_config, may_read_seed
from ablate.external.reading import Reading
from ablate.external.run_folder import remove_run_folder
from ablate.external.running import Run
from ablate.external.snapshot import CODE_FOLDER, Scope, Snapshot, read_snapshot
from ablate.external.sources import locks_of, parsed, program_of
from ablate.external.twins import perhaps_untold_twin, twins_of, untold_twin
from ablate.external.undeclared import STEP

UNSEEDED = "and your code does not mention $ABLATE_SEED, so that no seed reaches it"
"""The end of a note on code that gets no seed."""


class External(Workload):
    """The base of these workloads; a config has the options of the study as its section `workload`."""

    Options: ClassVar[type[options.Options]]
    runs_apart = True
    times_runs = True

    def __init__(self) -> None:
        # The code and data of trials, as the driver has read them.
        self._snapshots: dict[Scope, Snapshot] = {}
        # Paths of templates → their texts, as the driver has read them.
        self._templates: dict[tuple[str, ...], Mapping[str, str]] = {}
        # What is looked for, scope and words of a command → whether some code may read it.
        self._read: dict[tuple[object, ...], bool] = {}

    @abstractmethod
    def command_line(self, config: Mapping[str, Any], seed: int) -> list[str]:
        """Returns the words of the command of a trial. Raises `Invalid`."""

    def python(self, config: Mapping[str, Any]) -> str:
        """Returns the path of the Python that runs a trial; empty where the command does not show it."""
        return python_of(self.command_line(config, 0), self.folder)

    def interpreter(self, config: Mapping[str, Any]) -> str:
        place = self.python(config)
        found = interpreter_at(place)
        return f"{place}, {found.name}" if found is not None else ""

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        return {
            "workload": (self.Options, ...),
            "config": (options.OwnConfig, {}),
            "metrics": (options.OwnMetrics, ...),
            "data": (options.DataSection, options.DataSection()),
        }

    def irrelevant(self) -> tuple[str, ...]:
        of_options = ("data", "exclude", "keep", "resume", "parallel")
        # Of several GPUs the identity has their number; a share of one changes no result.
        of_resources = ("resources.memory", "resources.time", "resources.gpus")
        return ("metrics", "data", *(f"workload.{path}" for path in (*of_options, *of_resources)))

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement:
        """Returns what the study states of its data, of which nothing else is known, and the step that counts."""
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
                hint = nearest(name, readable)
                hint = f"{hint} Or add" if hint else "Add"
                hint = f"{hint} {name} under `metrics:`"
                at.refuse(
                    name not in readable,
                    "workload.read",
                    "is not among `metrics`",
                    name,
                    listed(readable),
                    hint,
                )
                with at("workload", "read", name):
                    check_pattern(pattern)
            with at():
                check_best(metrics)
            with at():
                check_given(config["workload"])
                self.given(config, 0)
            with at():
                self._check_code(config)
                self.command_line(config, 0)

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
        if scope not in self._snapshots:
            self._snapshots[scope] = read_snapshot(self.folder, self.results, scope)
        return self._snapshots[scope]

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        device = "cuda" if config["workload"]["resources"]["gpu"] else "cpu"
        gpus = self.gpus(config) or 0
        templates = self._templates_of(config)
        return {
            **super().identity(config),
            **self.snapshot(config).identity(interpreter_at(self.python(config))),
            "device": device,
            **({"gpus": f"{gpus:g}"} if gpus > 1 else {}),
            # Those that are no code have no place in its digest.
            **({"templates": digest_of_data(templates)} if templates else {}),
            "metrics": ", ".join(sorted(config["metrics"])),
            **identity_of(config["metrics"]),
        }

    def sources(self, config: BaseModel) -> list[Any]:
        return [Reading, best_values, filled, given, runner.main]

    def program(self, config: Mapping[str, Any]) -> dict[str, str]:
        """Returns the files of the program that a command names, as far as they can be seen without running it."""
        words = [
            word for word in self.command_line(config, 0) if word not in (runner.__file__, script.__file__)
        ]
        return program_of(words, self.snapshot(config).folder)

    def files(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        snapshot = self.snapshot(config)
        # Data have a digest of their own, such as the module to which a link leads.
        folders = [snapshot.root, snapshot.frozen, *(entry.place.resolve() for entry in snapshot.data)]
        beside: dict[str, str] = {}
        for name, file in self.program(config).items():
            place = Path(file).resolve()
            if not any(place.is_relative_to(folder) for folder in folders):
                beside[name] = file
        # Lock files of the original, since the frozen copy lacks those that git ignores.
        return beside | locks_of(snapshot.root / snapshot.inside)

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        cautions: list[str] = []
        if not config["workload"]["isolate"]:
            cautions.append(
                "trials run in the study's folder (`isolate: off`) and may find what earlier runs left there"
            )
        doubts = [
            doubtful_direction(name, settings["direction"]) for name, settings in config["metrics"].items()
        ]
        doubts += [doubtful_choice(name) for name in config["metrics"]]
        cautions += filter(None, doubts)
        return cautions

    def code_notes(self, config: Mapping[str, Any]) -> list[CodeNote]:
        section = config["workload"]
        files = dict.fromkeys(self.program(config).values())
        notes: list[CodeNote] = []
        for place in seeded(files, section.get("seed")):
            notes.append(CodeNote(f"every trial gets the same seed at {place}", "seeds"))
        named_in_code = named(files)
        told = self.placeholders(config)
        heard = {name.partition(".")[0] for name in told}
        unnamed = [name for name in config["config"] if name not in named_in_code and name not in heard]
        unnamed = [] if WHOLE in told else unnamed
        if unnamed:
            text = f"your code never mentions {listed(f'`{name}`' for name in unnamed)}"
            notes.append(CodeNote(text, "settings", tuple(f"config.{name}" for name in unnamed)))
        return notes

    def untold(
        self,
        configs: Mapping[str, Mapping[str, Any]],
        paths: Sequence[str],
        varied: Mapping[str, Sequence[str]],
    ) -> list[Untold]:
        """Returns variants of one command.

        Code that may read the config from its environment knows them: a file of it says so, or it is not in the study's
        folder.
        """
        baseline = next(iter(configs.values()))
        twins = list(twins_of(configs, paths, self._told))
        if not twins:
            return []
        if not self.may_read_config(baseline):
            return [untold_twin(twin) for twin in twins]
        if self.reads_config(baseline):
            return []
        return [perhaps_untold_twin(twin) for twin in twins]

    def check_best_validation(self, judged: str, metrics: Mapping[str, Metric]) -> None:
        """Raises `Invalid`: nobody knows what the validation data of the user's code are."""
        judged = judged or "METRIC"
        direction = metrics[judged].direction if judged in metrics else "max"
        others = [name for name in metrics if name != judged] or ["VALIDATION_METRIC"]
        rule = "does not apply to your own code, where each metric says which step counts"
        hint = f"Write metrics: {{{judged}: {{direction: {direction}, at: best, by: {others[0]}}}, …}}"
        raise Invalid("", rule, "best_validation", "last", hint)

    def reads_config(self, config: Mapping[str, Any]) -> bool:
        """Returns whether the program itself reads the config of a trial from its environment."""
        return may_read_config(map(Path, self.program(config).values()), self.words(config))

    def may_read_config(self, config: Mapping[str, Any]) -> bool:
        """Returns whether some code, which the program may call, reads the config of a trial from its environment."""
        return self._may_read(config, may_read_config)

    def may_read_seed(self, config: Mapping[str, Any]) -> bool:
        """Returns whether some code, which the program may call, reads the seed of a trial from its environment."""
        return self._may_read(config, may_read_seed)

    def _may_read(self, config: Mapping[str, Any], reads: Reads) -> bool:
        """Returns whether some code may read what a trial finds in its environment; True where no program is seen."""
        key = reads, Scope.of(config["workload"]), *self.words(config)
        if key not in self._read:
            program = [*map(Path, self.program(config).values())]
            self._read[key] = not program or reads([*program, *self._copied(config)], self.words(config))
        return self._read[key]

    def lacks_seed(self, config: Mapping[str, Any]) -> bool:
        """Returns whether the program does not read the seed of a trial from its environment either."""
        files = [*map(Path, self.program(config).values())]
        return not may_read_seed(files or self._copied(config), self.words(config))

    def _copied(self, config: Mapping[str, Any]) -> list[Path]:
        """Returns the files of code and config that trials get."""
        tree = self.snapshot(config).tree
        return [] if tree is None else [tree.root / path for path in tree.files]

    def given(self, config: Mapping[str, Any], seed: int) -> Given:
        """Returns what a trial is given beside its command. Raises `Invalid`."""
        return given(config["workload"], config["config"], seed, self._templates_of(config))

    def _templates_of(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Returns the templates of a config, as they were when they were first asked for. Raises `Invalid`."""
        paths = tuple(config["workload"]["files"].values())
        if paths not in self._templates:
            self._templates[paths] = read_templates(config["workload"], self.folder)
        return self._templates[paths]

    def beside_command(self, config: Mapping[str, Any], seed: int) -> Sequence[str]:
        beside = self.given(config, seed)
        variables = [f"{name}={value}" for name, value in beside.env.items()]
        return [*variables, *(f"{path}: {in_a_line(text)}" for path, text in beside.files.items())]

    def _told(self, config: Mapping[str, Any]) -> list[str]:
        """Returns all that tells the code of a trial its settings."""
        beside = self.given(config, 0)
        return [*self.command_line(config, 0), *beside.env.values(), *beside.files.values()]

    def placeholders(self, config: Mapping[str, Any]) -> set[str]:
        """Returns the names of all placeholders: of the command, of variables, and of the templates of files."""
        return placeholders(self.words(config)) | placeholders_given(
            config["workload"], self._templates_of(config)
        )

    def words(self, config: Mapping[str, Any]) -> Sequence[str]:
        """Returns the words of the user's command with its placeholders; none of a function or a script."""
        command = config["workload"].get("command")
        return [] if command is None else split(command)

    def train(self, trial: Trial, emit: Emit) -> Record:
        """Runs a trial once; without exit code 0 and all metrics it has failed."""
        return self._run(self._run_of(trial, emit), self.snapshot(trial.config))

    def time_run(self, trial: Trial) -> TimedRun:
        snapshot = self.snapshot(trial.config)
        run = self._run_of(trial, lambda step, metrics, state=None: False)
        record = self._run(run, snapshot)
        remove_run_folder(snapshot, trial.id)
        return TimedRun(record, run.seconds, run.cpu_seconds)

    def _run_of(self, trial: Trial, emit: Emit) -> Run:
        """Returns the run of a trial, which has not begun."""
        # The streams of a placebo are those of another seed.
        seed = stream_seed(trial.seed, "seed", trial.stream) % 2**31 if trial.stream else trial.seed
        return Run(trial, self.command_line(trial.config, seed), seed, emit, self.given(trial.config, seed))

    def freeze(self) -> None:
        """Makes the frozen copies of the code, of which trials get theirs. Raises `AblateError`."""
        for snapshot in self._snapshots.values():
            snapshot.freeze()

    def pack(self) -> bytes:
        """Returns what trials get, as the driver has read it."""
        snapshots = {scope: snapshot.for_workers() for scope, snapshot in self._snapshots.items()}
        return pickle.dumps((snapshots, self._templates))

    def unpack(self, packed: bytes) -> None:
        snapshots, templates = pickle.loads(packed)
        self._snapshots.update(snapshots)
        self._templates.update(templates)

    def gpus(self, config: Mapping[str, Any]) -> float | None:
        gpus: float | None = config["workload"]["resources"]["gpus"]
        return gpus

    def more_at_once(self, config: Mapping[str, Any], cores: int) -> str:
        section = config["workload"]
        room = cores // section["resources"]["threads"]
        if section["parallel"] or section["resources"]["gpu"] or room < 2:
            return ""
        return f"{room} with `parallel: on` under `workload:`"

    def inputs(self, trial: Trial) -> str:
        """Returns a digest of the identity of a trial without its config and code: data, versions, files beside."""
        identity = dict(self.identity(trial.config))
        del identity["code"]
        return digest_of_data([identity, sorted(trial.files.values())])

    def code_change(self, record: Record, config: Mapping[str, Any]) -> str:
        snapshot = self.snapshot(config)
        if snapshot.tree is None:
            return ""
        return diff(snapshot.store / CODE_FOLDER / str(record.environment[CODE]), snapshot.tree)

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

    def command_line(self, config: Mapping[str, Any], seed: int) -> list[str]:
        values = json.dumps(config["config"])
        return [python_of_code(), "-P", runner.__file__, config["workload"]["function"], values, str(seed)]

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        module, _, name = config["workload"]["function"].rpartition(":")
        file = module if module.endswith(".py") else f"{module.replace('.', '/')}.py"
        check_exists(file, self.folder, "workload.function")
        tree = parsed(self.folder / file)
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if name not in functions:
            rule = f"is not a function in {module or 'a file'}"
            hint = nearest(name, functions) or "Write train.py:train or package.module:train"
            raise Invalid("workload.function", rule, name, listed(functions), hint)


def _metric_of(settings: Mapping[str, Any]) -> Metric:
    """Returns a metric as a study declares it."""
    return Metric(**{field.name: settings[field.name] for field in fields(Metric)})
