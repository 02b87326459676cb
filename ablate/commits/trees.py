"""Commits in folders of their own, and the fresh copy of one in which each run happens.

Files that a run writes beside the code, such as a checkpoint from which the next would go on, go with its copy.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ablate.base.errors import AblateError, dotted_path
from ablate.base.files import NotReadableError, read_plain
from ablate.base.git import without_repository
from ablate.base.scratch import scratch
from ablate.external.data import Data, link_data
from ablate.external.repository import check_out

MAX_LISTING = 10 * 2**20
"""Bytes of a list of loaded files."""


@dataclass(frozen=True)
class Tree:
    """A commit in a folder of its own, which no run touches."""

    name: str
    """The name that the call gave it, and the start of its hash."""
    commit: str
    """The full hash of the commit."""
    digest: str
    """Git's digest of all its files."""
    root: Path
    inside: str
    """The folder below the root in which commands run: the working directory of the call."""
    command: tuple[str, ...] = ()
    """A command of its own; empty where that of the call runs."""

    @contextmanager
    def fresh_copy(self, data: Sequence[Data]) -> Iterator[Path]:
        """Yields the root of a temporary copy of the files, with links to data in it.

        Git finds the commit there, and no other run sees the commits of this one.
        """
        with TemporaryDirectory(prefix="run-", dir=self.root.parent, ignore_cleanup_errors=True) as place:
            copy = Path(place).resolve()
            shutil.copytree(self.root, copy, symlinks=True, dirs_exist_ok=True)
            link_data(data, copy)
            yield copy

    def refuse_files_of_others(self, lists: Path) -> None:
        """Raises `AblateError` for a module loaded from another work tree although the commit has it.

        lists: the folder with the names of loaded files, as left by `hook`.
        """
        files = []
        for listing in lists.glob("files-*.txt"):
            try:
                names = read_plain(listing, MAX_LISTING).split(b"\n")
            except NotReadableError:
                continue  # The code has put something else in its place.
            files += [Path(os.fsdecode(name)) for name in names if name and b"\0" not in name]
        wrong = []
        checked_out_here = [self.root.parent / "base", *self.root.parent.glob("head*")]
        for other in [*_work_trees(), *checked_out_here]:
            loaded = [file for file in files if file.is_relative_to(other)]
            wrong += [file for file in loaded if (self.root / file.relative_to(other)).is_file()]
        if wrong:
            raise AblateError(
                f"{min(wrong)} was loaded instead of the commit's own file, so that both commits run the same code. "
                "Uninstall it, and set PYTHONPATH to its folder, such as src; name a script by a relative path"
            )


@contextmanager
def checked_out(names: Sequence[str], data: Sequence[Data]) -> Iterator[list[Tree]]:
    """Yields a base and one head or more in folders of their own, removed at the end; the repository stays as it is.

    Raises `AblateError` for an unknown commit, and for data that are in one.
    """
    with scratch("commits") as place:
        trees = []
        for number, name in enumerate(names):
            side = f"head-{number}" if number > 1 else ("base", "head")[number]
            trees.append(_check_out(name, Path(place, side).resolve(), data))
        yield trees


def _check_out(name: str, root: Path, data: Sequence[Data]) -> Tree:
    """Checks a commit out into a new folder at `root`."""
    commit = _commit_of(name)
    digest = git("rev-parse", f"{commit}^{{tree}}")
    inside = git("rev-parse", "--show-prefix")
    check_out(Path(git("rev-parse", "--show-toplevel")), commit, root)
    for entry in data:
        if entry.inside and os.path.lexists(root / entry.inside):
            raise AblateError(
                f"{dotted_path(entry.at)}: is in {name} ({commit[:10]}), of which each run has a copy; link only what "
                "git ignores"
            )
    return Tree(f"{name} ({commit[:10]})", commit, digest, root, inside)


def _commit_of(name: str) -> str:
    """Returns the hash of the commit that a branch, a tag or a hash names. Raises `AblateError`."""
    try:
        return git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except AblateError:
        raise AblateError(
            f"{name!r}: names no commit of this repository; give a branch, a tag or a hash, as `git log` shows them"
        ) from None


def is_commit(name: str) -> bool:
    """Returns whether a name is that of a commit of the repository that one stands in."""
    try:
        _commit_of(name)
    except AblateError:
        return False
    return True


def _work_trees() -> list[Path]:
    """Returns the work trees of the repository, that of the user among them."""
    listing = git("worktree", "list", "--porcelain").splitlines()
    return [Path(line.removeprefix("worktree ")) for line in listing if line.startswith("worktree ")]


def git(*words: object) -> str:
    """Returns the output of git. Raises `AblateError` with its error output where it fails."""
    try:
        return subprocess.run(
            ["git", *map(str, words)],
            capture_output=True,
            env=without_repository(os.environ),
            encoding="utf-8",
            errors="surrogateescape",
            check=True,
        ).stdout.strip()
    except subprocess.CalledProcessError as error:
        raise AblateError(f"git {words[0]}: {error.stderr.strip()}") from None
    except OSError as error:
        raise AblateError(f"git {words[0]}: {error}") from None
