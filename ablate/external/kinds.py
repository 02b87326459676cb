"""The ways to run one's own code: a function, a command, a script."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import register
from ablate.external import calling
from ablate.external.command import filled, placeholders, split
from ablate.external.constants import changed, constants, parsed, unread
from ablate.external.options import Options
from ablate.external.reading import STEP, Reading
from ablate.external.sources import named_in
from ablate.external.workload import External


@register("workload", "function")
class FunctionWorkload(External):
    """`train(config, seed, report=None)` of one's own, which returns metrics by name."""

    class Config(Options):
        """Where the function is."""

        function: Annotated[
            str, Field(description="`train.py:train`, or `package.module:train`, relative to the study.")
        ]

    options: Config

    def entries(self, config: Mapping[str, Any]) -> list[Path]:
        """Its file."""
        module, _, name = self.options.function.rpartition(":")
        file = self.folder / (module if module.endswith(".py") else module.replace(".", "/") + ".py")
        field = "workload.function"
        if not module or not file.is_file():
            raise Invalid(field, "is no function in a file", self.options.function, "as in train.py:train")
        found = {node.name: node.args for node in parsed(file).body if isinstance(node, ast.FunctionDef)}
        if name not in {**found, **constants(parsed(file))}:
            raise Invalid(field, f"is not defined in {file.name}", name, listed(found), nearest(name, found))
        if (args := found.get(name)) is not None:
            required = [*args.posonlyargs, *args.args][: -len(args.defaults) or None]
            others = [arg.arg for arg in required[2:] if arg.arg != "report"]
            if others or len([*args.posonlyargs, *args.args]) + 2 * bool(args.vararg) < 2:
                rule = "must take config and seed, and may take report"
                raise Invalid(
                    field, rule, f"{name}({ast.unparse(args)})", f"{name}(config, seed, report=None)"
                )
        return [file.resolve()]

    def words(self, config: Mapping[str, Any], seed: int, place: Path) -> list[str]:
        """See `ablate.external.calling`."""
        return [sys.executable, "-P", calling.__file__, self.options.function]

    def heard(self, reading: Reading, line: str) -> Mapping[str, float]:
        """What the function reports, or prints."""
        if not line.startswith(calling.MARK):
            return reading.hear(line)
        told = json.loads(line.removeprefix(calling.MARK))
        reading.unread = told.pop(calling.UNREAD, reading.unread)
        found = reading.add(told)
        # What it returns is no report, to which there would be an answer.
        return found if STEP in told else {}

    def shown(self, config: Mapping[str, Any], seed: int) -> str:
        """The call."""
        return f"{self.options.function}({config['config']}, {seed})"


@register("workload", "command")
class CommandWorkload(External):
    """A command of one's own, in which `{name}` stands for a setting and `{seed}` for the seed."""

    class Config(Options):
        """The command."""

        command: Annotated[
            str | list[str], Field(description="Split as a shell would, and run without one; {{ is a brace.")
        ]

    options: Config

    def words(self, config: Mapping[str, Any], seed: int, place: Path) -> list[str]:
        """See `ablate.external.command`."""
        try:
            return filled(split(self.options.command), {**_flat(config), "seed": seed})
        except Invalid as error:
            raise error.under("workload", "command") from None

    def entries(self, config: Mapping[str, Any]) -> list[Path]:
        """The files of the program that its words name."""
        return named_in(self.words(config, 0, Path()), self.folder)

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """With settings that it does not use."""
        used = placeholders(split(self.options.command))
        lost = {"ABLATE_CONFIG": [*_flat(config["config"])], "ABLATE_SEED": ["seed"]}
        rules = [
            f"the command has no {{{name}}}, which changes nothing unless it reads ${variable}"
            for variable, names in lost.items()
            for name in names
            if name not in used
        ]
        return [*rules, *super().cautions(config)]


@register("workload", "script")
class ScriptWorkload(External):
    """A script of one's own without flags: constants at its top level are replaced in a temporary copy."""

    class Config(Options):
        """The script, and what its seed is called."""

        script: Annotated[str, Field(description="A Python file, relative to the study.")]
        seed: Annotated[str | None, Field(description="The constant that gets the seed.")] = None

    options: Config

    def entries(self, config: Mapping[str, Any]) -> list[Path]:
        """The script."""
        file = self.folder / self.options.script
        if not file.is_file() or file.suffix != ".py":
            raise Invalid("workload.script", "is no Python file", self.options.script)
        return [file.resolve()]

    def _values(self, config: Mapping[str, Any], seed: int) -> dict[str, Any]:
        return {**config, **({self.options.seed: seed} if self.options.seed else {})}

    def check(self, config: Mapping[str, Any]) -> None:
        """Every setting is a constant at its top level, which something reads."""
        (file,), tree = self.entries(config["config"]), parsed(self.folder / self.options.script)
        known = constants(tree)
        with Gather() as at:
            for name in self._values(config["config"], 0):
                place = "workload.seed" if name == self.options.seed else f"config.{name}"
                rule = f"is not a constant that is assigned once at the top level of {file.name}"
                at.refuse(name not in known, place, rule, name, listed(known), nearest(name, known))
                at.refuse(name in known and unread(tree, name), place, f"is never read in {file.name}", name)
        super().check(config)

    def words(self, config: Mapping[str, Any], seed: int, place: Path) -> list[str]:
        """The copy is written when the trial's own folder is there."""
        (file,) = self.entries(config)
        if place.is_dir():
            file = changed(file, self._values(config, seed), place)
        return [sys.executable, str(file)]

    def cautions(self, config: Mapping[str, Any]) -> list[str]:
        """With a seed that it is not given."""
        rule = "`workload` names no constant for the seed, so that it changes nothing"
        return [*([] if self.options.seed else [rule]), *super().cautions(config)]

    def shown(self, config: Mapping[str, Any], seed: int) -> str:
        """The script with its constants."""
        values = (f"{name}={value!r}" for name, value in self._values(config["config"], seed).items())
        return f"python {self.options.script} with {', '.join(values)}"


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted path → value, of a mapping and of all in it."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found
