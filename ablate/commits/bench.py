"""A command at commits of the repository that one stands in: one number of each run, kept as soon as it is known."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ablate.base.errors import AblateError, Gather
from ablate.base.files import digest_of_data
from ablate.base.kept import Journal
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.text import is_utf8, safe
from ablate.commits.lines import LINE, Call, FailedRun, Line, Run
from ablate.commits.trees import Tree, checked_out, git
from ablate.core.log_end import LogEnd
from ablate.external.command import filled, lines
from ablate.external.data import Data, check_unchanged, read_data
from ablate.external.matching import check_pattern
from ablate.external.reading import Reading
from ablate.external.undeclared import STEP

RUNS = 2
"""The format of the digests by which finished runs are known again."""
MAX_VALUE = 1e60
"""The largest number of a run, whose fourth power is a float, too."""
SHOWN = 2000
"""Characters of a run's output that an error shows."""


class NotMeasured(AblateError):
    """A run that failed, or from which its number cannot be read."""

    exit_code = 4


@dataclass(frozen=True)
class Bench:
    """Two commits, and the file that keeps their runs."""

    call: Call
    journal: Journal[Line]
    base: Tree
    head: Tree
    data: Sequence[Data] = ()
    """The data that each run is linked to."""

    @property
    def data_identity(self) -> list[str]:
        """The identity of each entry of data."""
        return [entry.identity for entry in self.data]

    @property
    def path(self) -> Path:
        """The file that keeps the runs."""
        return self.journal.path

    @property
    def runs(self) -> list[Run]:
        """All finished runs of the file."""
        return [line for line in self.journal.lines if isinstance(line, Run)]

    def run(self, tree: Tree, seed: int) -> float:
        """Returns the metric of one run, oriented, read from the lines or measured. Raises `NotMeasured`."""
        files = [tree.digest, tree.inside, *self.data_identity]
        key = digest_of_data([RUNS, asdict(self.call), *files, seed])
        finished = [run for run in self.runs if run.run == key]
        if finished:
            value = finished[0].value
        else:
            try:
                value, seconds = self._measure(tree, seed)
            except NotMeasured:
                self.journal.add(FailedRun(key, tree.name, tree.digest, seed))
                raise
            self.journal.add(Run(key, tree.name, tree.digest, seed, value, seconds))
            click.echo(safe(f"{tree.name}, seed {seed}: {self.call.metric} {value:g}"), err=True)
        return value if self.call.direction == "max" else -value

    def _measure(self, tree: Tree, seed: int) -> tuple[float, float]:
        """Runs the command in a fresh copy of the commit; returns its number, and the seconds that it took.

        Raises `NotMeasured`.
        """
        metric = self.call.metric
        reading = Reading([metric], {metric: self.call.pattern} if self.call.pattern else {})
        words = filled(self.call.command, {"seed": seed})
        printed = ""
        log_end = LogEnd()
        try:
            with (
                tree.fresh_copy(self.data) as copy,
                # Beside the copy: what a kill leaves goes with it.
                TemporaryDirectory(dir=tree.root.parent, ignore_cleanup_errors=True) as place,
            ):
                began = time.monotonic()
                with closing(lines(words, copy / tree.inside, _environment(seed, place))) as output:
                    for line in output:
                        printed = f"{printed}\n{line}"[-SHOWN:]
                        log_end.add(line)
                        if reading.hear(line):
                            log_end.clear()
                seconds = round(time.monotonic() - began, 3)
                log_end.refuse_failure()
                tree.refuse_files_of_others(Path(place))
                reading.finish(Path(place))
            check_unchanged(self.data)
            value = reading.last[metric]
            if not abs(value) <= MAX_VALUE:
                raise AblateError(f"{metric} is {value:g}, no number of at most {MAX_VALUE:g}")
        except AblateError as error:
            raise NotMeasured(f"{tree.name}, seed {seed}: {error}; it printed:\n{printed.strip()}") from None
        return value, seconds

    def values(self, trees: Sequence[Tree], seeds: Sequence[int]) -> list[list[float]]:
        """Measures each tree under each seed, and returns the numbers by tree.

        Which tree runs first alternates. Refuses a tree whose numbers are the same under all seeds.
        """
        values: dict[tuple[Tree, int], float] = {}
        for seed in seeds:
            order = trees if seed % 2 else trees[::-1]
            for tree in order:
                values[tree, seed] = self.run(tree, seed)
        sides: list[list[float]] = []
        for tree in trees:
            sides.append([values[tree, seed] for seed in seeds])
        if any(len(set(side)) == 1 for side in sides):
            raise AblateError(
                f"{len(seeds)} runs of one commit with different seeds all gave the same value: the command does not "
                "use its seed, or the metric is at its limit. Look for a seed that the code sets itself, or read "
                "another metric"
            )
        return sides

    def num_failed(self, tree: Tree) -> int:
        """Returns how many runs of these files failed before one of the same seed was finished."""
        finished = {run.run for run in self.runs if run.tree == tree.digest}
        failed = [line.failed for line in self.journal.lines if isinstance(line, FailedRun)]
        return sum(run in finished for run in failed)

    def seconds(self, tree: Tree) -> list[float]:
        """Returns the seconds that each finished run of these files took."""
        return [run.seconds for run in self.runs if run.tree == tree.digest]


def _environment(seed: int, place: str) -> dict[str, str]:
    """Returns the variables of a run: its seed, the folder for its files, and the path of the hook."""
    python_path = [str(Path(__file__).with_name("hook"))]
    if os.environ.get("PYTHONPATH"):
        python_path.append(os.environ["PYTHONPATH"])
    return {"ABLATE_SEED": str(seed), "ABLATE_DIR": place, "PYTHONPATH": os.pathsep.join(python_path)}


@contextmanager
def opened(call: Call, path: Path, names: Sequence[str], remedy: str) -> Iterator[Bench]:
    """Yields the bench of two commits whose lines are in a file; waits, and says so, while another process has it.

    remedy: what to do with a file that is refused.

    Raises `AblateError` outside of a repository, for an unknown commit, and for files that have changed since the last.
    """
    words = [*names, *call.command, call.metric, call.pattern, *call.links]
    with Gather() as at:
        for word in words:
            at.refuse(not is_utf8(word), "call", "each word must be UTF-8, as the file of its runs is", word)
        with at("--read"):
            check_pattern(call.pattern or "()")
        is_taken = call.metric in ("", STEP)
        at.refuse(is_taken, "--read", "is not the name of a metric", call.metric, "NAME or NAME=PATTERN")
    changed = git("status", "--porcelain", "--untracked-files=no")
    if changed:
        raise AblateError(f"the work tree has changes that are in no commit: commit or stash them\n{changed}")
    data = _linked(call.links)
    with exclusive(path.parent, path.name, lambda said: click.echo(safe(said), err=True)), interruptible():
        journal = Journal(path, LINE, remedy)
        with checked_out(names, data) as (base, head):
            yield Bench(call, journal, base, head, data)
            for file in check_unchanged(data):
                added = f"{file}: was added to the linked data by a run, so that a later call starts anew"
                click.echo(safe(added), err=True)


def _linked(links: Sequence[str]) -> list[Data]:
    """Reads the data that runs are linked to. Raises `Invalid`."""
    root = Path(git("rev-parse", "--show-toplevel"))
    data: list[Data] = []
    with Gather() as at:
        for link in links:
            with at():
                data.append(read_data(link, at=(f"--link {link}",), folder=Path.cwd(), root=root))
    return data
