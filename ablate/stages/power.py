"""What the planned seeds of a study can detect, and what it would cost to detect a given difference.

By the pairs that are known: of the study's trials in the store, be they of other seeds or of a pilot; or else of its
last report. Only the spread of their differences is used, never the differences themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from statistics import median
from typing import TYPE_CHECKING

from ablate.analysis.looks import weights
from ablate.analysis.power import ALPHA
from ablate.base.errors import AblateError, Problem
from ablate.base.wording import counted, exact
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.expect import Place, seconds_left
from ablate.stages.stress import stressed
from ablate.stages.walk import Walk
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of
from ablate.study.sections.seeds import PILOT_SEEDS_FROM, TUNING_SEEDS_FROM

if TYPE_CHECKING:
    from ablate.analysis.prospects import Asked, Outlook, Power
    from ablate.core.evidence import Evidence


def power(
    experiment: Experiment,
    folder: StudyFolder,
    store: Store,
    warn: Callable[[str], None],
    seconds: Mapping[Place, float],
    jobs: int,
    detect: float | None = None,
    *,
    piloted: bool = False,
) -> Power:
    """What the seeds of the study can detect, and what `detect`, a difference in the primary metric's units, takes.

    `seconds` of a training at each place that are known, `jobs` workers; `piloted`: by trials in the store before any
    report. Raises `AblateError` for a difference that the metric can show on no task.
    """
    from ablate.analysis.family import family_size
    from ablate.analysis.prospects import Power, outlook

    metric, facts = experiment.metric, facts_of(experiment)
    if detect is not None:
        _check(detect, metric, [task.metrics[metric] for task in facts.tasks if metric in task.metrics])
    variants = [variant.name for variant in experiment.variants[1:] if not variant.placebo]
    m, seeds = family_size(facts), experiment.study.seeds
    if experiment.walks:  # the steps that are not chosen yet are compared, too
        m += len(Walk(experiment).target.patches) - 1
    looks = max(1, len(seeds.looks))
    level = ALPHA * weights(looks)[-1] / max(m, 1)
    evidence, source = _known(experiment, folder, store, warn, bool(experiment.tune) and not piloted)
    found = [
        outlook(
            *(task, metric, variants, evidence, seeds.count, level, facts.margin),
            detect if (detect or 0) <= (task.metrics[metric].span or math.inf) else None,
        )
        for task in (facts.tasks if m else ())
        if metric in task.metrics
    ]
    asked = _asked(detect, found, experiment, folder, store, seconds, jobs) if detect is not None else None
    return Power(metric, seeds.count, m, level, looks, source, found, asked)


def _check(detect: float, name: str, metrics: Sequence[Metric]) -> None:
    """Raises `AblateError` for a difference that is larger than any that the metric can show."""
    spans = [metric.span for metric in metrics]
    most = max((span for span in spans if span is not None), default=math.inf)
    if None not in spans and detect > most:
        rule = f"is more than {name} can differ by"
        problem = Problem(rule, given=detect, allowed=f"above 0, up to {exact(most)}", source="--detect")
        raise AblateError(str(problem))


def _known(
    experiment: Experiment, folder: StudyFolder, store: Store, warn: Callable[[str], None], first_report: bool
) -> tuple[Evidence | None, str]:
    """The evidence with pairs, and where it comes from in words: the first of store and report that has any."""
    sources = [lambda: _stored(experiment, folder, store, warn), lambda: _reported(experiment, folder)]
    for source in reversed(sources) if first_report else sources:
        evidence, words = source()
        if evidence is not None and _has_pairs(evidence):
            return evidence, words
    return None, ""


def _has_pairs(evidence: Evidence) -> bool:
    """Whether two seeds at least have an outcome of the baseline and of another variant."""
    ended = evidence.trials[evidence.trials["status"].isin(["completed", "diverged"])]
    baseline = set(ended.loc[ended["variant"] == BASELINE, "seed"])
    return len(baseline & set(ended.loc[ended["variant"] != BASELINE, "seed"])) > 1


def _stored(
    experiment: Experiment, folder: StudyFolder, store: Store, warn: Callable[[str], None]
) -> tuple[Evidence | None, str]:
    """Of the study's trials as it gives them, under any seeds that it or a pilot has trained."""
    from ablate.stages.gather import comparable, gather

    if not store.trials.is_dir():
        return None, ""
    placebos = {variant.name for variant in experiment.variants if variant.placebo}
    seeds = sorted({*experiment.study.seeds.values, *_judged_seeds(experiment, folder)})
    cells = experiment.cells([*seeds, *pilot_seeds(experiment, store)])
    trained = [cell for cell in cells if cell.variant not in placebos and store.has(cell.id)]
    records = {cell.id: record for cell in trained if (record := store.load(cell.trial)) is not None}
    if not records:
        return None, ""
    ran = [cell for cell in trained if cell.id in records]
    used = list(dict.fromkeys(cell.seed for cell in ran))
    of_pilot = sum(seed >= PILOT_SEEDS_FROM for seed in used)
    found = [f"a pilot of {counted(of_pilot, 'seed')}"] * (of_pilot > 0)
    found += ["trials in the store"] * (of_pilot < len(used))
    words = " and ".join(found) + ", as the study gives them, not tuned" * (experiment.tune is not None)
    return gather(replace(facts_of(experiment), seeds=used), ran, comparable(ran, records, warn)), words


def _judged_seeds(experiment: Experiment, folder: StudyFolder) -> Iterator[int]:
    """The seeds under which trials of the study have been planned."""
    for each in _folders(experiment, folder):
        with suppress(AblateError):
            cells = each.roster.cells()
            yield from (cell.seed for cell in cells if cell.judged and cell.seed < TUNING_SEEDS_FROM)


def _folders(experiment: Experiment, folder: StudyFolder) -> list[StudyFolder]:
    """The folder of the study, and of those that it repeats or differs from."""
    names = dict.fromkeys([folder.name, experiment.study.confirms or folder.name])
    found = [StudyFolder(folder.results, name) for name in names]
    return [*found, *(each.written for each in found if each.written is not None)]


def pilot_seeds(experiment: Experiment, store: Store) -> Iterator[int]:
    """The seeds of a pilot that the store has."""
    for seed in count(PILOT_SEEDS_FROM):
        if not any(store.has(cell.id) for cell in experiment.cells([seed])):
            return
        yield seed


def _reported(experiment: Experiment, folder: StudyFolder) -> tuple[Evidence | None, str]:
    """Of the last report that judges by the same number."""
    facts = facts_of(experiment)
    for each in _folders(experiment, folder):
        with suppress(AblateError):
            evidence = each.evidence() if each.has_report else None
            known = evidence and evidence.facts
            if known and (known.metric, known.column) == (facts.metric, facts.column):
                return evidence, f"the last report, {each.path}"
    return None, ""


def _asked(
    detect: float,
    tasks: Sequence[Outlook],
    experiment: Experiment,
    folder: StudyFolder,
    store: Store,
    seconds: Mapping[Place, float],
    jobs: int,
) -> Asked:
    """What it takes to detect a difference in every comparison that can."""
    from ablate.analysis.prospects import Asked

    every = [seeds for of in tasks for seeds in (of.seeds, *(one.seeds for one in of.prospects))]
    needed = [seeds for seeds in every if seeds is not None]
    middle = median(needed) if needed else None
    seeds = int(max(filter(math.isfinite, needed), default=0))
    if not seeds:
        return Asked(detect, middle, None)
    planned = experiment.study.seeds.values[:seeds]
    cells = experiment.cells(planned)
    cells += [cell for cell in stressed(experiment, cells) if cell.seed in planned]
    known = cells
    if tuned := experiment.tune is not None:  # what a search has chosen has other trials
        known = [cell for _, cell, _ in folder.rows() if cell.judged and cell.seed in planned]
    trials = len({cell.id for cell in cells}) // len(planned) * seeds
    left = trials - sum(map(store.has, {cell.id for cell in known}))
    cost = seconds_left([(cell.variant, cell.task) for cell in cells], seconds, jobs, left)
    return Asked(detect, middle, seeds, trials, left, cost, jobs, tuned)
