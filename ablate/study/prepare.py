"""From a study file to an experiment: read, expanded, checked and matched, with every mistake named at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ablate.core.facts import Matched
from ablate.study.checks import (
    check_baseline,
    check_design,
    check_faulty_paths,
    check_keeping,
    check_live,
    parse_claims,
    resolved,
    with_stand_in,
)
from ablate.study.expand import expand
from ablate.study.experiment import Experiment
from ablate.study.labels import task_labels
from ablate.study.load import load, refuse_if_faulty
from ablate.study.match import check_match, match_variants
from ablate.study.metrics import check_metric, check_units
from ablate.study.schema import config_model
from ablate.study.searches import read_searches
from ablate.study.sections.seeds import Asked
from ablate.study.speed import check_speed, check_target
from ablate.study.stress import check_stress


def prepare(
    path: Path, sets: Sequence[str] = (), seeds: Asked = None, *, confirm: bool = False
) -> Experiment:
    """Reads, expands, checks and matches a study; raises `StudyError` with all of its problems.

    The arguments are those of `load`; see `ablate.stages.confirm` for what is left of a study to confirm.
    Where seconds are matched, the variants are not yet: see `Experiment.with_rates`.
    """
    document, study, workload = load(path, sets, seeds, confirm=confirm)
    sections = list(workload.schema())
    if study is None:
        refuse_if_faulty(document)
        raise AssertionError("a study that cannot be read has a problem")
    check_keeping(workload, study, document)
    refused = document.is_faulty(("task",)) or document.is_faulty(("tasks",))
    given = [getattr(study, name, None) for name in ("task", "tasks")]
    if "task" in sections and not refused and all(given) == any(given):
        document.refuse(("task",), "give either `task`, or `tasks` with several")
    resolve = partial(resolved, config_model(workload), folder=study.base(path))
    baseline = study.configs(sections)
    if any(config.get("task", {}) is None for config in baseline):
        baseline = with_stand_in(baseline, resolve, document)
    check_faulty_paths(study, baseline[0], document)
    known = check_baseline(workload, baseline, document)
    design = expand(study, baseline, resolve, document)
    check_design(workload, study, design, known, document)
    tasks = task_labels([config["task"] for config in baseline]) if "task" in sections else [""]
    for task in {task for task in tasks if tasks.count(task) > 1 and not document.is_faulty(("tasks",))}:
        document.refuse(("tasks",), "names the same task twice", task)
    metrics, ranges, described = check_metric(workload, baseline, study, resolve, document)
    check_units(study, tasks, described, study.metric.name or next(iter(metrics), ""), document)
    check_target(study, metrics, [of.metrics for of in described], document)
    claims = parse_claims(workload, study, design, metrics, ranges, described, document)
    variants, matcher, search, tune = design.variants, None, None, None
    matched: Mapping[str, Sequence[Matched]] = {}
    if not known:
        check_live(workload, design, document)
        check_stress(workload, study, design, resolve, document)
        check_speed(workload, study, design, resolve, document)
        search, tune = read_searches(workload, study, design, metrics, resolve, document)
        if study.match is not None:
            matcher = check_match(study.match, study, workload, design, resolve, document)
            if matcher is not None:
                variants, matched = match_variants(matcher, variants, document)
    refuse_if_faulty(document)
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
        search=search,
        tune=tune,
    )
