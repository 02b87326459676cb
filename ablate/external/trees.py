"""Commits of the repository that one stands in, each in a work tree of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ablate.base.errors import AblateError, nearest
from ablate.base.files import digest_of


@dataclass(frozen=True)
class Tree:
    """A commit; commands run in `folder`, which is to its `root` as one's own folder is to that of the repository."""

    name: str
    root: Path
    folder: Path
    origin: Path  # The root of the repository's own work tree.
    commit: str
    digest: str  # Of all its files, git's own.

    def __str__(self) -> str:
        return f"{self.name} ({self.commit[:10]})"


@contextmanager
def work_trees(names: Sequence[str], links: Sequence[Path], owner: Path) -> Iterator[list[Tree]]:
    """Those of commits, with what git ignores at `links`; removed at the end or, after a kill, by the next call.

    `owner`: a file that this process holds alone. Raises `AblateError` outside of a repository, for an unknown commit,
    a commit whose files are those of another, and files that have changed since the last commit.
    """
    if changed := git("status", "--porcelain", "--untracked-files=no"):
        raise AblateError(f"the work tree has changes that are in no commit: commit or stash them\n{changed}")
    origin, inside = Path(git("rev-parse", "--show-toplevel")), git("rev-parse", "--show-prefix")
    place = Path(tempfile.gettempdir(), f"ablate-{digest_of(os.fsencode(owner.resolve()))}").resolve()
    roots = [place / str(number) for number in range(len(names))]
    trees = [
        Tree(name, at, at / inside, origin, *_resolved(name)) for name, at in zip(names, roots, strict=True)
    ]
    if len({tree.digest for tree in trees}) < len(trees):
        raise AblateError(f"{' and '.join(map(str, trees))}: have the same files; nothing is to be compared")
    _remove(roots)
    try:
        for tree in trees:
            git("worktree", "add", "--detach", str(tree.root), tree.commit)
            for link in links:
                if os.path.lexists(target := tree.folder / link):
                    raise AblateError(
                        f"--link {link}: {tree} has it; link what git ignores, by a relative path"
                    )
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(link.resolve())
        yield trees
    finally:
        _remove(roots)


def git(*words: str) -> str:
    """What git prints. Raises `AblateError` with what it says where it fails."""
    try:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()
    except OSError as error:
        raise AblateError(f"git: cannot be started: {error.strerror}; install it") from None
    except subprocess.CalledProcessError as error:
        raise AblateError(f"git {' '.join(words)}: {error.stderr.strip()}") from None


def _resolved(name: str) -> list[str]:
    """The commit that a name stands for, and the digest of its files."""
    try:
        return git("log", "-1", "--format=%H %T", "--end-of-options", name, "--").split()
    except AblateError:
        names = git("for-each-ref", "--format=%(refname:short)").split()
        raise AblateError(
            f"{name}: is no commit of this repository. {nearest(name, names)}".strip()
        ) from None


def _remove(roots: Sequence[Path]) -> None:
    for root in roots:
        subprocess.run(["git", "worktree", "remove", "--force", root], capture_output=True, check=False)
    shutil.rmtree(roots[0].parent, ignore_errors=True)
