"""One number of one run of a command on the files of a commit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ablate.base.errors import AblateError, Invalid
from ablate.base.files import digest_of_data
from ablate.base.wording import counted
from ablate.core.metric import Direction
from ablate.external.command import filled, placeholders, run, split
from ablate.external.ledger import Ledger
from ablate.external.reading import Reading, compiled
from ablate.external.trees import Tree

HOOK = Path(__file__).parent / "hook"


class NotMeasured(AblateError):
    """A run that failed, or from which its number cannot be read."""

    exit_code = 4

    def __init__(self, tree: Tree, seed: int, fault: str, output: str) -> None:
        super().__init__(f"{tree}, seed {seed}: {fault}; its output ended with:\n{output[-2000:]}")
        self.tree = tree


@dataclass(frozen=True)
class Call:
    """A command with `{seed}`, and what is read of it: `NAME=PATTERN`, or the name of what it reports as JSON."""

    command: Sequence[str]
    read: str
    direction: Direction
    links: Sequence[Path] = ()
    limit: float | None = None  # Seconds.

    def __post_init__(self) -> None:
        if "seed" not in placeholders(split(self.command)):
            raise Invalid(
                "COMMAND", "must take its seed: write {seed} where it stands", " ".join(self.command)
            )
        filled(self.command, {"seed": 0})
        self.reading()

    @property
    def metric(self) -> str:
        """Its name."""
        return self.read.partition("=")[0]

    def reading(self) -> Reading:
        """Of one run."""
        name, _, pattern = self.read.partition("=")
        return Reading({name: compiled(pattern)} if pattern else {})

    @property
    def facts(self) -> dict[str, Any]:
        """What its numbers depend on, plain data."""
        links = [*map(str, self.links)]
        return {"command": [*self.command], "read": self.read, "direction": self.direction, "links": links}

    def measure(self, tree: Tree, seed: int, ledger: Ledger, say: Callable[[str], None]) -> float:
        """The number, from the ledger where it is there."""
        key = digest_of_data([tree.digest, self.facts, seed, str(tree.folder.relative_to(tree.root))])
        known = (line["value"] for line in ledger.lines if line.get("run") == key)
        if (value := next(known, None)) is None:
            value = self._run(tree, seed)
            ledger.add(run=key, commit=tree.commit, seed=seed, value=value)
            say(f"{tree}, seed {seed}: {self.metric} {value:g}")
        return float(value)

    def _run(self, tree: Tree, seed: int) -> float:
        with TemporaryDirectory() as name:
            place, reading = Path(name), self.reading()
            path = os.pathsep.join(filter(None, (str(HOOK), os.environ.get("PYTHONPATH"))))
            env = {"ABLATE_DIR": name, "ABLATE_SEED": str(seed), "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}

            def hear(line: str) -> bool:
                reading.hear(line)
                return False

            ended = run(filled(self.command, {"seed": seed}), tree.folder, env, hear, self.limit)
            reading.collect(place)
            loaded = [line.split("\t") for file in place.glob("modules-*.txt") for line in file.open()]
        for module, file in loaded:
            _refuse_other(tree, module, Path(file.strip()))
        if fault := ended.fault or reading.lacks([self.metric]) or reading.unbounded:
            raise NotMeasured(tree, seed, fault, ended.output)
        return reading.last[self.metric]


def refuse_equal(values: Sequence[float]) -> None:
    """Refuses runs under different seeds that all gave one value."""
    if len({*values}) == 1:
        raise AblateError(
            f"{counted(len(values), 'run')} under different seeds all gave {values[0]:g}: the command does not use its "
            "seed, or the metric is at its limit. Look for a seed that the code sets itself, or read another metric"
        )


def _refuse_other(tree: Tree, module: str, file: Path) -> None:
    """Refuses a module of which the commit has a file, where another was loaded."""
    if file.is_relative_to(tree.root) or module.partition(".")[0] in sys.stdlib_module_names:
        return
    end = Path(*module.split("."), "__init__") if file.stem == "__init__" else Path(*module.split("."))
    places = [tree.root / end, tree.root / "src" / end, tree.folder / end]
    if file.is_relative_to(tree.origin):
        places.append(tree.root / file.relative_to(tree.origin))
    if own := next((path for path in places if path.with_suffix(".py").is_file()), None):
        raise AblateError(
            f"{tree}: {module} was loaded from {file} and not from {own.relative_to(tree.root)}.py of the commit, so "
            "that both commits run the same code. Uninstall it (pip uninstall), and name its folder by PYTHONPATH=src"
        )
