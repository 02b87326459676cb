"""A command at commits of the repository that one stands in: one number of each run, kept as soon as it is known."""

import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ablate.base.errors import AblateError, Gather
from ablate.base.files import digest_of_data
from ablate.base.kept import Journal
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.base.text import is_utf8, safe
from ablate.commits.at_once import Stop, at_once, measures_time
from ablate.commits.lines import LINE, Call, FailedRun, Line, Run
from ablate.commits.trees import Tree, checked_out, git
from ablate.core.log_end import LogEnd
from ablate.core.metric import sign
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
    """The error of a run that failed, or from whose output no number can be read."""

    exit_code = 4


Wanted = tuple[Tree, int]
"""A run: a tree and its seed."""


@dataclass(frozen=True)
class Bench:
    """A base and one head or more, and the file that keeps their runs."""

    call: Call
    journal: Journal[Line]
    base: Tree
    heads: Sequence[Tree]
    data: Sequence[Data] = ()
    """The data that each run is linked to."""
    jobs: int = 1
    """The most runs at once."""

    @property
    def head(self) -> Tree:
        """The first head, or the only one."""
        return self.heads[0]

    @property
    def tried(self) -> list[Tree]:
        """The heads whose files differ from those of the base."""
        return [head for head in self.heads if head.digest != self.base.digest]

    def of(self, head: Tree) -> "Bench":
        """Returns the bench with one of its heads alone."""
        return replace(self, heads=[head])

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

    def runs_of(self, tree: Tree) -> list[Run]:
        """Returns the finished runs of a tree by this call."""
        # A ledger has mostly runs of other trees, of which no digest is made.
        of_tree = [run for run in self.runs if run.tree == tree.digest]
        return [run for run in of_tree if run.run == self._key(tree, run.seed)]

    def is_finished(self, run: Wanted) -> bool:
        """Returns whether the number of a run is known."""
        key = self._key(*run)
        return any(finished.run == key for finished in self.runs)

    def call_of(self, tree: Tree) -> Call:
        """Returns the call with the command of a tree."""
        return replace(self.call, command=[*tree.command]) if tree.command else self.call

    def _key(self, tree: Tree, seed: int) -> str:
        """Returns the digest by which a run is known again."""
        files = [tree.digest, tree.inside, *self.data_identity]
        return digest_of_data([RUNS, asdict(self.call_of(tree)), *files, seed])

    def measure(self, groups: Sequence[Sequence[Wanted]]) -> list[dict[Wanted, float] | NotMeasured]:
        """Returns the oriented metric of each run, by group, read from the lines or measured.

        After a run that fails, its group is that failure, and none of its other runs begins.
        """
        failures: dict[int, NotMeasured] = {}
        stop = Stop()
        missing = self._missing(groups, failures)
        with closing(at_once(missing, lambda task: self._measure(*task[1], stop), self.jobs, stop)) as ended:
            for (number, (tree, seed)), end in ended:
                key = self._key(tree, seed)
                error = end.exception()
                if error is None:
                    value, seconds = end.result()
                    self.journal.add(Run(key, tree.name, tree.digest, seed, value, seconds))
                    click.echo(safe(f"{tree.name}, seed {seed}: {self.call.metric} {value:g}"), err=True)
                elif isinstance(error, NotMeasured):
                    self.journal.add(FailedRun(key, tree.name, tree.digest, seed))
                    failures.setdefault(number, error)
                    if self.jobs > 1:  # Others go on, which may take long.
                        click.echo(safe(f"{tree.name}, seed {seed}: failed"), err=True)
                else:
                    raise error
        values = {run.run: run.value for run in reversed(self.runs)}
        results: list[dict[Wanted, float] | NotMeasured] = []
        for number, group in enumerate(groups):
            if number in failures:
                results.append(failures[number])
            else:
                results.append({run: sign(self.call) * values[self._key(*run)] for run in group})
        return results

    def _missing(
        self, groups: Sequence[Sequence[Wanted]], failures: Mapping[int, NotMeasured]
    ) -> Iterator[tuple[int, Wanted]]:
        """Yields each run that is not finished, once, with the number of its group, until that has a failure."""
        begun = {run.run for run in self.runs}
        for number, group in enumerate(groups):
            for run in group:
                key = self._key(*run)
                if number not in failures and key not in begun:
                    begun.add(key)
                    yield number, run

    def _measure(self, tree: Tree, seed: int, stop: Stop) -> tuple[float, float]:
        """Runs the command in a fresh copy of the commit; returns its number, and the seconds that it took.

        Raises `NotMeasured`.
        """
        metric = self.call.metric
        reading = Reading([metric], {metric: self.call.pattern} if self.call.pattern else {})
        words = filled(self.call_of(tree).command, {"seed": seed})
        printed = ""
        log_end = LogEnd()
        try:
            with (
                tree.fresh_copy(self.data) as copy,
                # Beside the copy: what a kill leaves goes with it.
                TemporaryDirectory(dir=tree.root.parent, ignore_cleanup_errors=True) as place,
            ):
                began = time.monotonic()
                with closing(lines(words, copy / tree.inside, _environment(seed, place), stop)) as output:
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
        """Measures each tree under each seed, and returns the numbers by tree. Raises `NotMeasured`.

        Which tree runs first alternates. Refuses a tree whose numbers are the same under all seeds.
        """
        [values] = self.measure([in_turn(trees, seeds)])
        if isinstance(values, NotMeasured):
            raise values
        return sides_of(values, trees, seeds)

    def num_failed(self, tree: Tree) -> int:
        """Returns how many runs of these files failed before one of the same seed was finished."""
        finished = {run.run for run in self.runs_of(tree)}
        failed = [line.failed for line in self.journal.lines if isinstance(line, FailedRun)]
        return sum(run in finished for run in failed)

    def seconds(self, tree: Tree) -> list[float]:
        """Returns the seconds that each finished run of these files took."""
        return [run.seconds for run in self.runs_of(tree)]


def in_turn(trees: Sequence[Tree], seeds: Sequence[int]) -> list[Wanted]:
    """Returns the runs of trees under seeds; which tree runs first alternates."""
    runs: list[Wanted] = []
    for seed in seeds:
        order = trees if seed % 2 else trees[::-1]
        runs += [(tree, seed) for tree in order]
    return runs


def sides_of(
    values: Mapping[Wanted, float], trees: Sequence[Tree], seeds: Sequence[int]
) -> list[list[float]]:
    """Returns the numbers of runs by tree. Raises `AblateError` for a tree that has the same number under all seeds."""
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


def _environment(seed: int, place: str) -> dict[str, str]:
    """Returns the variables of a run: its seed, the folder for its files, and the path of the hook."""
    python_path = [str(Path(__file__).with_name("hook"))]
    if os.environ.get("PYTHONPATH"):
        python_path.append(os.environ["PYTHONPATH"])
    return {"ABLATE_SEED": str(seed), "ABLATE_DIR": place, "PYTHONPATH": os.pathsep.join(python_path)}


@contextmanager
def opened(
    call: Call,
    path: Path,
    names: Sequence[str],
    remedy: str,
    *,
    jobs: int = 1,
    base_command: Sequence[str] = (),
) -> Iterator[Bench]:
    """Yields the bench of commits whose lines are in a file; waits, and says so, while another process has it.

    names: the base, and one head or more.
    remedy: what to do with a file that is refused.
    jobs: the most runs at once.
    base_command: what runs at the base in place of the command of the call.

    Raises `AblateError` outside of a repository, for an unknown commit, and for files that have changed since the last.
    """
    _check_call(call, names, jobs, base_command)
    changed = git("status", "--porcelain", "--untracked-files=no")
    if changed:
        raise AblateError(f"the work tree has changes that are in no commit: commit or stash them\n{changed}")
    data = _linked(call.links)
    with exclusive(path.parent, path.name, lambda said: click.echo(safe(said), err=True)), interruptible():
        journal = Journal(path, LINE, remedy)
        with checked_out(names, data) as (base, *heads):
            if base_command:
                base = _with_command(base, base_command)
                heads = [_with_command(head, call.command) for head in heads]
            yield Bench(call, journal, base, heads, data, jobs)
            for file in check_unchanged(data):
                added = f"{file}: was added to the linked data by a run, so that a later call starts anew"
                click.echo(safe(added), err=True)


def _check_call(call: Call, names: Sequence[str], jobs: int, base_command: Sequence[str]) -> None:
    """Raises `Invalid` for the mistakes of a call that can be seen before its commits are looked up."""
    words = [*names, *call.command, *base_command, call.metric, call.pattern, *call.links]
    with Gather() as at:
        for word in words:
            at.refuse(not is_utf8(word), "call", "each word must be UTF-8, as the file of its runs is", word)
        with at("--read"):
            check_pattern(call.pattern or "()")
        is_taken = call.metric in ("", STEP)
        at.refuse(is_taken, "--read", "is not the name of a metric", call.metric, "NAME or NAME=PATTERN")
        is_disturbed = jobs > 1 and measures_time(call.metric)
        rule = f"cannot measure {call.metric}: runs at the same time slow one another down"
        at.refuse(is_disturbed, "--jobs", rule, jobs, "1")
        if base_command:
            with at("--base-command"):
                filled(base_command, {"seed": 0})
        is_equal = [*base_command] == [*call.command]
        at.refuse(is_equal, "--base-command", "is the same as the command that it is compared with")


def _with_command(tree: Tree, command: Sequence[str]) -> Tree:
    """Returns a tree with a command of its own, which is part of its name."""
    return replace(tree, name=f"{tree.name} with `{shlex.join(command)}`", command=tuple(command))


def _linked(links: Sequence[str]) -> list[Data]:
    """Reads the data that runs are linked to. Raises `Invalid`."""
    root = Path(git("rev-parse", "--show-toplevel"))
    data: list[Data] = []
    with Gather() as at:
        for link in links:
            with at():
                data.append(read_data(link, at=(f"--link {link}",), folder=Path.cwd(), root=root))
    return data
