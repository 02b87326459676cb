"""From a study file to an experiment: read once, checked in two stages, expanded and matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ablate.core.facts import Matched
from ablate.core.feature import features
from ablate.study.checks import (
    Draft,
    check_labels,
    check_live,
    check_metric,
    check_study,
    check_variants,
    claimable,
    describe_baseline,
    parse_claims,
    resolved,
)
from ablate.study.document import Document, read_document
from ablate.study.expand import expand
from ablate.study.experiment import Experiment
from ablate.study.labels import level_labels
from ablate.study.load import load
from ablate.study.match import check_match, match_variants
from ablate.study.patch import key_of
from ablate.study.schema import config_model
from ablate.study.sections.seeds import Asked


def prepare(
    source: Path | Document, sets: Sequence[str] = (), seeds: Asked = None, *, confirm: bool = False
) -> Experiment:
    """Reads, expands, checks and matches a study: a file, or one that was read.

    Raises `StudyError` with all mistakes against the schema; where there is none, with all mistakes of meaning, as far
    as they do not follow from one another. `sets` and `seeds` are those of the options; see `load` for `confirm`, and
    `ablate.route.confirm` for what is left of a study to confirm.
    """
    read = source if isinstance(source, Document) else read_document(source)
    read.apply(sets, seeds)
    document, study, workload = load(read, confirm=confirm)
    path = document.path
    sections = list(workload.schema())
    resolve = partial(resolved, config_model(workload), folder=study.base(path))
    baseline = study.configs(sections)
    given = [config["task"] for config in baseline] if "task" in sections else []
    labels = level_labels(given)
    tasks = [labels[key_of(task)] for task in given] or [""]
    for task in {task for task in tasks if tasks.count(task) > 1}:
        document.refuse(("tasks",), "names the same task twice", task)
    before = len(document.problems)
    of_tasks, known = describe_baseline(workload, baseline, resolve, document)
    design = expand(study, baseline, resolve, document)
    draft = Draft(workload, study, design, resolve, document)
    check_study(draft)
    check_variants(draft, known)
    whole = len(document.problems) == before
    judged = check_metric(study, of_tasks, document)
    claims = parse_claims(draft, claimable(draft, judged, of_tasks), sides=whole)
    variants, matcher = design.variants, None
    matched: Mapping[str, Sequence[Matched]] = {}
    of_features: Mapping[str, Any] = {}
    # What is wrong with a variant itself is said once.
    if whole:
        check_labels(draft)
        check_live(draft)
        of_features = {feature.name: feature.check(draft) for feature in features()}
        if study.match is not None:
            matcher = check_match(study.match, draft)
        if matcher is not None:
            variants, matched = match_variants(matcher, variants, document)
    document.raise_problems()
    return Experiment(
        path=path,
        document=document,
        study=study,
        workload=workload,
        design=design,
        tasks=tasks,
        claims=claims,
        resolve=resolve,
        variants=variants,
        matcher=matcher,
        matched=matched,
        read=of_features,
    )
