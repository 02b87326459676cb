"""Commits of the repository that one stands in, each in a work tree of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.base.files import digest_of


@dataclass(frozen=True)
class Tree:
    """A commit; commands run in `folder`, which is in its `root` where one stands in the repository, at `origin`."""

    name: str
    origin: Path
    root: Path
    folder: Path
    commit: str
    digest: str  # Of all its files, git's own.

    def __str__(self) -> str:
        return f"{self.name} ({self.commit[:10]})"

    def refuse_other(self, module: str, file: str) -> None:
        """Refuses the file of a module that was loaded while the commit has one of its own."""
        path, end = Path(file), module.replace(".", "/")
        if path.is_relative_to(self.root) or module.partition(".")[0] in sys.stdlib_module_names:
            return
        places = (self.folder, self.root, self.root / "src")
        own = [at / f"{end}{tail}" for at in places for tail in (".py", "/__init__.py")]
        if path.is_relative_to(self.origin):
            own.append(self.root / path.relative_to(self.origin))
        if found := next((each for each in own if each.is_file()), None):
            raise AblateError(
                f"{self}: {module} was loaded from {file}, not from the {found.relative_to(self.root)} of the commit: "
                "both commits run the same code. Uninstall it, and set PYTHONPATH=src, or where it lies"
            )


@contextmanager
def work_trees(names: Sequence[str], links: Sequence[str], owner: Path) -> Iterator[list[Tree]]:
    """Those of commits, with what git ignores at `links`; removed at the end or, after a kill, by the next call.

    `owner`: a file that this process holds alone. Raises `AblateError` outside of a repository, for an unknown commit,
    commits that have the same files, and files that have changed since the last commit.
    """
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        raise AblateError(f"the work tree has changes that are in no commit: commit or stash them\n{changed}")
    origin, inside = Path(git("rev-parse", "--show-toplevel")), git("rev-parse", "--show-prefix")
    place = Path(tempfile.gettempdir(), f"ablate-{digest_of(os.fsencode(owner.resolve()))}").resolve()
    found = [git("log", "-1", "--format=%H %T", "--end-of-options", name, "--").split() for name in names]
    trees = [
        Tree(name, origin, place / commit, place / commit / inside, commit, digest)
        for name, (commit, digest) in zip(names, found, strict=True)
    ]
    if len({tree.digest for tree in trees}) < len(trees):
        raise AblateError(f"{' and '.join(map(str, trees))}: have the same files; nothing is to be compared")
    _remove(place)
    try:
        for tree in trees:
            git("worktree", "add", "--detach", str(tree.root), tree.commit)
            for link in links:
                if os.path.lexists(target := tree.folder / link):
                    raise AblateError(
                        f"--link {link}: is in {tree}; link what git ignores, by a relative path"
                    )
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(Path(link).resolve())
        yield trees
    finally:
        _remove(place)


def git(*words: str) -> str:
    """What git prints. Raises `AblateError` with what it says where it fails."""
    try:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()
    except OSError as error:
        raise AblateError(f"git: cannot be started: {error.strerror}; install it") from None
    except subprocess.CalledProcessError as error:
        raise AblateError(f"git {' '.join(words)}: {error.stderr.strip()}") from None


def _remove(place: Path) -> None:
    for root in place.glob("*"):
        subprocess.run(["git", "worktree", "remove", "--force", root], capture_output=True, check=False)
    shutil.rmtree(place, ignore_errors=True)
