"""The samples that lm-eval logs, as a table: a row a document and model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from ablate.base.errors import AblateError, Gather, listed, nearest
from ablate.base.files import NotReadableError, read_plain
from ablate.base.once import loads
from ablate.base.text import first_line
from ablate.runs.content import digest_of_files
from ablate.runs.formats.flat_objects import flat_table
from ablate.runs.formats.run_names import names_by_folder
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import Reader, RunsFound

_SAMPLES = re.compile(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.:-]+)?\.jsonl")
"""The name of a file of samples: its task, and when it was written."""
_MAX_FILE = 2**30
"""The most bytes of a file of samples."""
_REMEDY = "Let lm-eval write the file again with --log_samples, or remove it"
_TYPES = {"doc_id": (int, str), "doc_hash": (str,), "filter": (str,)}
"""Field of a sample → the types that it may have; only the first must be there."""


class SampleReader(Reader):
    """Reads a folder of samples of lm-eval."""

    looks_for = "samples of lm-eval (samples_TASK_TIME.jsonl)"

    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a folder has files of samples."""
        return path.is_dir() and next(path.rglob("samples_*.jsonl"), None) is not None

    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns a row a document and model. Raises `AblateError`."""
        roles = {role: [role] for role in ("variant", "task", "example")}
        content = [digest_of_files([file]) for file in path.rglob("samples_*.jsonl")]
        table = read_samples(path, options.metric)
        return RunsFound(table, "samples of lm-eval", roles, content=content)


def read_samples(folder: Path, metric: str) -> pd.DataFrame:
    """Returns the samples in a folder; the variant is the model, whose name is the folder of its files.

    A field of a document is `doc.FIELD`. Where answers were filtered in several ways, each is a task of its own. Raises
    `AblateError` for a file that holds no samples, and where none has the metric.
    """
    tables: list[pd.DataFrame] = []
    fields: dict[str, None] = {}
    files = sorted(folder.rglob("samples_*.jsonl"))
    models = names_by_folder(files, folder)
    for path in files:
        table = _table_of(path, models[path])
        fields |= dict.fromkeys(map(str, table.columns))
        if metric in table:
            tables.append(table[table[metric] != ""])
    with Gather() as at:
        at.refuse(
            not tables,
            "--metric",
            "is not a field of the samples",
            metric,
            listed(fields),
            nearest(metric, fields),
        )
    return pd.concat(tables).fillna("").astype(str)


def _table_of(path: Path, model: str) -> pd.DataFrame:
    """Returns the samples of one file, with the columns `variant`, `task` and `example`."""
    samples = dict(_samples_of(path))
    if not samples:
        raise AblateError(f"{path}: is empty. {_REMEDY}")
    places = [f"{path}, line {line}" for line in samples]
    try:
        table = flat_table([*samples.values()], places)
    except RecursionError:
        raise AblateError(f"{path}: has a sample that is nested too deeply. {_REMEDY}") from None
    examples = [f"{sample['doc_id']}{sample.get('doc_hash') or ''}" for sample in samples.values()]
    # The only filter has no part in the name of a task.
    filters = [sample.get("filter") or "none" for sample in samples.values()]
    task = _SAMPLES.sub(r"\1", path.name)
    tasks = [task if name == "none" else f"{task},{name}" for name in filters]
    return table.assign(variant=model, task=tasks, example=examples)


def _samples_of(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yields the number of each line that is not blank, and its sample. Raises `AblateError`."""
    try:
        content = read_plain(path, _MAX_FILE)
    except NotReadableError as error:
        raise AblateError(f"{path}: {error}. {_REMEDY}") from None
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield number, _sample(line)
        except (ValueError, RecursionError) as error:
            raise AblateError(
                f"{path}, line {number}: is no sample of lm-eval ({first_line(error)}). {_REMEDY}"
            ) from None


def _sample(line: bytes) -> Mapping[str, object]:
    """Returns the sample of a line. Raises `ValueError` or `RecursionError`."""
    sample = loads(line)
    if b"\\ud" in line.lower():  # Half of a surrogate pair, which no column of text can hold, becomes `?`.
        sample = json.loads(json.dumps(sample, ensure_ascii=False).encode(errors="replace"))
    if not isinstance(sample, dict):
        raise ValueError("it is not a JSON object")
    for name, types in _TYPES.items():
        value = sample.get(name)
        is_optional = value is None and name != "doc_id"
        # True and false are whole numbers in Python.
        if not is_optional and (isinstance(value, bool) or not isinstance(value, types)):
            kinds = " or ".join({int: "a whole number", str: "text"}[kind] for kind in types)
            raise ValueError(f"{name} must be {kinds}; given {json.dumps(value)[:40]}")
    return sample
