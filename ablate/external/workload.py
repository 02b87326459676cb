"""A user's own training code as workloads: a function, a command, a script.

Each is a command line, and a reading of what it prints and writes. Each trial is a process of its own, which starts
from nothing: neither the order of trials nor their number changes a result, and what hangs, exits or forks is ended
with all that it has started.
"""

import ast
import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from pydantic import BaseModel

from ablate.base.errors import AblateError, Gather, Invalid, listed, nearest
from ablate.base.process import THREADS
from ablate.base.registry import register
from ablate.base.streams import stream_seed
from ablate.core.data_statement import DataStatement
from ablate.core.metric import Description, Metric, Sampling
from ablate.core.record import Record
from ablate.core.trial import Emit, Trial
from ablate.core.workload import Workload
from ablate.external import options, runner
from ablate.external.best import best_values, check_best, guides_of, identity_of
from ablate.external.cautions import named, seeded
from ablate.external.command import filled, lines
from ablate.external.reading import STEP, Reading, check_pattern
from ablate.external.runner import constants
from ablate.external.sources import files_of, parsed, versions

# Columns that tables of trials and curves have.
TAKEN = ("id", "variant", "task", "seed", "status", "reason", STEP)


class External(Workload):
    """Base of them; a config has the options of the study as its section `workload`."""

    Options: ClassVar[type[options.Options]]

    def words(self, config: Mapping[str, Any], seed: int) -> list[str]:
        """Returns the command line of a trial, by default that of `runner`. Raises `Invalid`."""
        own, values = config["workload"], config["config"]
        given = json.dumps(values | ({own["seed"]: seed} if own.get("seed") else {}))
        return [sys.executable, "-P", runner.__file__, own[self.name], given, str(seed)]

    def schema(self) -> Mapping[str, tuple[Any, Any]]:
        return {
            "workload": (self.Options, ...),
            "config": (options.OwnConfig, {}),
            "metrics": (options.OwnMetrics, ...),
            "evaluation": (options.Evaluated, options.Evaluated()),
        }

    def irrelevant(self) -> tuple[str, ...]:
        of_options = ("sources", "parallel", "resources.memory", "resources.time")
        return ("metrics", "evaluation", *(f"workload.{path}" for path in of_options))

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement:
        """Returns what the study states of its data, and the metric at whose best step the `judged` one counts."""
        return DataStatement(**config["evaluation"], by=guides_of(config["metrics"]).get(judged, ""))

    def describe(self, config: Mapping[str, Any]) -> Description:
        metrics = {}
        for name, settings in config["metrics"].items():
            given = {field.name: settings[field.name] for field in fields(Metric)}
            metrics[name] = Metric(**given)
        first, *_ = config["metrics"].values()
        return Description(
            metrics,
            outcome=first["outcome"],
            # A guess on the safe side: nobody says that examples are drawn anew.
            sampling=Sampling("held_out"),
            parallel=config["workload"]["parallel"],
        )

    def check(self, config: Mapping[str, Any]) -> None:
        own, metrics = config["workload"], config["metrics"]
        with Gather() as at:
            at.refuse("seed" in config["config"], "config.seed", "is given by the study", allowed="`seeds:`")
            for name in metrics:
                taken = f"any but {', '.join(TAKEN)}"
                at.refuse(name in TAKEN, f"metrics.{name}", "is a name that tables have already", name, taken)
            for name, pattern in own["read"].items():
                known, rule = [*metrics, STEP], "is not among `metrics`"
                at.refuse(name not in known, "workload.read", rule, name, listed(known), nearest(name, known))
                with at("workload", "read", name):
                    check_pattern(pattern)
            with at():
                check_best(metrics)
            with at():
                self.files(config)

    def identity(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        device = "cuda" if config["workload"]["resources"]["gpu"] else "cpu"
        own = {"device": device, "metrics": ", ".join(sorted(config["metrics"]))}
        steps = identity_of(config["metrics"])
        return {**super().identity(config), **versions(self.files(config).values()), **own, **steps}

    def sources(self, config: BaseModel) -> list[Any]:
        return [Reading, best_values, filled, runner.main]

    def files(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        words = [word for word in self.words(config, 0) if word != runner.__file__]
        return files_of(words, self.folder, config["workload"]["sources"])

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        own, files = config["workload"], dict.fromkeys(self.files(config).values())
        places = [
            f"a generator has the same seed in every trial at {at}" for at in seeded(files, own.get("seed"))
        ]
        known, command = named(files), str(own.get("command"))
        lost = [name for name in config["config"] if name not in known and f"{{{name}" not in command]
        rule = "named nowhere in the code, which may ignore it:"
        return [*places, *([f"{rule} {listed(f'config.{name}' for name in lost)}"] if lost else [])]

    def train(self, trial: Trial, emit: Emit) -> Record:
        """Runs it once; a run that ends otherwise than with exit code 0 and all metrics has failed."""
        own, config, metrics = (trial.config[name] for name in ("workload", "config", "metrics"))
        # The streams of a placebo are those of another seed.
        seed = stream_seed(trial.seed, "seed", trial.stream) % 2**31 if trial.stream else trial.seed
        words, resources, printed = self.words(trial.config, seed), own["resources"], "nothing"
        reading, none = Reading([*metrics], own["read"]), dict.fromkeys(metrics)
        if resources["memory"] is not None:
            limit = str(int(resources["memory"] * 2**20))
            words = ["sh", "-c", 'ulimit -d "$0"; exec "$@"', limit, *words]
        with TemporaryDirectory(prefix="ablate-", ignore_cleanup_errors=True) as place:
            env = dict.fromkeys(THREADS, str(resources["threads"]))
            env |= {"ABLATE_DIR": place, "ABLATE_CONFIG": json.dumps(config), "ABLATE_SEED": str(seed)}
            try:
                with closing(lines(words, self.folder, env, resources["time"])) as output:
                    for line in output:
                        print(line)
                        printed = line.strip() or printed
                        found = reading.hear(line)
                        if found and emit(reading.values[next(iter(found))][-1][0], found):
                            return Record.of(
                                trial, "pruned", reason="asked to stop", metrics=none, curves=reading.curves
                            )
                reading.finish(Path(place))
                values = reading.last | best_values(metrics, reading.values)
            except AblateError as error:
                read = listed(f"{name} {value:g}" for name, value in reading.last.items())
                reason = f"{error}; last read: {read or 'nothing'}; last printed: {printed[:200]}"
                return Record.of(trial, "failed", reason=reason, error=reason)
        every = [*reading.last.items(), *values.items()]
        if lost := dict.fromkeys(f"{name} {value:g}" for name, value in every if not math.isfinite(value)):
            return Record.of(trial, "diverged", reason=listed(lost), metrics=none, curves=reading.curves)
        return Record.of(trial, metrics={**none, **values}, curves=reading.curves)


@register("workload", "function")
class FunctionWorkload(External):
    """`train(config, seed, report=None)` of one's own, which returns metrics by name."""

    Options = options.FunctionOptions

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        module, _, name = config["workload"]["function"].rpartition(":")
        file = module if module.endswith(".py") else f"{module.replace('.', '/')}.py"
        tree = parsed(self.folder / file)
        found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if name not in found:
            rule, hint = (
                f"is no function that is defined in {module or 'a file'}",
                "Write train.py:train or package.module:train",
            )
            raise Invalid("workload.function", rule, name, listed(found), nearest(name, found) or hint)


@register("workload", "command")
class CommandWorkload(External):
    """A command of one's own, in which `{name}` stands for a setting and `{seed}` for the seed."""

    Options = options.CommandOptions

    def words(self, config: Mapping[str, Any], seed: int) -> list[str]:
        try:
            return filled(config["workload"]["command"], {**dict(_flat(config["config"])), "seed": seed})
        except Invalid as error:
            raise error.under("workload", "command") from None


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        yield f"{prefix}{key}", value
        yield from _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else ()


@register("workload", "script")
class ScriptWorkload(External):
    """A script of one's own without flags: constants at its top level are replaced in a temporary copy."""

    Options = options.ScriptOptions

    def check(self, config: Mapping[str, Any]) -> None:
        super().check(config)
        file, seed = Path(config["workload"]["script"]), config["workload"]["seed"]
        known, rule = constants(parsed(file)), f"is not assigned once at the top level of {file.name}"
        with Gather() as at:
            for name, place in {
                **{name: f"config.{name}" for name in config["config"]},
                seed: "workload.seed",
            }.items():
                at.refuse(name and name not in known, place, rule, name, listed(known), nearest(name, known))
