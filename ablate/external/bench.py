"""A command on the files of commits: one number of each run, which is kept as soon as it is known."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ablate.base.errors import AblateError, Invalid
from ablate.base.files import digest_of_data, write_text
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.wording import counted
from ablate.external.command import filled, placeholders, run
from ablate.external.commits import Tree, work_trees
from ablate.external.reading import Reading, compiled

HOOK = Path(__file__).parent / "hook"


class NotMeasured(AblateError):
    """A run that failed, or from which its number cannot be read."""

    exit_code = 4

    def __init__(self, tree: Tree, message: str) -> None:
        super().__init__(f"{tree}, {message}")
        self.tree = tree


@dataclass(frozen=True)
class Call:
    """A command, and the number that is read of it."""

    command: Sequence[str]  # With `{seed}`.
    read: tuple[str, str]  # Its name and a pattern for a line of output; without one, it is written as JSON.
    direction: str
    links: Sequence[str] = ()
    limit: float | None = None  # Seconds.


@dataclass(frozen=True)
class Bench:
    """Work trees, and the lines of a file of JSON lines, which a kill leaves whole and one process at a time holds."""

    call: Call
    path: Path
    trees: Sequence[Tree]
    lines: list[dict[str, Any]]
    say: Callable[[str], None]

    def add(self, **line: Any) -> dict[str, Any]:
        """Writes a line, whole or not at all, and returns it."""
        self.lines.append(line)
        write_text(self.path, "".join(f"{json.dumps(each)}\n" for each in self.lines))
        return line

    def run(self, tree: Tree, seed: int) -> float:
        """The number of a run, from the lines where they have it. Raises `NotMeasured`."""
        key = digest_of_data([asdict(self.call), tree.digest, str(tree.folder.relative_to(tree.root)), seed])
        known = [line["value"] for line in self.lines if line.get("run") == key]
        if not known:
            known = [self._measured(tree, seed)]
            self.add(run=key, commit=tree.commit, seed=seed, value=known[0])
            self.say(f"{tree}, seed {seed}: {self.call.read[0]} {known[0]:g}")
        return float(known[0])

    def _measured(self, tree: Tree, seed: int) -> float:
        call, (name, pattern) = self.call, self.call.read
        reading = Reading({name: compiled(pattern)} if pattern else {})
        with TemporaryDirectory() as place:
            paths = os.pathsep.join(filter(None, (str(HOOK), os.environ.get("PYTHONPATH"))))
            env = {"ABLATE_DIR": place, "ABLATE_SEED": str(seed), "PYTHONPATH": paths}
            words = filled(call.command, {"seed": seed})
            ended = run(words, tree.folder, env, lambda line: reading.hear(line) is None, call.limit)
            reading.collect(Path(place))
            texts = [file.read_text() for file in Path(place).glob("modules-*.txt")]
        for line in "".join(texts).splitlines():
            tree.refuse_other(*line.split("\t"))
        if fault := ended.fault or reading.lacks([name]) or reading.unbounded:
            raise NotMeasured(tree, f"seed {seed}: {fault}; its output ended with:\n{ended.output[-2000:]}")
        return reading.last[name]


@contextmanager
def opened(call: Call, path: Path, names: Sequence[str], say: Callable[[str], None]) -> Iterator[Bench]:
    """The bench of commits whose lines are in a file; waits, and says so, while another process has it."""
    if "seed" not in placeholders(call.command):
        raise Invalid("COMMAND", "must take its seed: write {seed} where it stands", " ".join(call.command))
    with (
        exclusive(path.parent, path.name, say),
        interruptible(),
        work_trees(names, call.links, path) as trees,
    ):
        try:
            lines = (
                [dict(json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
            )
        except (ValueError, TypeError) as error:
            raise AblateError(f"{path}: is no file of JSON lines: {error}; name another") from None
        try:
            yield Bench(call, path, trees, lines, say)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(counted(sum("run" in line for line in lines), "finished run")) from None


def refuse_equal(values: Sequence[float]) -> None:
    """Refuses runs under different seeds that all gave one value."""
    if len({*values}) == 1:
        raise AblateError(
            f"{counted(len(values), 'run')} under different seeds all gave {values[0]:g}: the command does not use its "
            "seed, or the metric is at its limit. Look for a seed that the code sets itself, or read another metric"
        )
