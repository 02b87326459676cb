"""How long a run will take, before it trains: by the trials of the study that have run, else by a few timed steps.

The steps are those of real trainings, by the engine and in the processes that train afterwards. Their records are
thrown away: a trial depends on nothing but its own config and seed, so that they change none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from ablate.core.cell import Cell
from ablate.core.engine import Engine
from ablate.core.events import Ended, EngineEvent, Started
from ablate.core.search_table import SearchTable
from ablate.core.trial import Trial
from ablate.records.store import Store
from ablate.study.designs.design import Config
from ablate.study.experiment import Experiment
from ablate.study.patch import apply_patches, value_at

Place = tuple[str, str]
"""A variant and a task."""
MOST_RECORDS = 5
"""Of each place, that are read for their seconds."""
SHORT = 4
"""Steps of a timed training, beside one that has a single step: building, evaluating and loading data."""
LONG_SECONDS, MOST_STEPS = 0.3, 300
"""Time that the steps of the others should take, and the most of these steps."""
BUDGET = 1.5
"""Seconds in which places beside the first are timed; nothing is where a training of one step takes longer."""
SLOWEST = 15.0
"""Seconds of such a training that is the first of its process."""


def seconds_each(
    experiment: Experiment,
    places: Sequence[Place],
    total: int,
    engine: Engine,
    jobs: int,
    store: Store,
    searched: SearchTable | None = None,
) -> float | None:
    """Mean seconds of one training at `places`, one for each or for each of the same number; None where it is unknown.

    `total` trainings are to come. Where no training is known at a place, some steps are timed there, within a few
    seconds in all, unless everything would take no longer, or building and evaluating alone takes too long.
    """
    known = seconds_known(experiment.cells(), store, searched)
    if missing := [place for place in dict.fromkeys(places) if place not in known]:
        known |= _timed(experiment, missing, total, engine, jobs)
    costs = [known[place] for place in places if place in known]
    return fmean(costs) if costs else None


def seconds_known(
    cells: Sequence[Cell], store: Store, searched: SearchTable | None = None
) -> dict[Place, float]:
    """Mean seconds of the trainings that have run at each place; of those of its settings where there is no other."""
    found: dict[Place, list[float]] = {}
    for cell in cells:
        mine = found.setdefault((cell.variant, cell.task), [])
        if len(mine) < MOST_RECORDS and store.has(cell.id) and (record := store.load(cell.trial)) is not None:
            mine += [seconds] if (seconds := record.metrics.get("train_seconds")) else []
    if searched is not None:
        for (variant, task), rows in searched.trials.groupby(["variant", "task"]):
            count, seconds = int(rows["seeds"].sum()), float(rows["train_seconds"].sum())
            if count and seconds and not found.get((variant, task)):
                found[variant, task] = [seconds / count]
    return {place: fmean(mine) for place, mine in found.items() if mine}


def seconds_left(
    places: Sequence[Place], known: Mapping[Place, float], jobs: int, total: int
) -> float | None:
    """Seconds that `total` trainings at these places take on `jobs` workers; None where no training is known.

    By the seconds that are known there, or anywhere.
    """
    costs = [known[place] for place in places if place in known] or list(known.values())
    return fmean(costs) * total / max(1, min(jobs, total)) if costs else None


def _timed(
    experiment: Experiment, places: Sequence[Place], total: int, engine: Engine, jobs: int
) -> dict[Place, float]:
    """Seconds of a training at each place; of none where the first cannot be timed, or need not be."""
    path = experiment.workload.steps_path
    configs = {
        (variant.name, task): config
        for variant in experiment.variants
        for task, config in zip(experiment.tasks, variant.configs, strict=True)
        if (variant.name, task) in places
    }
    if path is None or not configs:
        return {}
    steps = {place: int(value_at(config, path)) for place, config in configs.items()}
    first, *others = configs
    one = [_short(experiment, configs[first], 1)]
    # The first training of a process takes longer than any other: each worker gets one.
    cold = _run(engine, [_short(experiment, configs[first], 1, worker) for worker in range(max(1, jobs))])[0]
    fixed = None if cold is None or cold > SLOWEST else _run(engine, one)[0]
    if fixed is None or fixed > BUDGET or fixed * steps[first] * total / max(1, jobs) < BUDGET:
        return {}
    few = _run(engine, [_short(experiment, configs[first], SHORT)])[0]
    step = max((few or 0) - fixed, 0) / (SHORT - 1)
    further = min(MOST_STEPS, math.ceil(LONG_SECONDS / step)) if step else MOST_STEPS
    many = _run(engine, [_short(experiment, configs[first], 1 + further)])[0]
    room = math.floor(BUDGET * max(1, jobs) / many) if many else 0
    more = _run(engine, [_short(experiment, configs[place], 1 + further) for place in others[:room]])
    return {
        place: fixed + (steps[place] - 1) * max(seconds - fixed, 0) / further
        for place, seconds in zip([first, *others], [many, *more], strict=False)
        if seconds is not None
    }


def _short(experiment: Experiment, config: Config, steps: int, further: int = 0) -> Trial:
    """A training of `steps` steps, of which nothing is kept, under the first seed of the study or a further one."""
    path = experiment.workload.steps_path
    assert path is not None
    short = apply_patches(config, {path: steps})
    trial = experiment.trial(short, experiment.study.seeds.values[0] + further)
    return replace(trial, checkpoint="none", save_every=None)


def _run(engine: Engine, trials: Sequence[Trial]) -> list[float | None]:
    """The seconds of each trial; None for one that failed."""
    began: dict[str, float] = {}
    took: dict[str, float | None] = {}

    def hear(event: EngineEvent) -> bool:
        if isinstance(event, Started):
            began[event.trial_id] = time.monotonic()
        elif isinstance(event, Ended):
            seconds = time.monotonic() - began.get(event.record.id, math.nan)
            took[event.record.id] = None if event.record.status == "failed" else seconds
        return False

    if trials:
        engine.run(list({trial.id: trial for trial in trials}.values()), hear)
    return [took.get(trial.id) for trial in trials]
