"""The search stage: a sweep from the baseline, or the tuning of every variant with the same budget."""

from __future__ import annotations

import platform
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ablate.base.errors import Invalid, listed
from ablate.base.files import write_text
from ablate.base.passwords import masked
from ablate.base.streams import stream_seed
from ablate.core import names
from ablate.core.cell import Cell
from ablate.core.engine import Engine
from ablate.core.events import Listen
from ablate.core.facts import BASELINE
from ablate.core.record import Record
from ablate.core.search_table import SearchTable
from ablate.execution.driver import drive
from ablate.records.folder import Kind, StudyFolder
from ablate.records.roster import Roster
from ablate.records.store import Store
from ablate.search.plans import SearchPlan
from ablate.search.queue import Queue
from ablate.search.result import result_of
from ablate.search.search import Prepared, Search
from ablate.search.storage import open_storage, storage_errors, url_of
from ablate.search.table import table
from ablate.stages.choose import spec_of
from ablate.stages.options import Options
from ablate.study.designs.design import Config, Variant
from ablate.study.experiment import Experiment
from ablate.study.schema import PLACEBO, winner_names
from ablate.study.searches import SearchSpec
from ablate.study.space import Point


class SearchStage:
    """The searches of one study, in Optuna's storage; close it to stop its heartbeats."""

    def __init__(
        self,
        experiment: Experiment,
        kind: Kind,
        folder: StudyFolder,
        store: Store,
        options: Options,
        say: Callable[[str], None],
    ) -> None:
        """Raises `StorageError` when the storage does not answer."""
        self.experiment = experiment
        self.kind = kind
        self.folder = folder
        self.say = say
        self.spec = spec_of(experiment, kind)
        url = url_of(self.spec.storage, folder.search_database)
        self.url = masked(url)
        if self.spec.storage is None:
            folder.path.mkdir(parents=True, exist_ok=True)
        with storage_errors(url):
            self._storage = open_storage(url)
            self._driver = _driver(store)
            self.searches = self._open(options.only)
        self.plan = _Enlisting(self.searches, say, url)
        self.plan.roster = folder.roster

    def _open(self, only: Sequence[str]) -> list[Search]:
        """The searches of the variants that `only` asks for, and those that are complete."""
        variants = self.experiment.variants[:1] if self.kind == "sweep" else self.experiment.variants
        found = []
        for variant in variants:
            mine = [self._search(variant, index, config) for index, config in enumerate(variant.configs)]
            if not only or variant.name in (BASELINE, *only) or all(s.queue.finished for s in mine):
                found += mine
        return found

    def _search(self, variant: Variant, index: int, config: Config) -> Search:
        experiment, spec = self.experiment, self.spec
        task, stream = experiment.tasks[index], PLACEBO if variant.placebo else ""
        first = experiment.trial(config, spec.seeds[0], stream).id
        # Also where the run differs from its study, so that it finds the same settings.
        study = names.stem(experiment.study.name)
        name = " ".join(filter(None, [study, variant.name, task]))
        name = f"{name} {_digest(spec, first, self._sources(config))}"
        objectives = [objective.name for objective in spec.objectives]
        directions = [objective.direction for objective in spec.objectives]
        queue = Queue(self._storage, name, directions, spec.trials, self._driver, objectives)
        prepare = partial(self._prepare, config, index, stream)
        return Search(
            spec,
            queue,
            study + stream,
            prepare,
            variant.name,
            task,
            on=experiment.on(task),
            swept=self.kind == "sweep",
        )

    def _sources(self, config: Config) -> list[str]:
        """Trial ids that change with the source of any part that the space may name."""
        found = []
        for parameter in self.spec.space.parameters:
            for value in parameter.choices or ():
                point = self.spec.space.satisfying(parameter) | {parameter.path: value}
                try:
                    setting = self.experiment.patched(config, self.spec.space.patches(point))
                except Invalid:
                    continue  # A setting that cannot be built alone has no id.
                found.append(self.experiment.trial(setting, self.spec.seeds[0]).id)
        return found

    def _prepare(self, config: Config, index: int, stream: str, point: Point) -> Prepared:
        setting = self.experiment.patched(config, self.spec.space.patches(point), index)
        trials = [self.experiment.trial(setting, seed, stream) for seed in self.spec.seeds]
        # Only the trials of the comparison are evaluated.
        trials = [replace(trial, checkpoint="none") for trial in trials]
        return trials, self.experiment.workload.describe(setting)

    @property
    def begun(self) -> bool:
        """Whether some setting has ended already, so that a claim could have been read from it."""
        with storage_errors(self.url):
            return any(t.state.is_finished() for search in self.searches for t in search.queue.trials())

    @property
    def later(self) -> int:
        """Trainings that the comparison of the chosen settings takes, at most."""
        study, searched = self.experiment.study, {search.variant for search in self.searches}
        variants = len(searched) if self.kind == "tuning" else 1 + self.spec.winners + study.placebo
        each = 1 + sum(map(len, study.stress.values()))
        each += self.kind == "tuning" and self.experiment.trains_untuned
        return study.seeds.count * len(self.experiment.tasks) * variants * each

    @property
    def over(self) -> bool:
        """Whether the budget is used."""
        return self.plan.done

    def run(self, engine: Engine, store: Store, listen: Listen, *, fail_fast: bool) -> dict[str, Record]:
        """Searches until the budget is used, or a failed trial ends the run; the records by trial id."""
        for remark in self.spec.remarks:
            self.say(f"note: {remark}.")
        with storage_errors(self.url):
            for search in self.searches:
                search.queue.requeue()
        return drive(self.plan, engine, store, listen, later=self.later, fail_fast=fail_fast)

    def table(self) -> SearchTable:
        """Every setting that has ended; none is chosen."""
        with storage_errors(self.url):
            return table(self.searches, self.url)

    def ids(self) -> set[str]:
        """The trials of every setting in the storage that has ended, also of those beyond the budget of this run."""
        with storage_errors(self.url):
            ended = [t for search in self.searches for t in search.queue.study.get_trials(deepcopy=False)]
        return {trial_id for t in ended for trial_id in result_of(t).get("ids", [])}

    def close(self) -> None:
        """Stops the heartbeats of this driver."""
        for search in self.searches:
            search.queue.close()


class _Enlisting(SearchPlan):
    """A plan that adds its cells to the roster before they are trained."""

    roster: Roster

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        cells = super().ask(records)
        self.roster.add(cells)
        return cells


def for_sweep(experiment: Experiment, say: Callable[[str], None]) -> Experiment:
    """The study as a sweep runs it: its baseline and placebo, and the claims that winners can settle."""
    spec = spec_of(experiment, "sweep")
    names = [v.name for v in experiment.variants if v.name == BASELINE or v.placebo]
    dropped = [v.name for v in experiment.variants if v.name not in names]
    if dropped:
        say(
            f"note: the {len(dropped)} variants of the study ({listed(dropped, 3)}), and claims on them, are left to "
            "`ablate run`."
        )
    return experiment.settling([*names, *winner_names(spec.winners)])


def _driver(store: Store) -> str:
    """The name under which this store's driver draws trials; kept in the store, so that it recognises them later.

    It includes the machine and the folder, so that a copy of the store is another driver.
    """
    path = store.root / "driver"
    if not path.is_file():
        write_text(path, uuid.uuid4().hex + "\n")
    name = stream_seed(
        0, path.read_text(encoding="utf-8").strip(), platform.node(), str(path.resolve().parent)
    )
    return f"{platform.node()} {name:016x}"


def _digest(spec: SearchSpec, first: str, sources: Sequence[str]) -> str:
    """Changes with everything that a search depends on except its budget: only the same search is continued."""
    same = (spec.space, spec.objectives, spec.sampler, spec.pruner, spec.seeds, spec.batch, spec.at)
    return f"{stream_seed(0, repr(same), first, *sources):016x}"[:8]
