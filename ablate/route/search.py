"""The search stage: a sweep from the baseline, or the tuning of every variant with the same budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ablate.base.errors import listed
from ablate.core.facts import BASELINE, Claim
from ablate.core.metric import Description, size_of
from ablate.core.record import Record
from ablate.core.search_table import SearchTable, setting_name
from ablate.core.trial import Cell
from ablate.records.folder import Kind
from ablate.records.store import Store
from ablate.route.choose import choose, spec_of
from ablate.route.judge import Work, as_given
from ablate.route.running import Run
from ablate.search.search import Search, SearchPlan
from ablate.search.table import table
from ablate.search.wrapped import versions
from ablate.study.designs.design import Variant
from ablate.study.experiment import Experiment
from ablate.study.schema import PLACEBO, winner_names
from ablate.study.space import Point


class SearchStage:
    """The searches of one study, as far as the store can answer them."""

    def __init__(self, run: Run, kind: Kind) -> None:
        self.experiment, self.kind, self.folder, self.say = run.experiment, kind, run.folder, run.say
        experiment, options = run.experiment, run.options
        self.spec = spec_of(experiment, kind)
        variants = experiment.variants[:1] if kind == "sweep" else experiment.variants
        every = [self._search(v, index) for v in variants for index in range(len(v.configs))]
        self.plan = SearchPlan(every, run.folder.trial_list.add)
        known = self._replay(run.store)
        self.begun = bool(known)
        "Whether a training of it is in the store, so that a claim could have been read from it."
        if options.only:
            # Variants that nobody asks for are compared where they are tuned already.
            asked = (BASELINE, *options.only)
            self.plan.searches = [one for one in every if one.variant in asked or one.complete]
        self.missing = len({cell.id for cell in self.plan.ask(known)} - known.keys()) + self.plan.left
        "The most trainings that are left."
        self._compare_versions()

    def _search(self, variant: Variant, index: int) -> Search:
        task, stream = self.experiment.tasks[index], PLACEBO if variant.placebo else ""
        prepare = partial(self._prepare, variant, index, stream)
        return Search(self.spec, prepare, variant.name, task, stream)

    def _prepare(
        self, variant: Variant, index: int, stream: str, number: int, point: Point
    ) -> tuple[list[Cell], Description]:
        experiment, space, task = self.experiment, self.spec.space, self.experiment.tasks[index]
        setting = experiment.patched(variant.configs[index], space.patches(point), index)
        known = experiment.workload.describe(setting)
        name, levels = setting_name(variant.name, number, self.kind == "sweep"), space.labels(point)
        cells = []
        for seed in self.spec.seeds:
            # Only the trials of the comparison are evaluated.
            trial = replace(experiment.trial(setting, seed, stream), checkpoint="none")
            named = f"{name}{experiment.on(task)} seed {seed}"
            cells.append(Cell(name, task, seed, trial, named, levels, "tried", partial(size_of, known)))
        return cells, known

    def _replay(self, store: Store) -> dict[str, Record]:
        """Answers from the store as far as it goes; with what."""
        records: dict[str, Record] = {}
        while True:
            asked = {cell.id: cell.trial for cell in self.plan.ask(records) if cell.id not in records}
            found = {
                i: record
                for i, trial in asked.items()
                if (record := store.load(trial)) and store.is_finished(record, pruned=trial.prunable)
            }
            if not found:
                return records
            records |= found

    def _compare_versions(self) -> None:
        """Says what it costs where a table of the same space was searched with other versions."""
        before = self.folder.search_table(self.kind)
        if before is None or not self.missing or before.facts.parameters != list(self.spec.space.parameters):
            return
        now, then = versions(), before.facts.versions
        changed = [
            f"{name} {then.get(name, 'of another version')}" for name in now if now[name] != then.get(name)
        ]
        if changed:
            here = listed(f"{name} {version}" for name, version in now.items())
            self.say(
                f"note: the settings in {self.folder.search_tables[self.kind]} were suggested by {listed(changed)}; "
                f"{here} may suggest others, which costs at most {self.missing} trainings."
            )

    @property
    def later(self) -> int:
        """Trainings that the comparison of the chosen settings takes, at most."""
        study, searched = self.experiment.study, {search.variant for search in self.plan.searches}
        variants = len(searched) if self.kind == "tuning" else 1 + self.spec.winners + study.placebo
        first = self.experiment.cells()[:1]
        each = len(first) + len(self.experiment.companions(first))
        each += self.kind == "tuning" and self.experiment.trains_untuned
        return study.seeds.count * len(self.experiment.tasks) * variants * each

    @property
    def over(self) -> bool:
        """Whether the budget is used."""
        return all(search.complete for search in self.plan.searches)

    def chosen(self, run: Run, claims: Sequence[Claim]) -> Work:
        """Searches until the budget is used, or a failed trial ends it; the trials of what it has chosen."""
        records = run.drive(self.plan, later=self.later)
        table = self.table()
        tried = [cell for _, cell in table.cells(swept=self.kind == "sweep")]
        if not self.over:
            if not self.folder.has_trials:  # the table of a report is kept with the report
                self.folder.save_search_table(self.kind, table)
            raise run.unfinished("search", tried, records)
        searched = (
            set(table.trials["variant"]) if self.kind == "tuning" and self.experiment.trains_untuned else ()
        )
        untuned = [as_given(cell) for cell in self.experiment.cells() if cell.variant in searched]
        work = Work.of(
            choose(self.experiment, self.kind, table, self.say), claims, self.experiment, [*tried, *untuned]
        )
        self._report = table, bool(untuned)
        return work

    def keep(self) -> None:
        """Writes the settings that were tried, with the report that rests on them."""
        table, untuned = self._report
        if self.kind == "tuning" and not untuned:
            self.folder.forget_search(self.kind)  # with the untuned variants of an earlier report
        self.folder.save_search_table(self.kind, table)

    def table(self) -> SearchTable:
        """Every setting that has been tried; none is chosen."""
        return table(self.plan.searches)


def searching(run: Run) -> tuple[Run, SearchStage | None]:
    """The run with the claims that it can settle, and its search; without one, the tables of an earlier one go."""
    experiment = run.experiment
    kind: Kind | None = "sweep" if run.options.sweep else "tuning" if experiment.tune is not None else None
    if kind == "sweep":
        experiment = for_sweep(experiment, run.say)
    elif experiment.search is not None:
        run.say("note: only `ablate sweep` uses `search:`; this run and its report ignore it.")
    if kind is None:
        experiment = experiment.settling([variant.name for variant in experiment.variants])
    run = replace(run, experiment=experiment)
    return run, SearchStage(run, kind) if kind is not None else None


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
