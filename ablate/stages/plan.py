"""What a study will train, and what that can tell, before it is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ablate.analysis.prospects import Power
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.cautions import cautions
from ablate.stages.confirm import confirming
from ablate.stages.expect import Place, seconds_known, seconds_left
from ablate.stages.options import Options
from ablate.stages.power import pilot_seeds, power
from ablate.stages.speed import expected, kept
from ablate.stages.stress import stressed
from ablate.stages.walk import Walk
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare
from ablate.study.searches import SearchSpec


@dataclass(frozen=True)
class Planned:
    """Of a study: its trials, what is left of them, and what they can tell."""

    experiment: Experiment
    cached: Mapping[Place, int]
    "Trials of each place that are in the store."
    todo: Sequence[Place]
    "The place of each trial that is not; of a tuned study, of its variants as it gives them."
    jobs: int
    "Workers that a run has."
    seconds: Mapping[Place, float]
    "Of one training at each place where some have run."
    power: Power
    cautions: Sequence[str]
    stressed: int = 0
    "Runs of the grid of `stress:`."
    timed: int = 0
    "Processes that have timed its variants, where `speed:` asks for it."
    timing_seconds: float = 0.0
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
        return seconds_left(self.todo, self.seconds, self.jobs, len(self.todo))

    @property
    def expected(self) -> float | None:
        """The same of all that a run trains."""
        if self.experiment.tune is None and not self.experiment.walks:
            return self.seconds_as_given
        places = [(v.name, task) for v in self.experiment.variants for task in self.experiment.tasks]
        return seconds_left(places, self.seconds, self.jobs, self.at_most)


def study_of(path: Path, options: Options) -> tuple[Experiment, StudyFolder]:
    """The study as a run would train it, with the folder of its report. Raises `StudyError`."""
    experiment = prepare(path, options.sets, options.seeds, confirm=options.confirm)
    experiment = confirming(experiment, options.results, options.seeds)
    return experiment, StudyFolder(options.results, experiment.study.name)


def planned(
    experiment: Experiment,
    folder: StudyFolder,
    options: Options,
    warn: Callable[[str], None],
    detect: float | None = None,
    *,
    piloted: bool = False,
) -> Planned:
    """The plan of a study; see `stages.power` for `detect` and `piloted`. Trains and writes nothing."""
    from ablate.execution.local_pool import default_jobs

    store = Store(options.results / "store", warn, read_only=True)
    cells = experiment.cells()
    grid = stressed(experiment, cells)
    records = {i: record for i in {cell.trial.id for cell in [*cells, *grid]} if (record := store.load(i))}
    done = {c.id for c in [*grid, *cells] if store.is_finished(records.get(c.id), c.trial.checkpoint)}
    as_given = experiment.tune is None or experiment.trains_untuned
    cached = Counter((cell.variant, cell.task) for cell in cells if cell.id in done and as_given)
    timed = [*cells, *experiment.cells([*pilot_seeds(experiment, store)])]
    seconds = seconds_known(timed, store, folder.search_table("tuning" if experiment.tune else ""))
    # The grid of a tuned study is that of settings that are not known yet.
    here = cells if experiment.tune else [*cells, *grid]
    todo = {cell.id: (cell.variant, cell.task) for cell in here if cell.id not in done}
    jobs = default_jobs() if options.jobs is None else max(1, options.jobs)
    able = power(experiment, folder, store, warn, seconds, jobs, detect, piloted=piloted)
    processes, timing_seconds = _timing(experiment, store)
    return Planned(
        experiment,
        cached,
        list(todo.values()),
        jobs,
        seconds,
        able,
        cautions(experiment),
        len(grid),
        processes,
        timing_seconds,
    )


def _timing(experiment: Experiment, store: Store) -> tuple[int, float]:
    """The processes that have timed the variants, and the seconds that those left take."""
    section = experiment.study.speed
    if section is None:
        return 0, 0.0
    done = kept(experiment, store, section).processes
    return done, expected(experiment, section, section.processes - done)
