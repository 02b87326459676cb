"""A study as a file: what one that is given in Python would say, and one with every default filled in, as it runs."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from ablate.base.datafile import DataFile
from ablate.base.errors import Problem, StudyError
from ablate.core.feature import grammar
from ablate.core.names import GIVEN
from ablate.study.experiment import Experiment


@contextmanager
def as_file(study: str | Path | Mapping[str, Any]) -> Iterator[Path]:
    """The file of a study; of a mapping one that lasts as long as the block, with paths relative to the current folder.

    Problems that are raised inside name the path in the mapping. Raises `StudyError` for what a file cannot hold.
    """
    if not isinstance(study, Mapping):
        yield Path(study)
        return
    data = dict(study) | {"folder": str(Path.cwd() / str(study.get("folder", ".")))}
    try:
        text = json.dumps(data, indent=1, ensure_ascii=False, default=_plain)
    except TypeError as error:
        allowed = "text, numbers, True, False, None, and lists and dicts of these"
        raise StudyError([Problem(f"cannot be written in a study: {error}", allowed=allowed)]) from None
    with TemporaryDirectory(prefix="ablate-") as folder:
        path = Path(folder) / GIVEN
        # JSON is YAML. Half a surrogate pair stays an escape, which the reader refuses with its place.
        path.write_text(text, "utf-8", "backslashreplace")
        try:
            yield path
        except StudyError as error:
            own = str(path)
            raise StudyError(
                replace(p, line=None, source="") if p.source == own else p for p in error.problems
            ) from None


def as_sets(sets: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Changes to a study as `PATH=VALUE`."""
    if isinstance(sets, Mapping):
        return [f"{path}={json.dumps(value, ensure_ascii=False)}" for path, value in sets.items()]
    return [sets] if isinstance(sets, str) else list(sets)


def _plain(value: Any) -> Any:
    """What JSON has in place of a value that it does not know; raises `TypeError`."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):  # of numpy, pandas or torch
        return value.tolist()
    if isinstance(value, range):
        return list(value)
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """The resolved study as a file in `folder`."""
    study = experiment.study
    data = study.model_dump()
    for key in ("task", "tasks", "match", *grammar()):
        if key in data and not data[key]:
            del data[key]
    if data["plugins"] or experiment.reads_files:
        data["folder"] = os.path.relpath(study.base(experiment.path), folder.resolve())
    else:
        del data["folder"]
    buffer = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.representer.add_representer(DataFile, lambda to, file: to.represent_str(file.written))
    yaml.dump(data, buffer)
    return buffer.getvalue()
