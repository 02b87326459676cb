"""What a study will train, and what that can tell, before it is trained; and its pilot, which trains to know.

What its seeds can detect is told by the pairs that are known: of its trials in the store, be they of other seeds or of
a pilot; or else of its last report. Only the spread of their differences is used, never the differences themselves.

A pilot is a few seeds of every variant, trained to learn how far their differences from the baseline spread. Its seeds
neither judge nor tune, so that no verdict and no claim rests on what it showed. Its trials are kept in the store like
any others; the list of trials of the study holds them until the study has a report, which tells the spread itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from ablate.analysis.family import family_size, weights
from ablate.analysis.power import ALPHA
from ablate.analysis.prospects import Asked, Outlook, Power, Terms, outlook
from ablate.base.errors import AblateError, Problem
from ablate.base.wording import counted, exact
from ablate.core.events import FixedPlan
from ablate.core.facts import BASELINE, Evidence, Facts
from ablate.core.feature import features
from ablate.execution.driver import drive
from ablate.execution.local_pool import default_jobs
from ablate.execution.progress import Display
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.route.cautions import cautions
from ablate.route.confirm import confirming
from ablate.route.expect import Known, Pace, Place, seconds_known
from ablate.route.gather import comparable, gather
from ablate.route.options import Options
from ablate.route.running import Workers
from ablate.route.walk import Walk
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of
from ablate.study.prepare import prepare
from ablate.study.searches import SearchSpec
from ablate.study.sections.seeds import PILOT_SEEDS_FROM, TUNING_SEEDS_FROM


@dataclass(frozen=True)
class Planned:
    """Of a study: its trials, what is left of them, and what they can tell."""

    experiment: Experiment
    cached: Mapping[Place, int]
    "Trials of each place that are in the store."
    todo: Sequence[Place]
    "The place of each trial that is not; of a tuned study, of its variants as it gives them."
    pace: Pace
    power: Power
    cautions: Sequence[str]
    beside: int
    "Trainings that features add."
    features: Mapping[str, tuple[list[str], Mapping[str, Any] | None]]
    "What each feature says of it, in sentences and as plain data."

    @property
    def trained_as_given(self) -> bool:
        """Whether the variants are trained as the study gives them."""
        return self.experiment.tune is None or self.experiment.trains_untuned

    @property
    def at_most(self) -> int:
        """The largest number of trainings of a run, a search included."""
        found, tune = self.experiment, self.experiment.tune
        if found.walks:
            walk = Walk(found)
            return len(self.todo) + walk.left + walk.between
        if tune is None:
            return len(self.todo)
        judged = len(found.variants) * len(found.tasks) * found.study.seeds.count
        return self.settings("tune", tune) + judged * (2 if self.trained_as_given else 1) + self.beside

    def settings(self, kind: str, spec: SearchSpec) -> int:
        """The largest number of trainings of a search."""
        searches = len(self.experiment.variants) * len(self.experiment.tasks) if kind == "tune" else 1
        return searches * spec.trials * len(spec.seeds)

    @property
    def seconds_as_given(self) -> float | None:
        """Expected seconds of what is left to train, without any search; None where no training has been timed."""
        return self.pace.left(self.todo, len(self.todo))

    @property
    def expected(self) -> float | None:
        """The same of all that a run trains."""
        found = self.experiment
        if found.tune is None and not found.walks:
            return self.seconds_as_given
        return self.pace.left([(v.name, task) for v in found.variants for task in found.tasks], self.at_most)


def study_of(path: Path, options: Options) -> Experiment:
    """The study as a run would train it. Raises `StudyError`."""
    experiment = prepare(path, options.sets, options.seeds, confirm=options.confirm)
    return confirming(experiment, options.results, options.seeds)


def known_of(
    experiment: Experiment, options: Options, warn: Callable[[str], None], *, read_only: bool = True
) -> Known:
    """A study with its folder and store."""
    store = Store(options.results / "store", warn, read_only=read_only)
    return Known(experiment, StudyFolder(options.results, experiment.study.name), store, warn)


def planned(known: Known, options: Options, detect: float | None = None, *, piloted: bool = False) -> Planned:
    """The plan of a study; see `power` for `detect` and `piloted`. Trains and writes nothing."""
    experiment, store = known.experiment, known.store
    cells = experiment.cells()
    grid = experiment.companions(cells)
    records = {i: record for i in {cell.trial.id for cell in [*cells, *grid]} if (record := store.load(i))}
    done = {c.id for c in [*grid, *cells] if store.is_finished(records.get(c.id), c.trial.checkpoint)}
    as_given = experiment.tune is None or experiment.trains_untuned
    timed = [*cells, *experiment.cells([*known.pilot_seeds])]
    searched = known.folder.search_table("tuning" if experiment.tune else "")
    jobs = default_jobs() if options.jobs is None else max(1, options.jobs)
    pace = Pace(seconds_known(timed, store, searched), jobs)
    # The grid of a tuned study is that of settings that are not known yet.
    here = cells if experiment.tune else [*cells, *grid]
    return Planned(
        experiment,
        Counter((cell.variant, cell.task) for cell in cells if cell.id in done and as_given),
        [*{cell.id: (cell.variant, cell.task) for cell in here if cell.id not in done}.values()],
        pace,
        power(known, pace, detect, piloted=piloted),
        cautions(experiment),
        len(grid),
        {feature.name: feature.plan(experiment, store) for feature in features()},
    )


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
            cells = folder.trial_list.cells()
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
    cells += [cell for cell in experiment.companions(cells) if cell.seed in planned]
    finished = cells
    if tuned := experiment.tune is not None:  # what a search has chosen has other trials
        finished = [cell for _, cell, _ in known.folder.rows() if cell.judged and cell.seed in planned]
    trials = len({cell.id for cell in cells}) // len(planned) * seeds
    left = trials - sum(map(has, {cell.id for cell in finished}))
    cost = pace.left([(cell.variant, cell.task) for cell in cells], left)
    return Asked(detect, middle, seeds, trials, left, cost, pace.jobs, tuned)


def pilot(known: Known, seeds: int, options: Options, console: Console) -> list[str]:
    """Trains what is missing of the pilot of a matched study, its placebo left out; the caller holds its lock.

    Returns the names of the trials that failed, with the reason.
    """
    experiment, store = known.experiment, known.store
    placebos = {variant.name for variant in experiment.variants if variant.placebo}
    cells = [
        replace(cell, role="pilot", name=f"{cell.variant}{experiment.on(cell.task)} pilot seed {cell.seed}")
        for cell in experiment.cells(range(PILOT_SEEDS_FROM, PILOT_SEEDS_FROM + seeds))
        if cell.variant not in placebos
    ]
    known.folder.trial_list.add(cells)
    workers = Workers(experiment, options.jobs)
    # Without a metric: only the spread is of interest, and no variant should look better than another.
    display = Display(console, f"{experiment.study.name}, pilot", "", workers.jobs)
    with workers, display:
        records = drive(FixedPlan(cells), workers, store, display)
    failed: dict[str, str] = {}
    for cell in cells:
        if records[cell.id].status == "failed" and cell.id not in failed:
            failed[cell.id] = f"{cell.name}: {records[cell.id].reason}"
            known.warn(f"failed: {failed[cell.id]}")
    return [*failed.values()]
