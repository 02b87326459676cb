"""From a study, a file or one that is given in Python, to an experiment; and the file that says how it runs."""

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from ablate.base.datafile import DataFile
from ablate.base.errors import Problem, StudyError
from ablate.base.plugins import settle
from ablate.core.feature import features, grammar
from ablate.core.names import GIVEN
from ablate.study.checks import (
    Draft,
    check_compare,
    check_labels,
    check_live,
    check_study,
    check_variants,
    describe_baseline,
    resolved,
)
from ablate.study.document import Document, base_of, read_document
from ablate.study.expand import expand
from ablate.study.experiment import Experiment
from ablate.study.ids import TrialIds
from ablate.study.judged import check_metric, claimable, parse_claims
from ablate.study.load import load
from ablate.study.patch import apply_patches, key_of, level_labels, value_at
from ablate.study.schema import config_model
from ablate.study.sections import Asked


def prepare(
    source: Path | Document, sets: Sequence[str] = (), seeds: Asked = None, *, confirm: bool = False
) -> Experiment:
    """Reads, expands and checks a study: a file, or one that was read.

    Raises `StudyError` with all mistakes against the schema; where there is none, with all mistakes of meaning, as far
    as they do not follow from one another. `sets` and `seeds` are those of the options; see `load` for `confirm`, and
    `Feature.narrow` for what is left of a study to confirm.
    """
    document = source if isinstance(source, Document) else read_document(source)
    document.apply(sets, seeds)
    study, workload = load(document, confirm=confirm)
    loaded = {*sys.modules}
    path = document.path
    sections = list(workload.schema())
    resolve = partial(resolved, config_model(workload), folder=base_of(path, study.folder))
    baseline = study.configs(sections)
    if study.metric.at == "best_validation" and workload.best_path:
        baseline = [apply_patches(config, {workload.best_path: True}) for config in baseline]
    given = [config["task"] for config in baseline] if "task" in sections else []
    labels = level_labels(given)
    tasks = [labels[key_of(task)] for task in given] or [""]
    for task in {task for task in tasks if tasks.count(task) > 1}:
        document.refuse(("tasks",), "names the same task twice", task)
    factors = study.factors
    if stack := getattr(study.design, "stack", None):
        with document.reporting("design", "stack"):
            bare, baseline = baseline[0], [resolve(apply_patches(config, stack)) for config in baseline]
            factors = factors | {path: [value_at(bare, path), *factors.get(path, [])] for path in stack}
    before = len(document.problems)
    of_tasks, known = describe_baseline(workload, baseline, document)
    metrics, asked = of_tasks[0].metrics, study.metric
    own = metrics.get(asked.name or next(iter(metrics), ""))
    if own and asked.margin is None:
        study = study.model_copy(update={"metric": asked.model_copy(update={"margin": own.margin})})
    design = expand(study.model_copy(update={"factors": factors}), baseline, resolve, document)
    draft = Draft(workload, study, design, resolve, document)
    check_study(draft)
    check_variants(draft, known)
    whole = len(document.problems) == before
    judged = check_metric(study, of_tasks, document)
    claims = parse_claims(draft, claimable(draft, judged, of_tasks), sides=whole)
    # What is wrong with a variant itself is said once.
    if whole:
        check_labels(draft)
        check_compare(draft)
        check_live(draft)
    read = {feature.name: feature.check(draft) for feature in features() if whole}
    document.raise_problems()
    settle(study.plugins, loaded)
    return Experiment(
        path=path,
        document=document,
        study=study,
        workload=workload,
        design=design,
        tasks=tasks,
        claims=claims,
        resolve=resolve,
        ids=TrialIds(workload),
        variants=design.variants,
        read=read,
    )


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
    if hasattr(value, "tolist"):  # of numpy, pandas or torch
        return value.tolist()
    raise TypeError(f"{value!r} of type {type(value).__name__}")


def resolved_text(experiment: Experiment, folder: Path) -> str:
    """The resolved study as a file in `folder`."""
    study = experiment.study
    data = study.model_dump()
    for key in ("task", "tasks", *grammar()):
        if key in data and not data[key]:
            del data[key]
    if (
        data["plugins"]
        or isinstance(data["workload"], dict)
        or any(cell.trial.files for cell in experiment.cells(study.seeds.values[:1]))
    ):
        data["folder"] = os.path.relpath(base_of(experiment.path, study.folder), folder.resolve())
    else:
        del data["folder"]
    buffer = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.representer.add_representer(DataFile, lambda to, file: to.represent_str(file.written))
    yaml.dump(data, buffer)
    return buffer.getvalue()
