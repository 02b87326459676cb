"""What the planned seeds of a study can detect, and what it would cost to detect a given difference.

By the pairs that are known: of the study's trials in the store, be they of other seeds or of a pilot; or else of its
last report. Only the spread of their differences is used, never the differences themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, takewhile
from statistics import median

from ablate.analysis.family import family_size
from ablate.analysis.looks import weights
from ablate.analysis.power import ALPHA
from ablate.analysis.prospects import Asked, Outlook, Power, Terms, outlook
from ablate.base.errors import AblateError, Problem
from ablate.base.wording import counted, exact
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, Facts
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.expect import Pace
from ablate.stages.gather import comparable, gather
from ablate.stages.stress import stressed
from ablate.stages.walk import Walk
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of
from ablate.study.sections.seeds import PILOT_SEEDS_FROM, TUNING_SEEDS_FROM


@dataclass(frozen=True)
class Known:
    """A study, and where its trials and reports are."""

    experiment: Experiment
    folder: StudyFolder
    store: Store
    warn: Callable[[str], None]

    @property
    def pilot_seeds(self) -> Iterator[int]:
        """The seeds of a pilot that the store has."""

        def ran(seed: int) -> bool:
            return any(self.store.has(cell.id) for cell in self.experiment.cells([seed]))

        return takewhile(ran, count(PILOT_SEEDS_FROM))

    @property
    def folders(self) -> list[StudyFolder]:
        """The folder of the study, and of those that it repeats or differs from."""
        names = dict.fromkeys([self.folder.name, self.experiment.study.confirms or self.folder.name])
        found = [StudyFolder(self.folder.results, name) for name in names]
        return [*found, *(each.written for each in found if each.written is not None)]


def power(known: Known, pace: Pace, detect: float | None = None, *, piloted: bool = False) -> Power:
    """What the seeds of the study can detect, and what `detect`, a difference in the primary metric's units, takes.

    `piloted`: by trials in the store before any report. Raises `AblateError` for a difference that the metric can show
    on no task.
    """
    experiment, facts = known.experiment, facts_of(known.experiment)
    metric, seeds = experiment.metric, experiment.study.seeds
    tasks = [task for task in facts.tasks if metric in task.metrics]
    spans = [task.metrics[metric].span or math.inf for task in tasks]
    if detect is not None and detect > (most := max(spans, default=math.inf)):
        problem = Problem(
            f"is more than {metric} can differ by",
            given=detect,
            allowed=f"above 0, up to {exact(most)}",
            source="--detect",
        )
        raise AblateError(str(problem))
    m, looks = family_size(facts), max(1, len(seeds.looks))
    if experiment.walks:  # the steps that are not chosen yet are compared, too
        m += len(Walk(experiment).target.patches) - 1
    terms = Terms(seeds.count, ALPHA * weights(looks)[-1] / max(m, 1), facts.margin, detect)
    evidence, source = _pairs(known, facts, reported_first=bool(experiment.tune) and not piloted)
    variants = [variant.name for variant in experiment.variants[1:] if not variant.placebo]
    found = [outlook(task, metric, variants, evidence, terms) for task in (tasks if m else ())]
    asked = _asked(known, pace, detect, found) if detect is not None else None
    return Power(metric, seeds.count, m, terms.alpha, looks, source, found, asked)


def _pairs(known: Known, facts: Facts, *, reported_first: bool) -> tuple[Evidence | None, str]:
    """The evidence with pairs, and where it comes from in words: the first of store and report that has any."""
    sources = [_reported, _stored] if reported_first else [_stored, _reported]
    for source in sources:
        evidence, words = source(known, facts)
        if evidence is None:
            continue
        ended = evidence.trials[evidence.trials["status"].isin(["completed", "diverged"])]
        is_baseline = ended["variant"] == BASELINE
        if len({*ended.loc[is_baseline, "seed"]} & {*ended.loc[~is_baseline, "seed"]}) > 1:
            return evidence, words
    return None, ""


def _stored(known: Known, facts: Facts) -> tuple[Evidence | None, str]:
    """Of the study's trials as it gives them, under any seeds that it or a pilot has trained."""
    experiment, store = known.experiment, known.store
    if not store.trials.is_dir():
        return None, ""
    placebos = {variant.name for variant in experiment.variants if variant.placebo}
    seeds = {*experiment.study.seeds.values}
    for folder in known.folders:
        with suppress(AblateError):
            cells = folder.roster.cells()
            seeds |= {cell.seed for cell in cells if cell.judged and cell.seed < TUNING_SEEDS_FROM}
    cells = experiment.cells([*sorted(seeds), *known.pilot_seeds])
    trained = [cell for cell in cells if cell.variant not in placebos and store.has(cell.id)]
    records = {cell.id: record for cell in trained if (record := store.load(cell.trial)) is not None}
    ran = [cell for cell in trained if cell.id in records]
    used = list(dict.fromkeys(cell.seed for cell in ran))
    if not used:
        return None, ""
    of_pilot = sum(seed >= PILOT_SEEDS_FROM for seed in used)
    found = [f"a pilot of {counted(of_pilot, 'seed')}"] * (of_pilot > 0)
    found += ["trials in the store"] * (of_pilot < len(used))
    words = " and ".join(found) + ", as the study gives them, not tuned" * (experiment.tune is not None)
    return gather(replace(facts, seeds=used), ran, comparable(ran, records, known.warn)), words


def _reported(known: Known, facts: Facts) -> tuple[Evidence | None, str]:
    """Of the last report that judges by the same number."""
    for each in known.folders:
        with suppress(AblateError):
            evidence = each.evidence() if each.has_report else None
            of = evidence and evidence.facts
            if of and (of.metric, of.column) == (facts.metric, facts.column):
                return evidence, f"the last report, {each.path}"
    return None, ""


def _asked(known: Known, pace: Pace, detect: float, tasks: list[Outlook]) -> Asked:
    """What it takes to detect a difference in every comparison that can."""
    experiment, has = known.experiment, known.store.has
    every = [seeds for of in tasks for seeds in (of.seeds, *(one.seeds for one in of.prospects))]
    needed = [seeds for seeds in every if seeds is not None]
    middle = median(needed) if needed else None
    seeds = int(max(filter(math.isfinite, needed), default=0))
    if not seeds:
        return Asked(detect, middle, None)
    planned = experiment.study.seeds.values[:seeds]
    cells = experiment.cells(planned)
    cells += [cell for cell in stressed(experiment, cells) if cell.seed in planned]
    finished = cells
    if tuned := experiment.tune is not None:  # what a search has chosen has other trials
        finished = [cell for _, cell, _ in known.folder.rows() if cell.judged and cell.seed in planned]
    trials = len({cell.id for cell in cells}) // len(planned) * seeds
    left = trials - sum(map(has, {cell.id for cell in finished}))
    cost = pace.left([(cell.variant, cell.task) for cell in cells], left)
    return Asked(detect, middle, seeds, trials, left, cost, pace.jobs, tuned)
