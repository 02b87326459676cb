"""A study that is given in Python, as what its file would say."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ablate.base.errors import AblateError, Problem, StudyError

FILE = "given in Python.yaml"
"""The file of such a study while it runs. It is gone afterwards; the report keeps the resolved study."""


@contextmanager
def as_file(study: str | Path | Mapping[str, Any]) -> Iterator[Path]:
    """The file of a study; of a mapping one that lasts as long as the block, with paths relative to the current folder.

    Problems that are raised inside name the path in the mapping. Raises `StudyError` for what a file cannot hold.
    """
    if not isinstance(study, Mapping):
        yield Path(study)
        return
    problems: list[Problem] = []
    data = _plain(study, (), problems)
    if problems:
        raise StudyError(problems)
    data["folder"] = str(Path.cwd() / str(data.get("folder", ".")))
    with TemporaryDirectory(prefix="ablate-") as folder:
        path = Path(folder) / FILE
        # JSON is YAML. Half a surrogate pair stays an escape, which the reader refuses with its place.
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False), "utf-8", "backslashreplace")
        try:
            yield path
        except StudyError as error:
            own = str(path)
            raise StudyError(
                replace(p, line=None, source="") if p.source == own else p for p in error.problems
            ) from None
        except AblateError as error:
            if type(error) is not AblateError:
                raise
            raise AblateError(str(error).replace(str(path), "the study")) from None


def as_sets(sets: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Changes to a study as `PATH=VALUE`."""
    if isinstance(sets, Mapping):
        return [f"{path}={json.dumps(value, ensure_ascii=False)}" for path, value in sets.items()]
    return [sets] if isinstance(sets, str) else list(sets)


def _plain(value: Any, path: tuple[str | int, ...], problems: list[Problem]) -> Any:
    """What a file can hold; anything else is a problem."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, (*path, str(key)), problems) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, (*path, index), problems) for index, item in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # of numpy, pandas or torch
        return _plain(value.tolist(), path, problems)
    if value is not None and not isinstance(value, (bool, int, float, str)):
        allowed = "text, numbers, True, False, None, and lists and dicts of these"
        problems.append(Problem("cannot be written in a study", path, value, allowed))
    return value
