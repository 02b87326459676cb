"""From a study, a file or one that is given in Python, to an study; and the file that says how it runs."""

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from ablate.base.datafile import DataFile
from ablate.base.errors import Problem, StudyError
from ablate.core.metric import Metric
from ablate.core.names import GIVEN
from ablate.core.workload import Workload
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
from ablate.study.designs import Config
from ablate.study.document import Document, base_of
from ablate.study.expand import expand
from ablate.study.ids import TrialIds
from ablate.study.judged import check_metric, claimable, parse_claims
from ablate.study.patch import apply_patches, key_of, level_labels, value_at
from ablate.study.schema import StudyConfig, config_model
from ablate.study.stage_config import StageOutline
from ablate.study.study import Study


@dataclass(frozen=True)
class DraftedStudy:
    """A study whose own checks are done; its problems are in its document."""

    draft: Draft
    study: Study
    # Whether all variants can be built, so that stages may check them.
    is_whole: bool


def draft_study(
    document: Document, config: StudyConfig, workload: Workload, outline: StageOutline
) -> DraftedStudy:
    """Expands a study that agrees with the schema, and checks it.

    All mistakes of meaning, as far as they do not follow from one another, are reported to the document.
    """
    path = document.path
    sections = list(workload.schema())
    resolve = partial(resolved, config_model(workload), folder=base_of(path, config.folder))
    baseline, tasks = _baselines(document, config, workload, sections)
    factors = config.factors
    if stack := getattr(config.design, "stack", None):
        with document.reporting("design", "stack"):
            bare, baseline = baseline[0], [resolve(apply_patches(each, stack)) for each in baseline]
            factors = factors | {path: [value_at(bare, path), *factors.get(path, [])] for path in stack}
    problems_before = len(document.problems)
    described, known_problems = describe_baseline(workload, baseline, document)
    config = _with_margin(config, described[0].metrics)
    design = expand(config.model_copy(update={"factors": factors}), baseline, resolve, document)
    draft = Draft(workload, config, design, resolve, document, outline)
    check_study(draft)
    check_variants(draft, known_problems)
    is_whole = len(document.problems) == problems_before
    judged = check_metric(config, described, document)
    claims = parse_claims(draft, claimable(draft, judged, described), sides=is_whole)
    # What is wrong with a variant itself is said once.
    if is_whole:
        check_labels(draft)
        check_compare(draft)
        check_live(draft)
    study = Study(
        path=path,
        document=document,
        config=config,
        workload=workload,
        design=design,
        tasks=tasks,
        claims=claims,
        resolve=resolve,
        ids=TrialIds(workload),
        variants=design.variants,
    )
    return DraftedStudy(draft, study, is_whole)


def _baselines(
    document: Document, config: StudyConfig, workload: Workload, sections: list[str]
) -> tuple[list[Config], list[str]]:
    """Returns the baseline's config on each task, and the labels of the tasks: one empty label without tasks."""
    baseline = config.configs(sections)
    if config.metric.at == "best_validation" and workload.best_path:
        baseline = [apply_patches(each, {workload.best_path: True}) for each in baseline]
    if "task" not in sections:
        return baseline, [""]
    given = [each["task"] for each in baseline]
    labels = level_labels(given)
    tasks = [labels[key_of(task)] for task in given] or [""]
    for task in {task for task in tasks if tasks.count(task) > 1}:
        document.refuse(("tasks",), "names the same task twice", task)
    return baseline, tasks


def _with_margin(config: StudyConfig, metrics: Mapping[str, Metric]) -> StudyConfig:
    """Returns a study with the margin of its metric, where it gives none itself."""
    asked = config.metric
    metric = metrics.get(asked.name or next(iter(metrics), ""))
    if metric is None or asked.margin is not None:
        return config
    return config.model_copy(update={"metric": asked.model_copy(update={"margin": metric.margin})})


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


def resolved_text(study: Study, folder: Path) -> str:
    """The resolved config as a file in `folder`."""
    config = study.config
    data = config.model_dump()
    stage_keys = [key for config in study.stage_configs for key in config.model_fields]
    for key in ("task", "tasks", *stage_keys):
        if key in data and not data[key]:
            del data[key]
    if (
        data["plugins"]
        or isinstance(data["workload"], dict)
        or any(cell.trial.files for cell in study.cells(config.seeds.values[:1]))
    ):
        data["folder"] = os.path.relpath(base_of(study.path, config.folder), folder.resolve())
    else:
        del data["folder"]
    buffer = io.StringIO()
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.representer.add_representer(DataFile, lambda to, file: to.represent_str(file.written))
    yaml.dump(data, buffer)
    return buffer.getvalue()
