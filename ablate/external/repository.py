"""The repository of a copy: its own `HEAD` and index, and the objects, branches and tags of the original.

Commits and staged files of a trial reach neither other trials nor the branch of the user.
"""

import shutil
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.external.tree import git


def link_repository(root: Path, copy: Path) -> None:
    """Makes the `.git` of a copy of a work tree, as git does for a linked one; nothing where there is no repository."""
    place = _folder_of_git(root)
    if place is None:
        return
    commit = git(root, "rev-parse", "--verify", "HEAD")
    head = commit.decode() if commit is not None else (place / "HEAD").read_text()
    git_folder = copy / ".git"
    git_folder.mkdir()
    (git_folder / "HEAD").write_text(head)
    (git_folder / "commondir").write_text(f"{_common(place)}\n")
    for name in ("index", "config.worktree"):
        if (place / name).is_file():
            shutil.copy2(place / name, git_folder / name)


def check_out(root: Path, commit: str, copy: Path) -> None:
    """Makes a folder with the files of a commit, and a `.git` that the repository of a work tree knows nothing of.

    So nothing is left there, whenever the process is killed. Raises `AblateError`.
    """
    copy.mkdir()
    link_repository(root, copy)
    git_folder = copy / ".git"
    (git_folder / "index").unlink(missing_ok=True)  # Which may leave files out.
    (git_folder / "HEAD").write_text(f"{commit}\n")
    if git(copy, "read-tree", "--reset", "-u", "HEAD") is None:
        raise AblateError(f"{copy}: git cannot check out {commit[:10]} there: free space, or set TMPDIR")


def _folder_of_git(root: Path) -> Path | None:
    """Returns the `.git` folder of a work tree; None where there is no repository."""
    place = root / ".git"
    if place.is_file():
        # A work tree beside the first, or a submodule.
        return (root / place.read_text().removeprefix("gitdir:").strip()).resolve()
    return place if place.is_dir() else None


def _common(place: Path) -> Path:
    """Returns the folder with the objects, which the `.git` folder of a linked work tree names."""
    named = place / "commondir"
    return (place / named.read_text().strip()).resolve() if named.is_file() else place
