"""A command at commits of the repository that one stands in: one number of each run, kept as soon as it is known."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click

from ablate.base.errors import AblateError, Gather
from ablate.base.files import digest_of_data, write_text
from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.external.command import filled, lines
from ablate.external.reading import Reading, check_pattern


class NotMeasured(AblateError):
    """A run that failed, or from which its number cannot be read."""

    exit_code = 4


class Tree(NamedTuple):
    """A commit in a work tree of its own."""

    name: str  # As it was called, and the start of its hash.
    digest: str  # Of all its files, git's own.
    root: Path
    inside: str  # The folder in it in which commands run: where one stands in the repository.

    def refuse_others(self, place: Path) -> None:
        """Refuses what a run has loaded, by the lists of `hook`, from another work tree although the commit has it."""
        files = [Path(line) for each in place.glob("files-*.txt") for line in each.read_text().splitlines()]
        others = {
            line.removeprefix("worktree ")
            for line in git("worktree", "list", "--porcelain").splitlines()
            if line.startswith("worktree ")
        }
        if wrong := [
            file
            for file in files
            for other in others - {str(self.root)}
            if file.is_relative_to(other) and (self.root / file.relative_to(other)).is_file()
        ]:
            raise AblateError(
                f"{min(wrong)} was loaded, not that of the commit: both commits run the same code. "
                "Uninstall it, and set PYTHONPATH=src, or where it lies; name a script by its relative path"
            )


class Bench(NamedTuple):
    """Work trees, and the lines of a file of JSON lines, which a kill leaves whole."""

    call: Mapping[str, Any]  # What is run and read, by the names of `call_options`.
    path: Path
    trees: Sequence[Tree]
    lines: list[dict[str, Any]]

    def add(self, **line: Any) -> None:
        """Writes a line."""
        self.lines.append(line)
        write_text(self.path, "".join(f"{json.dumps(each)}\n" for each in self.lines))

    def run(self, tree: Tree, seed: int) -> float:
        """Returns the metric of one run, oriented, from the kept lines where they have it. Raises `NotMeasured`."""
        name, pattern = self.call["read"]
        key = digest_of_data([self.call, tree.digest, tree.inside, seed])
        value: float | None = next((line["value"] for line in self.lines if line.get("run") == key), None)
        if value is None:
            reading, printed = Reading([name], {name: pattern} if pattern else {}), ""
            words = filled(self.call["command"], {"seed": seed})
            env = {
                "ABLATE_SEED": str(seed),
                "PYTHONPATH": os.pathsep.join(
                    filter(None, [str(Path(__file__).with_name("hook")), os.environ.get("PYTHONPATH")])
                ),
            }
            try:
                with (
                    TemporaryDirectory() as place,
                    closing(lines(words, tree.root / tree.inside, env | {"ABLATE_DIR": place})) as output,
                ):
                    for line in output:
                        printed = f"{printed}\n{line}"[-2000:]
                        reading.hear(line)
                    tree.refuse_others(Path(place))
                    reading.finish(Path(place))
                if not abs(value := reading.last[name]) < float("inf"):
                    raise AblateError(f"{name} is {value}")
            except AblateError as error:
                raise NotMeasured(
                    f"{tree.name}, seed {seed}: {error}; it printed:\n{printed.strip()}"
                ) from None
            self.add(run=key, commit=tree.name, seed=seed, value=value)
            click.echo(f"{tree.name}, seed {seed}: {name} {value:g}", err=True)
        return value if self.call["direction"] == "max" else -value

    def values(self, trees: Sequence[Tree], seeds: Sequence[int]) -> list[list[float]]:
        """Measures each tree under each seed, and returns the numbers by tree.

        Which tree runs first alternates. Refuses a tree whose numbers are the same under all seeds.
        """
        found = {
            (tree, seed): self.run(tree, seed) for seed in seeds for tree in trees[:: 1 if seed % 2 else -1]
        }
        sides = [[found[tree, seed] for seed in seeds] for tree in trees]
        if any(len({*side}) == 1 for side in sides):
            raise AblateError(
                f"{len(seeds)} runs of one commit under different seeds all gave the same: the command does not use "
                "its seed, or the metric is at its limit. Look for a seed that the code sets itself, or read another"
            )
        return sides


@contextmanager
def opened(call: Mapping[str, Any], path: Path, names: Sequence[str]) -> Iterator[Bench]:
    """The bench of commits whose lines are in a file; waits, and says so, while another process has it.

    Raises `AblateError` outside of a repository, for an unknown commit, and for files that have changed since the last.
    """
    with Gather() as at, at("--read"):
        check_pattern(call["read"][1] or "()")
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        raise AblateError(f"the work tree has changes that are in no commit: commit or stash them\n{changed}")
    with (
        exclusive(path.parent, path.name, lambda said: click.echo(said, err=True)),
        interruptible(),
        TemporaryDirectory(prefix="ablate-") as place,
        ExitStack() as undo,
    ):
        try:
            found = map(json.loads, path.read_text().splitlines() if path.exists() else [])
            # All of them have the commit.
            kept = [{"commit": line["commit"], **line} for line in found]
        except (ValueError, TypeError, KeyError) as error:
            raise AblateError(f"{path}: is no file of such runs ({error!r}); name another") from None
        trees = [
            _tree(name, Path(place, side).resolve(), call["links"], undo)
            for name, side in zip(names, ("base", "head"), strict=True)
        ]
        yield Bench(call, path, trees, kept)


def _tree(name: str, root: Path, links: Sequence[str], undo: ExitStack) -> Tree:
    """Checks a commit out into a work tree at `root`, and links what git ignores at `links` into it."""
    commit, digest = git("log", "-1", "--format=%H %T", "--end-of-options", name, "--").split()
    tree = Tree(f"{name} ({commit[:10]})", digest, root, git("rev-parse", "--show-prefix"))
    git("worktree", "add", "--detach", root, commit)
    undo.callback(git, "worktree", "remove", "--force", root)
    for link in links:
        if os.path.lexists(target := root / tree.inside / link):
            raise AblateError(f"--link {link}: is in {tree.name}; link what git ignores, by a relative path")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(Path(link).resolve())
    return tree


def git(*words: object) -> str:
    """What git prints. Raises `AblateError` with what it says where it fails."""
    try:
        return subprocess.run(
            ["git", *map(str, words)], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise AblateError(f"git {words[0]}: {str(getattr(error, 'stderr', error)).strip()}") from None
