"""The repository of a copy: its own `HEAD`, index, branches, tags and configuration; the objects of the original.

What a trial commits, stages, tags, stashes or configures reaches neither other trials nor the repository of the user.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ablate.base.errors import AblateError
from ablate.external.tree import git, run_git


def link_repository(root: Path, copy: Path) -> None:
    """Makes the `.git` of a copy of a work tree, as a clone that shares objects; nothing without a repository."""
    place = _folder_of_git(root)
    if place is None:
        return
    commit = git(root, "rev-parse", "--verify", "HEAD")
    head = commit.decode() if commit is not None else (place / "HEAD").read_text()
    common = _common(place)
    git_folder = copy / ".git"
    (git_folder / "objects" / "info").mkdir(parents=True)
    (git_folder / "refs").mkdir()
    (git_folder / "HEAD").write_text(head)
    (git_folder / "objects" / "info" / "alternates").write_text(f"{common / 'objects'}\n")
    (git_folder / "packed-refs").write_bytes(
        git(root, "for-each-ref", "--format=%(objectname) %(refname)") or b""
    )
    has_own_config = (place / "config.worktree").is_file()
    (git_folder / "config").write_text(_config(root, common / "config", has_own_config))
    for name, source in (("index", place), ("config.worktree", place), ("shallow", common)):
        if (source / name).is_file():
            shutil.copy2(source / name, git_folder / name)
    (git_folder / "info").mkdir()
    for name in ("attributes", "exclude"):
        if (common / "info" / name).is_file():
            shutil.copy2(common / "info" / name, git_folder / "info")


def _config(root: Path, original: Path, has_own_config: bool) -> str:
    """Returns a configuration that reads the original one; what is written goes into the copy's.

    has_own_config: whether the work tree has a configuration of its own beside that of the repository.
    """
    escaped = str(original).replace("\\", "\\\\").replace('"', '\\"')
    lines = [
        "[include]",
        f'path = "{escaped}"',
        "[core]",
        "repositoryformatversion = 1",
        "bare = false",
        "[extensions]",
    ]
    if (git(root, "rev-parse", "--show-object-format") or b"").strip() == b"sha256":
        lines.append("objectFormat = sha256")
    if has_own_config:
        lines.append("worktreeConfig = true")
    return "".join(f"{line}\n" for line in lines)


def check_out(root: Path, commit: str, copy: Path) -> None:
    """Makes a folder with the files of a commit, and a `.git` that the repository of a work tree knows nothing of.

    So nothing is left there, whenever the process is killed. Submodules that the work tree has are checked out, too.
    Raises `AblateError`.
    """
    copy.mkdir(exist_ok=True)
    link_repository(root, copy)
    git_folder = copy / ".git"
    (git_folder / "index").unlink(missing_ok=True)  # Which may leave files out.
    (git_folder / "HEAD").write_text(f"{commit}\n")
    done = run_git(copy, "read-tree", "--reset", "-u", "HEAD")
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip()
        raise AblateError(f"{root}: git cannot check out {commit[:10]} to {copy}: {reason}")
    for path, commit_of_submodule in _submodules(copy):
        if _folder_of_git(root / path) is not None:
            check_out(root / path, commit_of_submodule, copy / path)


def _submodules(copy: Path) -> Iterator[tuple[str, str]]:
    """Yields path and commit of the submodules in the index of a copy."""
    for entry in (git(copy, "ls-files", "--stage", "-z") or b"").split(b"\0"):
        if entry.startswith(b"160000 "):
            state, path = entry.split(b"\t", 1)
            yield os.fsdecode(path), state.split()[1].decode()


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
