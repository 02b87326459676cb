"""What the options of a run change of the study as it is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, StudyError
from ablate.base.passwords import masked
from ablate.records.folder import StudyFolder
from ablate.stages.confirm import unseen
from ablate.stages.options import Options
from ablate.study.document import parse_value
from ablate.study.experiment import Experiment
from ablate.study.labels import short_label
from ablate.study.load import load
from ablate.study.patch import document_keys
from ablate.study.schema import StudyBase


def differences(experiment: Experiment, options: Options) -> list[str]:
    """The options by which a run differs from its study as written: `training.steps=50`, `seeds=3`, `only=a`, `seed=1`.

    A value that the study has anyway is no difference. `experiment`: as it will be judged.
    """
    found: list[str] = []
    if options.sets or options.seeds is not None:
        written: StudyBase | None = None
        with suppress(StudyError):  # a study that is only valid with its options differs in all of them
            written = load(experiment.path, confirm=options.confirm)[1]
        found = _changed(options.sets, written, experiment.study)
        if options.seeds is not None and not _same_seeds(written, experiment.study, options.results):
            found.append(f"seeds={_seeds(options.seeds)}")
    found += [f"only={name}" for name in sorted(set(options.only))]
    return found + ([f"seed={options.seed}"] if options.seed is not None else [])


def _seeds(asked: int | Sequence[int]) -> str:
    """A list with a plus, which a comma cannot be in the name of a folder; a single seed is no number of seeds."""
    if isinstance(asked, int):
        return str(asked)
    return "+".join(map(str, sorted(asked))) if len(asked) > 1 else f"[{asked[0]}]"


def _changed(sets: Sequence[str], written: StudyBase | None, study: StudyBase) -> list[str]:
    """Of `--set`, sorted by path, those after which the study has another value there."""
    before, now = ({} if of is None else _plain(of.model_dump()) for of in (written, study))
    changed = {}
    for text in sets:
        path, _, value = text.partition("=")
        keys = document_keys(path.strip())
        if keys[-1] != "name" and _reached(before, keys) != _reached(now, keys):
            changed[path.strip()] = _word(parse_value(value))
    return [f"{path}={word}" for path, word in sorted(changed.items())]


def _same_seeds(written: StudyBase | None, study: StudyBase, results: Path) -> bool:
    """Whether the study has its own seeds, or those that its confirmation takes without an option."""
    if written is None:
        return False
    seeds = written.seeds
    if written.confirms is not None:
        source = StudyFolder(results, written.confirms)
        try:
            seeds = unseen(seeds, source.facts().seeds, None, source)
        except AblateError:
            return False  # as many as its report has would be too many
    return seeds == study.seeds


def _reached(data: Any, keys: Sequence[str]) -> Any:
    """The value at the keys, or where they end."""
    for key in keys:
        if not isinstance(data, Mapping) or key not in data:
            return data
        data = data[key]
    return data


def _plain(data: Any) -> Any:
    """Data without the keys that change nothing."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    return data


def _word(value: Any) -> str:
    """A value in words, without passwords and without folders of this machine."""
    value = _shown(value)
    text = json.dumps(value, sort_keys=True) if isinstance(value, Mapping) else short_label(value)
    return masked(text)


def _shown(value: Any) -> Any:
    """A value as `_plain` gives it; of a file by its absolute path the name, with a digest of the path."""
    if isinstance(value, Mapping):
        return {key: _shown(item) for key, item in _plain(value).items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    if isinstance(value, str) and Path(value).is_absolute():
        return f"{Path(value).name}-{hashlib.blake2b(value.encode(), digest_size=3).hexdigest()}"
    return int(value) if isinstance(value, float) and value.is_integer() else value
