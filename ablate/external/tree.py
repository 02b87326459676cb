"""The files of a folder that a trial of the user's code gets: tracked files, and untracked code and config.

Ignored files and checkpoints are left out, so that no trial finds what an earlier run has left. So are results of
ablate, and studies, since their content is in the configs of trials.
"""

import fnmatch
import os
import stat
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ablate.base.errors import AblateError, Invalid
from ablate.base.files import digest_of_data
from ablate.base.git import without_repository
from ablate.external.call_logs import logs_among
from ablate.external.kinds import (
    AMBIGUOUS_SUFFIXES,
    CHECKPOINTS,
    LEFT_OUT,
    is_code,
    is_copied_if_untracked,
    is_document,
)
from ablate.external.tree_file import File, read_file

MAX_FILES = 20_000
MAX_BYTES = 500 * 2**20
# What git says of a folder in no repository, or in one without a work tree.
_NO_REPOSITORY = ("not a git repository (or any", "must be run in a work tree")


@dataclass(frozen=True)
class Tree:
    """The files of a folder that are copied."""

    root: Path
    # Path below the root, with slashes → the file.
    files: Mapping[str, File]
    # Paths of files that a run may have left: in no commit, with a suffix of files that runs write, too.
    doubtful: frozenset[str] = frozenset()
    # Paths that are left out, since calls of ablate have written their output there.
    logs: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """The digest of all files, by which a frozen copy is named."""
        return digest_of_data([(path, file.digest) for path, file in self.files.items()])

    @property
    def identity(self) -> str:
        """The digest of the files that results depend on: all but documents."""
        return digest_of_data(
            [(path, file.digest) for path, file in self.files.items() if not is_document(path)]
        )

    def without(self, paths: Collection[str]) -> "Tree":
        """Returns the tree without some of its files."""
        files = {path: file for path, file in self.files.items() if path not in paths}
        return replace(self, files=files, doubtful=self.doubtful.difference(paths))

    def changed(self) -> str:
        """Returns the path of the first file that is not as it was read; empty where there is none."""
        for path, file in self.files.items():
            if read_file(self.root / path) != file:
                return path
        return ""

    @property
    def imports(self) -> set[str]:
        """The outermost modules that its Python files import."""
        names: set[str] = set()
        for file in self.files.values():
            names |= file.imports
        return names


def root_of(folder: Path) -> Path:
    """Returns the git repository of a folder; the folder itself where none holds it, or the repository ignores it.

    Raises `Invalid` for a repository that git does not read, since only git knows what it ignores.
    """
    top = git(folder, "rev-parse", "--show-toplevel")
    if not top:
        _refuse_unreadable(folder)
        return folder.resolve()
    root = Path(os.fsdecode(top.rstrip(b"\n"))).resolve()
    is_ignored = root != folder.resolve() and git(folder, "check-ignore", "-q", ".") is not None
    return folder.resolve() if is_ignored else root


def _refuse_unreadable(folder: Path) -> None:
    """Raises `Invalid` where a folder is in a repository that git does not read, as that of another user."""
    try:
        done = run_git(folder, "rev-parse", "--show-toplevel")
    except OSError:
        return  # There is no git.
    fault = done.stderr.decode(errors="replace").strip()
    if done.returncode and not any(said in fault for said in _NO_REPOSITORY):
        rule = f"lies in a repository that git does not read: {' '.join(fault.split())}"
        raise Invalid(
            "workload", rule, str(folder), hint="Only git knows which files it ignores; do as it says"
        )


def read_tree(
    folder: Path, results: Path | None = None, exclude: Sequence[str] = (), data: Sequence[str] = ()
) -> Tree:
    """Reads the files that a trial gets of the repository that holds a folder, else of the folder.

    results: a folder that is left out, as are the logs of calls that report there. exclude: patterns of paths relative
    to `folder`, or of names. data: paths relative to `folder` that are left out. Raises `AblateError` where there are
    too many files, or too large ones.
    """
    root = root_of(folder)
    prefix = os.path.relpath(folder.resolve(), root)
    left_out = [] if results is None else [os.path.relpath(results.resolve(), root)]
    left_out += [os.path.normpath(os.path.join(prefix, path)) for path in data]
    sizes: dict[str, int] = {}
    for path in candidates(root):
        if _is_below(path, left_out) or matches(os.path.relpath(path, prefix), exclude):
            continue
        sizes[path] = os.lstat(root / path).st_size
    logs = frozenset[str]() if results is None else logs_among(root, sizes, results.resolve() / "store")
    sizes = {path: size for path, size in sizes.items() if path not in logs}
    folders = _folders_of_results(root, sizes)
    sizes = {path: size for path, size in sizes.items() if not _is_below(path, folders)}
    _refuse_too_much(sizes)

    files: dict[str, File] = {}
    for path in sorted(sizes):
        file = read_file(root / path)
        if file is not None:
            files[path] = file
    tracked = {*_names(git(root, "ls-files", "-z", "--cached", "--recurse-submodules") or b"")}
    doubtful = {
        path for path in files.keys() - tracked if PurePosixPath(path).suffix.lower() in AMBIGUOUS_SUFFIXES
    }
    return Tree(root, files, frozenset(doubtful), logs)


def candidates(root: Path) -> Iterator[str]:
    """Yields the paths below a root of tracked files, and of untracked ones that are copied, in no order."""
    tracked = git(root, "ls-files", "-z", "--cached", "--recurse-submodules")
    # A prefix: a folder in a repository that ignores it, which is a root of its own.
    if tracked is None or git(root, "rev-parse", "--show-prefix") != b"\n":
        yield from _untracked(root, paths_below(root, LEFT_OUT), ())
        return
    paths = [path for path in _names(tracked) if _is_file(root / path)]
    yield from paths
    others = _names(git(root, "ls-files", "-z", "--others", "--exclude-standard") or b"")
    yield from _untracked(root, [path for path in others if not path.endswith("/")], paths)
    for path in others:
        # A repository of its own within this one, which is no submodule.
        if path.endswith("/") and not LEFT_OUT.intersection(path.split("/")):
            for inner in candidates(root / path):
                yield path + inner


def _untracked(root: Path, paths: Iterable[str], tracked: Iterable[str]) -> Iterator[str]:
    """Yields the untracked files that are copied: code and config, but not in the folder of a run.

    The folder of a run has a checkpoint, and no code, tracked or not.
    """
    paths = list(paths)
    of_code = {os.path.dirname(path) for path in (*paths, *tracked) if is_code(path)}
    environments = [os.path.dirname(path) for path in paths if path.endswith("/pyvenv.cfg")]
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        if _is_below(path, environments):
            continue
        if not LEFT_OUT.intersection(parts[:-1]) and _is_file(root / path):
            by_folder.setdefault(os.path.dirname(path), []).append(path)
    for folder, inside in by_folder.items():
        is_of_a_run = folder not in of_code and _has_checkpoint(root / folder)
        for path in inside:
            if not is_of_a_run and is_copied_if_untracked(root / path):
                yield path


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Returns whether a pattern matches a path or a folder above it.

    A pattern without `/` is tried on every name, any pattern on the whole path and on each folder above it; `*` also
    matches `/`.
    """
    parts = PurePosixPath(path).parts
    for pattern in patterns:
        pattern = pattern.removeprefix("./").rstrip("/")
        if "/" not in pattern and any(fnmatch.fnmatchcase(part, pattern) for part in parts):
            return True
        for depth in range(1, len(parts) + 1):
            if fnmatch.fnmatchcase("/".join(parts[:depth]), pattern):
                return True
    return False


def _is_below(path: str, folders: Iterable[str]) -> bool:
    """Returns whether a path is one of these folders, or below one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _folders_of_results(root: Path, paths: Iterable[str]) -> set[str]:
    """Returns the folders that ablate has written: stores, and studies, whose tables may not be tracked."""
    folders: set[str] = set()
    for folder in _with_parents(paths):
        place = root / folder
        is_store = place.name == "store" and (place / "trials").is_dir()
        is_begun = (place / "plan.json").is_file() and place.with_name("store").is_dir()
        is_reported = all((place / name).is_file() for name in ("trials.parquet", "comparisons.csv"))
        if is_store or is_begun or is_reported:
            folders.add(folder)
    for path in paths:
        if path.endswith("/trials.parquet"):
            folders.add(os.path.dirname(path))
    return folders


def _with_parents(paths: Iterable[str]) -> set[str]:
    """Returns the folders of paths, with all folders above them except the root."""
    folders: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return folders


def _refuse_too_much(sizes: Mapping[str, int]) -> None:
    """Raises `AblateError`, naming the heaviest folders, when a trial would copy more than `MAX_FILES` or
    `MAX_BYTES`.
    """
    total = sum(sizes.values())
    if len(sizes) <= MAX_FILES and total <= MAX_BYTES:
        return
    counts: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for path, size in sizes.items():
        for parent in PurePosixPath(path).parents:
            counts[str(parent)] += 1
            weights[str(parent)] += size
    measure = counts if len(sizes) > MAX_FILES else weights
    outermost = [folder for folder, _ in measure.most_common() if "/" not in folder and folder != "."][:3]
    shown: list[str] = []
    for folder in outermost or ["."]:
        place = _heaviest(folder, measure)
        shown.append(f"{place} ({counts[place]:,} files, {weights[place] / 2**20:.0f} MB)")
    raise AblateError(
        f"each trial would copy {len(sizes):,} files ({total / 2**20:.0f} MB), above the limit of {MAX_FILES:,} files "
        f"or {MAX_BYTES // 2**20} MB; most are in {', '.join(shown)}"
    )


def _heaviest(folder: str, measure: Mapping[str, int]) -> str:
    """Returns the innermost folder below `folder` that still has nine tenths of its measure: files, or bytes."""
    inside = [
        path for path in measure if path.startswith(f"{folder}/") and path.count("/") == folder.count("/") + 1
    ]
    heavy = [path for path in inside if measure[path] >= 0.9 * measure[folder]]
    return _heaviest(heavy[0], measure) if heavy else folder


def paths_below(root: Path, left_out: Collection[str] = ()) -> Iterator[str]:
    """Yields the relative paths of the files and links below a folder, links to folders too.

    left_out: the names of folders that are not entered.
    """
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in left_out]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*names, *links):
            yield os.path.relpath(os.path.join(folder, name), root)


def _has_checkpoint(folder: Path) -> bool:
    return any(path.suffix.lower() in CHECKPOINTS for path in folder.iterdir())


def _is_file(path: Path) -> bool:
    """Returns whether there is a file or a link."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _names(listing: bytes) -> list[str]:
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]


def git(folder: Path, *words: str) -> bytes | None:
    """Returns the output of git in a folder; None where it fails, or is not installed."""
    try:
        done = run_git(folder, *words)
    except OSError:
        return None
    return None if done.returncode else done.stdout


def run_git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Runs git in a folder. Raises `OSError` where it is not installed."""
    env = without_repository(os.environ) | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, env=env, check=False)
