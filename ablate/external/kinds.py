"""Kinds of files, by their names and first bytes: code, config, checkpoints, documents, caches."""

import stat
from pathlib import Path, PurePosixPath

# Bytes of an untracked file that is copied.
MAX_UNTRACKED = 2**20

_PYTHON = ".py .pyi .pyx .pxd"
_OTHER_CODE = (
    ".sh .bash .zsh .fish .ps1 .c .cc .cpp .cxx .cu .cuh .h .hpp .rs .go .java .js .ts .lua .jl .r .sql .m"
)
_CONFIG = ".yaml .yml .toml .json .jsonl .cfg .ini .conf .gin .env .properties .xml .proto .jinja .j2 .tmpl .txt .lock"
CODE_SUFFIXES = frozenset(f"{_PYTHON} {_OTHER_CODE} .mk .cmake .in".split())
SUFFIXES = CODE_SUFFIXES | frozenset(_CONFIG.split())
# Files without a suffix that are code or config.
_NAMES = frozenset(["Makefile", "Dockerfile", "Snakefile", "Justfile", "justfile", "Pipfile", "Procfile"])
CHECKPOINTS = frozenset(
    [
        ".pt",
        ".pth",
        ".ckpt",
        ".bin",
        ".safetensors",
        ".npz",
        ".npy",
        ".pkl",
        ".pickle",
        ".h5",
        ".hdf5",
        ".onnx",
        ".msgpack",
        ".joblib",
        ".orbax",
        ".tar",
        ".gz",
    ]
)
_LEFT_BY_RUNS = frozenset(["mlruns", "wandb", "lightning_logs", ".hydra", "multirun"])
_CACHES = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".ipynb_checkpoints",
        "node_modules",
        "site-packages",
        ".eggs",
        ".cache",
        ".dvc",
        ".idea",
        ".vscode",
    ]
)
# Folders whose untracked files are not copied.
LEFT_OUT = _CACHES | _LEFT_BY_RUNS
# First bytes by which the system recognises a program: `#!`, ELF, Mach-O.
_PROGRAM_STARTS = (b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
# Suffixes of files that are written by hand or by runs.
AMBIGUOUS_SUFFIXES = frozenset([".json", ".jsonl", ".txt", ".xml", ""])
# Text and pictures for people, on which no verdict depends.
DOCUMENTS = frozenset(
    [".md", ".rst", ".ipynb", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".webp", ".bib", ".tex"]
)
# What `ablate export` keeps beside its files.
EXPORT_DIGESTS = ".ablate-export.json"
_DOCUMENT_NAMES = frozenset(
    [
        EXPORT_DIGESTS,
        "license",
        "license.txt",
        "license-mit",
        "license-apache",
        "licence",
        "licence.txt",
        "copying",
        "copying.txt",
        "copying.lesser",
        "authors",
        "changelog",
        "codeowners",
        ".gitignore",
        ".gitattributes",
    ]
)


def is_code(path: str) -> bool:
    """Returns whether a file is code, by its name."""
    return PurePosixPath(path).suffix.lower() in CODE_SUFFIXES


def is_copied_if_untracked(path: Path) -> bool:
    """Returns whether an untracked file is copied: code and config, links, hidden files without a suffix."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return path.suffix.lower() not in CHECKPOINTS
    if status.st_size > MAX_UNTRACKED or path.suffix.lower() in CHECKPOINTS:
        return False
    if is_document(path.name):
        return False
    if path.suffix.lower() in SUFFIXES or path.name in _NAMES:
        return True
    is_hidden = path.name.startswith(".")
    if path.suffix:
        return False
    return is_hidden or (bool(status.st_mode & stat.S_IXUSR) and _is_program(path))


def _is_program(path: Path) -> bool:
    """Returns whether a file begins like a script or a compiled program.

    The mode alone does not show it: on some disks every file is executable.
    """
    with path.open("rb") as file:
        return file.read(4).startswith(_PROGRAM_STARTS)


def is_document(path: str) -> bool:
    """Returns whether a file is for people alone, so that no edit of it changes a result."""
    name = path.rpartition("/")[2].lower()
    return PurePosixPath(name).suffix in DOCUMENTS or name in _DOCUMENT_NAMES


def is_of_environment(path: str, folder: Path) -> bool:
    """Returns whether a path, relative to a folder, lies in an environment of Python, of conda or of Node."""
    parts = path.split("/")[:-1]
    above = [folder.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    return any(
        place.name == "node_modules" or (place / "pyvenv.cfg").is_file() or (place / "conda-meta").is_dir()
        for place in above
    )


def is_cached(path: str) -> bool:
    """Returns whether a path is in a folder of caches, of an environment, or of git."""
    return not _CACHES.isdisjoint(path.split("/"))
