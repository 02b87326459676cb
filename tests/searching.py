"""What tests of searches share: a study of peaks, searches in memory, and what is found."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from harness import prepare

from ablate.analysis.search_table import SearchTable, search_table_of
from ablate.core.events import Progress
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.records.folder import StudyFolder
from ablate.stages.search.plan import SearchPlan
from ablate.stages.search.search import Search
from ablate.stages.search.section import SweepConfig, TuneConfig
from ablate.stages.search.spec import SearchSpec, read_search
from ablate.study.conditions import read_conditions
from ablate.study.draft import Draft
from ablate.study.stage_config import config_of
from ablate.study.study import Study

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


def train(experiment, trial, decide=lambda s, m: False):
    """One trial, in this process; `decide` hears its reports."""
    return experiment.workload.train(trial, lambda step, metrics, state=None: decide(step, metrics))


def search_of(experiment: Study, stream: str = "", *, kind: str = "search") -> Search:
    """The search of a prepared study on its baseline; a store is not needed."""
    spec = spec_of(experiment, kind)
    base = experiment.variants[0].first_config

    def cells_of(number: int, point: Mapping[str, Any]) -> Any:
        config = experiment.patched(base, spec.space.patches(point), experiment.tasks[0])
        trials = [experiment.trial(config, seed) for seed in spec.facts.seeds]
        cells = [Cell(f"setting {number:03d}", "", t.seed, t, role="tried") for t in trials]
        return cells, experiment.workload.describe(config)

    return Search(spec, cells_of, "baseline", stream=stream)


def drive(search, experiment, records, *, stop=10**9, order=lambda cells: None):
    """Trains what a search asks for and has no record of, at most `stop` trials; how many it was."""
    plan = SearchPlan(search.spec, [search], lambda cells: None)
    done, known = 0, dict[str, Record]()
    while cells := [*plan.next_cells(known)]:
        order(cells)
        for cell in cells:
            if cell.id in records and cell.id not in known:
                known[cell.id] = records[cell.id]
                continue
            if done == stop:
                return done

            def decide(step: int, metrics: Any, trial: Trial = cell.trial) -> bool:
                return trial.prunable and plan.should_prune(Progress(trial.id, step, metrics))

            known[cell.id] = records[cell.id] = train(experiment, cell.trial, decide)
            done += 1
    return done


def points(frame: pd.DataFrame, paths: list[str]) -> list[tuple[Any, ...]]:
    """The settings of a table, as they can be compared."""
    return [
        tuple(None if isinstance(v, float) and math.isnan(v) else v for v in row)
        for row in frame[paths].itertuples(index=False)
    ]


def spec_of(experiment: Study, kind: str) -> SearchSpec:
    """The search of a prepared study at one of its keys."""
    config = experiment.config
    workload = experiment.workload
    resolve = experiment.resolve
    document = experiment.document
    conditions = read_conditions(config, workload, resolve, document)
    draft = Draft(workload, config, experiment.design, resolve, document, conditions=conditions)
    sections = {"search": config_of(config, SweepConfig).search, "tune": config_of(config, TuneConfig).tune}
    section = sections[kind]
    assert section is not None
    spec = read_search(draft, kind, section)
    assert spec is not None
    return spec


def prepared(path: Path, **sets: Any) -> Study:
    return prepare(path, [f"{key.replace('__', '.')}={value}" for key, value in sets.items()])


def table_at(folder: Path) -> SearchTable:
    """The table of the searches in a results folder."""
    found = search_table_of(StudyFolder.at(folder).evidence())
    assert found is not None
    return found


def frame_at(folder: Path) -> pd.DataFrame:
    """The same without times."""
    return table_at(folder).trials.drop(columns=TIMES)
