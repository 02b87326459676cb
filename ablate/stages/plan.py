"""What a study will train, and what that can tell, before it is trained; and its pilot, which trains to know.

A pilot is a few seeds of every variant, trained to learn how far their differences from the baseline spread. Its seeds
neither judge nor tune, so that no verdict and no claim rests on what it showed. Its trials are kept in the store like
any others; the roster of the study holds them until the study has a report, which tells the spread itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from ablate.analysis.prospects import Power
from ablate.core.plan import FixedPlan
from ablate.execution.driver import drive
from ablate.execution.local_pool import default_jobs
from ablate.execution.progress import Display
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.cautions import cautions
from ablate.stages.confirm import confirming
from ablate.stages.engine import number_of_jobs, open_engine, reference, standby
from ablate.stages.expect import Pace, Place, seconds_each, seconds_known
from ablate.stages.options import Options
from ablate.stages.power import Known, power
from ablate.stages.speed import expected, kept
from ablate.stages.stress import stressed
from ablate.stages.walk import Walk
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare
from ablate.study.searches import SearchSpec
from ablate.study.sections.seeds import PILOT_SEEDS_FROM


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
    stressed: int
    "Runs of the grid of `stress:`."
    timed: int
    "Processes that have timed its variants, where `speed:` asks for it."
    timing_seconds: float
    "Expected seconds of those that are left."

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
        return self.settings("tune", tune) + judged * (2 if self.trained_as_given else 1) + self.stressed

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
    """The plan of a study; see `stages.power` for `detect` and `piloted`. Trains and writes nothing."""
    experiment, store = known.experiment, known.store
    cells = experiment.cells()
    grid = stressed(experiment, cells)
    records = {i: record for i in {cell.trial.id for cell in [*cells, *grid]} if (record := store.load(i))}
    done = {c.id for c in [*grid, *cells] if store.is_finished(records.get(c.id), c.trial.checkpoint)}
    as_given = experiment.tune is None or experiment.trains_untuned
    timed = [*cells, *experiment.cells([*known.pilot_seeds])]
    searched = known.folder.search_table("tuning" if experiment.tune else "")
    jobs = default_jobs() if options.jobs is None else max(1, options.jobs)
    pace = Pace(seconds_known(timed, store, searched), jobs)
    # The grid of a tuned study is that of settings that are not known yet.
    here = cells if experiment.tune else [*cells, *grid]
    section = experiment.study.speed
    processes = kept(experiment, store, section).processes if section else 0
    return Planned(
        experiment,
        Counter((cell.variant, cell.task) for cell in cells if cell.id in done and as_given),
        [*{cell.id: (cell.variant, cell.task) for cell in here if cell.id not in done}.values()],
        pace,
        power(known, pace, detect, piloted=piloted),
        cautions(experiment),
        len(grid),
        processes,
        expected(experiment, section, section.processes - processes) if section else 0.0,
    )


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
    known.folder.roster.add(cells)
    jobs, devices = number_of_jobs(experiment, options.jobs)
    # Without a metric: only the spread is of interest, and no variant should look better than another.
    display = Display(console, f"{experiment.study.name}, pilot", "", jobs)
    with (
        closing(standby(experiment.path, jobs)) as ready,
        open_engine(experiment, reference(experiment), jobs, devices, ready) as engine,
        display,
    ):
        todo = {c.id: (c.variant, c.task) for c in cells if not store.has(c.id)}
        display.expected = seconds_each(experiment.cells(), [*todo.values()], store)
        records = drive(FixedPlan(cells), engine, store, display)
    failed: dict[str, str] = {}
    for cell in cells:
        if records[cell.id].status == "failed" and cell.id not in failed:
            failed[cell.id] = f"{cell.name}: {records[cell.id].reason}"
            known.warn(f"failed: {failed[cell.id]}")
    return [*failed.values()]
