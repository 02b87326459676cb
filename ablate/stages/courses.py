"""What a run of a study trains and judges: its own variants; these, tuned; or what a sweep has found."""

from __future__ import annotations

import dataclasses
import platform
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ablate.base.errors import Invalid, listed
from ablate.base.files import write_text
from ablate.base.passwords import masked
from ablate.base.streams import stream_seed
from ablate.core.cell import Cell
from ablate.core.events import Progress
from ablate.core.facts import BASELINE
from ablate.core.plan import FixedPlan, Plan
from ablate.core.search_table import SWEEP, TUNING, UNTUNED, SearchTable, setting_name
from ablate.core.trial import Trial
from ablate.search.importances import IMPORTANCES
from ablate.search.plans import SearchPlan
from ablate.search.queue import Queue
from ablate.search.search import Prepared, Search
from ablate.search.storage import open_storage, storage_errors, url_of
from ablate.search.table import best, table
from ablate.stages.judged import swept, tuned
from ablate.stages.publish import gather
from ablate.stages.selection import chosen, finished
from ablate.stages.session import Place, Session
from ablate.study.designs import Config, Variant
from ablate.study.experiment import Experiment
from ablate.study.schema import PLACEBO, winner_names
from ablate.study.searches import SearchSpec
from ablate.study.space import Point

if TYPE_CHECKING:
    from ablate.core.record import Record


class Given:
    """The study's own variants."""

    complete = True
    begun = False

    def __init__(self, experiment: Experiment, cells: Sequence[Cell], asked: Sequence[Cell]) -> None:
        self.experiment = experiment.settling([variant.name for variant in experiment.variants])
        self.cells = cells
        self.asked = asked
        self.plan: Plan = FixedPlan([cell.trial for cell in asked])
        self._todo = 0

    def prepare(self, session: Session) -> dict[str, Record]:
        """See `Course`."""
        if session.study.search is not None:
            session.say(
                "note: the study's `search:` is for `ablate sweep`; this run and its report leave it out."
            )
        session.place(self.cells, self.experiment)
        done = known(session, self.cells, self.asked)
        self._todo = len({cell.trial.id for cell in self.asked} - done.keys())
        return done

    def decide(self, event: Progress) -> bool:
        """See `Course`."""
        return False

    @property
    def expected(self) -> int:
        """See `Course`."""
        return self._todo

    def extras(self, session: Session) -> None:
        """Takes away what a search has left of which the study knows no more; its trials are in the store."""
        gone = [] if session.study.search else [SWEEP, IMPORTANCES]
        if not session.study.tune:
            gone += [TUNING, *(f"{UNTUNED}/{path.name}" for path in (session.folder / UNTUNED).glob("*"))]
        for name in gone:
            (session.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing is held."""


def known(session: Session, cells: Sequence[Cell], asked: Sequence[Cell]) -> dict[str, Record]:
    """The records of `cells` that need no training; says so when only weights are missing."""
    for cell in cells:
        session.read(cell.trial.id)
    fresh = session.options.fresh
    done, without = finished(cells, session.records, session.store, asked, fresh)
    if without:
        session.say(
            f"{session.study.name}: {without} trials are in the store without the weights that the study keeps "
            f"(checkpoint: {session.study.checkpoint}); they are trained again."
        )
    return done


class _Searched:
    """What a sweep and a tuned study have in common: searches first, then cells that are judged."""

    file: str

    def __init__(self, experiment: Experiment, spec: SearchSpec, session: Session) -> None:
        self.given = experiment
        self.spec = spec
        self.session = session
        self.complete = False
        self.cells: Sequence[Cell] = []
        self.searched: SearchTable | None = None
        self._known: dict[str, Record] = {}
        self._judging = 0
        self._found: Experiment | None = None
        url = url_of(spec.storage, session.folder)
        self.url = masked(url)
        if spec.storage is None:
            session.folder.mkdir(parents=True, exist_ok=True)
        self.storage = open_storage(url)
        self.driver = _driver(session)
        with storage_errors(url):
            self.searches = self._searches()
        self.plan: Plan = SearchPlan(self.searches, self._judged, self._asked, session.say, url)

    def variants(self) -> Sequence[Variant]:
        """Whose settings are searched for."""
        raise NotImplementedError

    def _searches(self) -> list[Search]:
        """Of the variants that are asked for, and of those whose search is over already."""
        only = self.session.options.only
        found = []
        for variant in self.variants():
            searches = [self._search(variant, index, config) for index, config in enumerate(variant.configs)]
            if not only or variant.name in (BASELINE, *only) or all(s.queue.finished for s in searches):
                found += searches
        return found

    def found(self, searched: SearchTable) -> Experiment:
        """The study with the variants that are judged; marks their settings as chosen."""
        raise NotImplementedError

    @property
    def experiment(self) -> Experiment:
        """See `Course`."""
        return self._found or self.given

    def _search(self, variant: Variant, index: int, config: Config) -> Search:
        task = self.given.tasks[index]
        stream = PLACEBO if variant.placebo else ""
        first = self.given.trial(config, self.spec.seeds[0], stream).id
        name = " ".join(filter(None, [self.given.study.name, variant.name, task]))
        directions = [objective.direction for objective in self.spec.objectives]
        name = f"{name} {_digest(self.spec, first, self._sources(config))}"
        names = [objective.name for objective in self.spec.objectives]
        queue = Queue(self.storage, name, directions, self.spec.trials, self.driver, names)
        prepare = partial(self._prepare, config, index, stream)
        return Search(
            self.spec, queue, self.given.study.name + stream, prepare, self._find, variant.name, task
        )

    def _sources(self, config: Config) -> list[str]:
        """Trial ids that change when any part does that the space may name."""
        found = []
        for parameter in self.spec.space.parameters:
            for value in parameter.choices or ():
                point = self.spec.space.satisfying(parameter) | {parameter.path: value}
                try:
                    setting = self.given.patched(config, self.spec.space.patches(point))
                except Invalid:
                    continue  # What cannot be built alone has no id of its own.
                found.append(self.given.trial(setting, self.spec.seeds[0]).id)
        return found

    def _prepare(self, config: Config, index: int, stream: str, point: Point) -> Prepared:
        setting = self.given.patched(config, self.spec.space.patches(point), index)
        trials = [self.given.trial(setting, seed, stream) for seed in self.spec.seeds]
        # Nothing evaluates what was only tried.
        trials = [dataclasses.replace(trial, checkpoint="none") for trial in trials]
        return trials, self.given.workload.describe(setting)

    def _find(self, trial_id: str) -> Record | None:
        record = self.session.read(trial_id)
        if record is None or not self.session.store.is_finished(record, pruned=True):
            return None
        self.session.track(record)
        return record

    def _asked(self, search: Search | None, trials: Sequence[Trial]) -> None:
        """Gives trials their place, as they become known."""
        for setting in search.open if search is not None else ():
            levels = self.spec.space.labels(setting.point)
            assert search is not None
            variant = setting_name(search.variant, setting.item.rank, self.file == SWEEP)
            for trial in setting.trials:
                self._put(trial.id, variant, search.task, trial.seed, levels)

    def _put(self, trial_id: str, name: str, task: str, seed: int, levels: Mapping[str, str]) -> None:
        """Says where a trial of a setting stands."""
        place = Place(name, task, seed, levels, f"{name}{self.given.on(task)} seed {seed}")
        self.session.put(trial_id, place)

    @property
    def begun(self) -> bool:
        """See `Course`."""
        return any(t.state.is_finished() for search in self.searches for t in search.queue.trials())

    def prepare(self, session: Session) -> dict[str, Record]:
        """See `Course`."""
        for remark in self.spec.remarks:
            session.say(f"note: {remark}.")
        with storage_errors(self.url):
            for search in self.searches:
                search.queue.requeue()
        return self._known

    def decide(self, event: Progress) -> bool:
        """See `Course`."""
        assert isinstance(self.plan, SearchPlan)
        return self.plan.decide(event)

    def _judged(self) -> Sequence[Trial]:
        """What is to be trained when the searches are done."""
        self.searched = table(self.searches, self.url)
        self._found = self.found(self.searched)
        self.cells = self._found.cells()
        only, seed = self.session.options.only, self.session.options.seed
        self.session.place(self.cells, self._found)
        self._place_tried(self.searched)
        others = self.others()
        # Variants that were tuned are to be compared with themselves, so that only the seed is chosen.
        asked = [*chosen(list(self.cells), only, seed), *chosen(list(others), seed=seed)]
        done = known(self.session, [*self.cells, *others], asked)
        for record in done.values():
            self.session.track(record)
        self._known |= done
        self.complete = True
        todo = {cell.trial.id: cell.trial for cell in asked if cell.trial.id not in done}
        self._judging = len(todo)
        return list(todo.values())

    def _place_tried(self, searched: SearchTable) -> None:
        """Gives every trial of the searches its place, also those of earlier runs or that needed no training."""
        for trial_id, name, task, seed, levels in searched.runs(self.file == SWEEP):
            self._put(trial_id, name, task, seed, levels)
            self._find(trial_id)

    def others(self) -> Sequence[Cell]:
        """What else belongs to the report, for comparison."""
        return []

    @property
    def expected(self) -> int:
        """See `Course`."""
        assert isinstance(self.plan, SearchPlan)
        if self.complete:
            return self.plan.expected + self._judging
        return self.plan.expected + self.given.study.seeds * len(self.given.tasks) * self.judged_variants()

    def judged_variants(self) -> int:
        """How many variants will be judged, at most."""
        raise NotImplementedError

    def extras(self, session: Session) -> None:
        """Writes the table of the searches."""
        searched = self.searched or table(self.searches, self.url)
        searched.save(session.folder / self.file)

    def close(self) -> None:
        """See `Course`."""
        for search in self.searches:
            search.queue.close()


class Swept(_Searched):
    """What a sweep finds, starting from the baseline, and the baseline itself."""

    file = SWEEP

    def __init__(self, experiment: Experiment, spec: SearchSpec, session: Session) -> None:
        names = [v.name for v in experiment.variants if v.name == BASELINE or v.placebo]
        dropped = [v.name for v in experiment.variants if v.name not in names]
        if dropped:
            session.say(
                f"note: the {len(dropped)} variants of the study ({listed(dropped, 3)}), and claims on them, are for "
                "`ablate run`."
            )
        super().__init__(experiment.settling([*names, *winner_names(spec.winners)]), spec, session)

    def variants(self) -> Sequence[Variant]:
        """The baseline alone."""
        return self.given.variants[:1]

    def judged_variants(self) -> int:
        """Baseline, winners, placebo."""
        return 1 + self.spec.winners + self.given.study.placebo

    def found(self, searched: SearchTable) -> Experiment:
        """Baseline, winners and placebo."""
        places = best(searched, BASELINE, self.given.tasks[0], self.spec.winners)
        names = winner_names(self.spec.winners)[: len(places)]
        searched.trials.loc[places, "chosen"] = names
        if not places:
            self.session.warn("no setting of the search has a value; there is no winner")
        found = swept(self.given, self.spec, searched)
        for name in set(names) - {variant.name for variant in found.variants}:
            self.session.say(f"The {name} is the baseline itself: nothing is left to compare.")
        if places and (missing := winner_names(self.spec.winners)[len(places) :]):
            which = "on the front" if len(self.spec.objectives) > 1 else "different"
            self.session.say(
                f"note: {listed(missing)} would need more settings that have a value and are {which}: there are "
                f"{len(places)}."
            )
        return found.settling([variant.name for variant in found.variants])

    def extras(self, session: Session) -> None:
        """Writes the table, and what each parameter mattered."""
        super().extras(session)
        if self.searched is not None:
            from ablate.search.importances import save_importances

            save_importances(self.searched, session.folder)


class Tuned(_Searched):
    """The study's own variants, each with the setting that was best for it; beside them as they were given."""

    file = TUNING

    def variants(self) -> Sequence[Variant]:
        """All of them."""
        return self.given.variants

    def judged_variants(self) -> int:
        """Each twice: tuned, and as it was given."""
        return 2 * len({search.variant for search in self.searches})

    def found(self, searched: SearchTable) -> Experiment:
        """Every variant with the best of its settings; one without any keeps what it was given, with a warning."""
        for search in self.searches:
            places = best(searched, search.variant, search.task)
            searched.trials.loc[places, "chosen"] = search.variant
            if not places:
                where = f"{search.variant}{self.given.on(search.task)}"
                self.session.warn(f"{where}: no setting has a value; it is judged as it was given")
        return tuned(self.given, self.spec, searched)

    def others(self) -> Sequence[Cell]:
        """The variants as they were given."""
        names = {search.variant for search in self.searches}
        cells = [cell for cell in self.given.cells() if cell.variant in names]
        self.session.place(cells, self.given, " untuned")
        return cells

    def extras(self, session: Session) -> None:
        """Writes the table, and the evidence of the variants as they were given."""
        super().extras(session)
        if self.complete:
            evidence = gather(self.given.facts([], {}), list(self.others()), session.records)
            evidence.save(session.folder / UNTUNED)


def _driver(session: Session) -> str:
    """Who draws trials for this store: a name of its own, kept in it, so that it finds its own again.

    With the machine and the folder, so that a copy of the store elsewhere is another driver.
    """
    path = session.store.root / "driver"
    if not path.is_file():
        write_text(path, uuid.uuid4().hex + "\n")
    name = stream_seed(
        0, path.read_text(encoding="utf-8").strip(), platform.node(), str(path.resolve().parent)
    )
    return f"{platform.node()} {name:016x}"


def _digest(spec: SearchSpec, first: str, sources: Sequence[str]) -> str:
    """Changes with everything that a search depends on but its budget, so that none goes on from another's trials."""
    same = (spec.space, spec.objectives, spec.sampler, spec.pruner, spec.seeds, spec.batch, spec.at)
    return f"{stream_seed(0, repr(same), first, *sources):016x}"[:8]
