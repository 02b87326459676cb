"""Study files that the package writes: of a study that is given in Python, and of what a study resolves to."""

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import SafeRepresenter

from ablate.base.datafile import DataFile
from ablate.base.errors import Problem, StudyError
from ablate.base.scratch import scratch
from ablate.core.names import GIVEN
from ablate.study.document import base_of
from ablate.study.schema import StudyConfig
from ablate.study.study import Study


@contextmanager
def as_file(study: str | Path | Mapping[str, object]) -> Iterator[Path]:
    """Yields the file of a study; that of a mapping lasts as long as the block.

    Paths in a mapping are relative to the current folder, and problems that are raised inside the block name the path
    in the mapping. Raises `StudyError` for what a file cannot hold.
    """
    if not isinstance(study, Mapping):
        yield Path(study)
        return
    text = _json_text(study)
    with scratch("study") as folder:
        path = Path(folder) / GIVEN
        # JSON is YAML. Half a surrogate pair stays an escape, which the reader refuses with its place.
        path.write_text(text, "utf-8", "backslashreplace")
        try:
            yield path
        except StudyError as error:
            problems = [
                replace(problem, line=None, source="") if problem.source == str(path) else problem
                for problem in error.problems
            ]
            raise StudyError(problems) from None


def _json_text(study: Mapping[str, object]) -> str:
    folder = Path.cwd() / str(study.get("folder", "."))
    return _json({**study, "folder": str(folder)}, indent=1)


def _json(value: object, indent: int | None = None) -> str:
    """Returns a value of a study as JSON. Raises `StudyError` for what a file cannot hold."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        allowed = "text, numbers, True, False, None, and lists and dicts of these"
        raise StudyError([Problem(f"cannot be written in a study: {error}", allowed=allowed)]) from None


def _plain(value: object) -> object:
    """Returns what JSON has in place of a value that it does not know; raises `TypeError`."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):  # of numpy, pandas or torch
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def as_sets(sets: Mapping[str, object]) -> list[str]:
    """Returns changes to a study as `--set` takes them, each a `PATH=VALUE`."""
    return [f"{path}={_json(value)}" for path, value in sets.items()]


def resolved_text(study: Study, folder: Path) -> str:
    """Returns the resolved config of a study as the text of a file in `folder`."""
    data = study.config.model_dump()
    keys_of_stages: list[str] = []
    for stage_config in study.stage_configs:
        keys_of_stages += stage_config.model_fields
    for key in ("task", "tasks", "conditions", "along", "scale", *keys_of_stages):
        if key in data and not data[key]:
            del data[key]
    for key in ("over", "family"):
        if data[key] == StudyConfig.model_fields[key].default:
            del data[key]
    if _names_files(study, data):
        base = base_of(study.path, study.config.folder)
        data["folder"] = os.path.relpath(base, folder.resolve())
    else:
        del data["folder"]
    buffer = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.representer.add_representer(DataFile, _represent_file)
    yaml.dump(data, buffer)
    return buffer.getvalue()


def _names_files(study: Study, data: Mapping[str, Any]) -> bool:
    """Returns whether a study, dumped as `data`, names files: plugins, those of its workload, or data."""
    if data["plugins"] or isinstance(data["workload"], dict):
        return True
    first_seed = study.config.seeds.values[:1]
    return any(cell.trial.files for cell in study.cells(first_seed))


def _represent_file(representer: SafeRepresenter, file: DataFile) -> ScalarNode:
    """Writes a file of data as the study names it."""
    return representer.represent_str(file.written)
