"""What tests of searches share: a study of peaks, searches in memory, and what is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import optuna
import pandas as pd

from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.search.plans import SearchPlan
from ablate.search.queue import Queue
from ablate.search.quiet import quiet
from ablate.search.search import Search
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare

PEAKS = Path(__file__).parent / "peaks.py"

PEAK_STUDY = f"""\
name: peaks
workload: peaks
plugins: [{PEAKS}]
task: {{name: peak}}
metric: score
seeds: 3
"""

SWEEP = (
    PEAK_STUDY
    + """\
search:
  over:
    training.lr: {float: [1e-5, 1e-1], log: true}
    model.x: {float: [-1, 1]}
  trials: 8
  seeds: 2
"""
)

GRID = (
    PEAK_STUDY
    + """\
search:
  over:
    model.kind: {choice: [plain, wide]}
    model.x: {float: [0, 0.4], step: 0.2}
    model.heads: {int: [2, 3], when: model.kind=wide}
  sampler: grid
  seeds: 2
"""
)
"""Nine points: three plain and six wide."""

TIMES = ["train_seconds"]


def never(event: Any) -> bool:
    return False


def train(
    experiment: Experiment, trial: Trial, decide: Callable[[int, Any], bool] = lambda s, m: False
) -> Record:
    """One trial, in this process; `decide` hears its reports."""
    return experiment.workload.train(trial, lambda step, metrics, state=None: decide(step, metrics))


def search_in_memory(
    experiment: Experiment, name: str = "s", storage: Any = None, *, kind: str = "search", driver: str = "me"
) -> Search:
    """The search of a prepared study on its baseline; a store is not needed."""
    spec = getattr(experiment, kind)
    storage = storage or optuna.storages.InMemoryStorage()
    base = experiment.variants[0].configs[0]
    queue = Queue(storage, name, [o.direction for o in spec.objectives], spec.trials, driver)

    def trials_of(point: Mapping[str, Any]) -> Any:
        config = experiment.patched(base, spec.space.patches(point))
        return [experiment.trial(config, seed) for seed in spec.seeds], experiment.workload.describe(config)

    return Search(spec, queue, name, trials_of, "baseline")


def drive(search: Search, experiment: Experiment, records: dict[str, Record], *, stop: int = 10**9) -> int:
    """Trains what a search asks for, at most `stop` trials; how many it was."""
    plan = SearchPlan([search], lambda message: None, "memory")
    done = 0
    while cells := plan.ask(records):
        for cell in cells:
            if done == stop:
                return done

            def decide(step: int, metrics: Any, trial: Trial = cell.trial) -> bool:
                return trial.prunable and search.hear(trial.id, step, metrics)

            records[cell.id] = train(experiment, cell.trial, decide)
            done += 1
    return done


def points(frame: pd.DataFrame, paths: list[str]) -> list[tuple[Any, ...]]:
    """The settings of a table, as they can be compared."""
    return [
        tuple(None if isinstance(v, float) and math.isnan(v) else v for v in row)
        for row in frame[paths].itertuples(index=False)
    ]


def prepared(path: Path, **sets: Any) -> Experiment:
    return prepare(path, [f"{key.replace('__', '.')}={value}" for key, value in sets.items()])


def told(search: Search) -> list[Any]:
    with quiet():
        return search.queue.trials()
