"""A script of a user's own, as a workload: its constants are replaced in a copy."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import register
from ablate.external.options import Options
from ablate.external.sources import constants, parsed
from ablate.external.workload import External


@register("workload", "script")
class ScriptWorkload(External):
    """A script of one's own without flags: constants at its top level are replaced in a temporary copy."""

    class Config(Options):
        """The script, and what its seed is called."""

        script: str
        "A Python file, relative to the study."
        seed: str | None = None
        "The constant that gets the seed."

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


def unread(tree: ast.Module, name: str) -> bool:
    """Whether nothing in a module reads a name, not even by looking through all of them."""
    names = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    return names.isdisjoint({name, "globals", "locals", "vars", "exec", "eval"})


def changed(file: Path, values: Mapping[str, Any], place: Path) -> Path:
    """A copy of a script in a folder of its own in `place`, with constants at its top level replaced.

    All that lies beside the script lies beside the copy, as links, so that it imports and opens the same.
    """
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    known = constants(parsed(file))
    for node, value in sorted(
        ((known[name], values[name]) for name in values), key=lambda one: (-one[0].lineno, -one[0].col_offset)
    ):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        source = source[:begin] + repr(value).encode() + source[end:]
    copy = place / "copy" / file.name
    copy.parent.mkdir()
    for other in file.parent.iterdir():
        if other != file:
            (copy.parent / other.name).symlink_to(other)
    copy.write_bytes(source)
    return copy
