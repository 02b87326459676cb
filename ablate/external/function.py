"""A function of a user's own, as a workload."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablate.base.errors import Invalid, listed, nearest
from ablate.base.registry import register
from ablate.external import calling
from ablate.external.options import Options
from ablate.external.reading import Reading
from ablate.external.sources import constants, parsed
from ablate.external.workload import External


@register("workload", "function")
class FunctionWorkload(External):
    """`train(config, seed, report=None)` of one's own, which returns metrics by name."""

    class Config(Options):
        """Where the function is."""

        function: str
        "`train.py:train`, or `package.module:train`, relative to the study."

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
        return reading.add(told)

    def shown(self, config: Mapping[str, Any], seed: int) -> str:
        """The call."""
        return f"{self.options.function}({config['config']}, {seed})"
