"""The stage `search`: a sweep searches from the baseline, and tuning for every variant, on equal budgets.

What they choose is judged on other seeds.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Self

from ablate.base.errors import AblateError
from ablate.core.facts import BASELINE
from ablate.core.stages import TRIED
from ablate.core.trial import Cell
from ablate.records.trial_list import UNKNOWN_ROLE
from ablate.session.stage import Preview, Stage, StageEvidence
from ablate.stages.probe import ProbeStage
from ablate.stages.search.section import SearchConfig, SearchSection
from ablate.study.designs import Variant
from ablate.study.stage_config import config_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ablate.analysis.search_table import Objective, SearchTable, TriedSetting
    from ablate.core.facts import Evidence
    from ablate.core.metric import Description
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.session.stage import Records
    from ablate.stages.search.search import Search
    from ablate.stages.search.space import Point
    from ablate.stages.search.spec import SearchSpec
    from ablate.study.checks import Draft
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study


class SearchStage(Stage):
    """Searches for settings with Optuna, and has the best of them judged."""

    name = "search"
    Config = SearchConfig
    selects_after = (ProbeStage,)

    def __init__(self, config: SearchConfig, *, sweeps: bool) -> None:
        self._config = config
        self._sweeps = sweeps
        # What `check` reads, by key; None for a section with mistakes.
        self._specs: Mapping[str, SearchSpec | None] = {}
        # What `select` finds.
        self._table: SearchTable | None = None

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        config = config_of(study, SearchConfig)
        return cls(config, sweeps=options.sweep) if config.sections() or options.sweep else None

    # Before anything is written.

    @property
    def selects(self) -> bool:
        return self._sweeps or self._config.tune is not None

    def varied_paths(self) -> Mapping[str, Sequence[str]]:
        return {key: [*section.over] for key, section in self._config.sections().items()}

    def variant_names(self) -> Sequence[str]:
        from ablate.analysis.search_table import winner_names

        search = self._config.search
        return winner_names(search.winners) if search is not None else []

    def extra_variants(self, study: Study) -> Sequence[str]:
        """Returns the names of the winners, where the study has no other variant that could be judged."""
        judged = [variant for variant in study.variants[1:] if not variant.placebo]
        return () if judged else self.variant_names()

    def check(self, draft: Draft) -> None:
        from ablate.stages.search.spec import check_searches

        if self._sweeps and self._config.search is None:
            rule = "is required: it says what a sweep searches"
            draft.document.refuse(("search",), rule, hint="Add it, or use `ablate run`")
        self._specs = check_searches(draft, self._config)

    def in_confirmation(self, selected_by: str, claimed: Collection[str]) -> Stage | None:
        """Returns itself where the variants were tuned: they are tuned again, on other seeds."""
        return self if selected_by == "tuning" else None

    def max_trials(self, study: Study, judged: int) -> int:
        spec = self._spec(study, self._key)
        tried = self._num_searches(study, self._key) * spec.facts.trials * len(spec.facts.seeds)
        return tried + self._max_judged(study, spec, len(study.variants))

    def preview(self, study: Study, store: Store) -> Preview:
        sentences: list[str] = []
        for key in self._specs:
            sentences += self._describe(study, key)
        return Preview(sentences)

    def _describe(self, study: Study, key: str) -> Iterator[str]:
        """Yields the space and the budget of one section in sentences."""
        from ablate.report.search_words import space_words, sweep_words, tuning_words
        from ablate.report.words import message

        spec = self._spec(study, key)
        facts = spec.facts
        num_searches = self._num_searches(study, key)
        trials = num_searches * facts.trials * len(facts.seeds)
        if isinstance(spec.section, SearchSection):
            yield sweep_words(facts, spec.section.winners, trials)
        else:
            yield tuning_words(facts, num_searches // len(study.tasks), trials)
        yield from space_words(facts.parameters)
        if key == "tune" and spec.max_runner_ups:
            # The runner-ups of the baseline are always judged, those of others where a verdict depends on tuning.
            least = study.config.seeds.count * len(study.tasks) * spec.max_runner_ups
            most = least * len(study.variants)
            yield message("plan.rivals", spec.max_runner_ups, least, most)

    # During a run.

    def has_results(self, study: Study, folder: StudyFolder, store: Store) -> bool:
        """Returns whether a setting was trained."""
        try:
            tried = [cell for cell in folder.trial_list.cells() if cell.role in (TRIED, UNKNOWN_ROLE)]
        except AblateError:
            return True  # Nobody knows.
        return any(store.has(cell.id) for cell in tried)

    def select(self, study: Study, session: Session, later: int) -> Study:
        """Searches until the budget is used; returns the study with the best settings as variants.

        later: unused, as other variants are judged than the study has.
        """
        from ablate.analysis.search_table import tabulated
        from ablate.stages.search.plan import SearchPlan
        from ablate.stages.search.versions import installed_versions, say_versions_changed

        spec = self._spec(study, self._key)
        names = {BASELINE, *(session.options.only or (variant.name for variant in study.variants))}
        kept = [variant for variant in study.variants if variant.name in names]
        # A placebo has the settings of the baseline.
        searched = kept[:1] if self._sweeps else [variant for variant in kept if not variant.placebo]
        searches: list[Search] = []
        for variant in searched:
            searches += [self._search(study, spec, variant, index) for index in range(len(study.tasks))]
        plan = SearchPlan(searches, session.enlist)
        say_versions_changed(session, spec, plan.left)
        records = session.train(plan, later=self._max_judged(study, spec, len(kept)))
        cells = list(plan.cells.values())
        if not all(search.complete for search in searches):
            raise session.incomplete("search", cells, records)

        objectives = _with_sources(spec.facts.objectives, searches)
        facts = replace(spec.facts, objectives=objectives, versions=installed_versions())
        self._table = tabulated(facts, [search.tried for search in searches])
        if self._sweeps:
            return self._with_winners(study, session, spec, self._table, cells)
        return self._with_tuned(study, session, spec, self._table, cells, kept)

    def _spec(self, study: Study, key: str) -> SearchSpec:
        """Returns a search as it was read.

        Where each seed chooses for itself, it tunes on the seeds of the study.
        """
        spec = self._specs[key]
        assert spec is not None, "a study with mistakes is not run"
        if not spec.section.each_seed:
            return spec
        seeds = [*study.config.seeds.values]
        return replace(spec, facts=replace(spec.facts, seeds=seeds), seeds=[seeds] * len(study.tasks))

    def _search(self, study: Study, spec: SearchSpec, variant: Variant, index: int) -> Search:
        """Returns the search of a variant on one task."""
        from ablate.core.sizes import known_size
        from ablate.stages.search.search import Search

        task = study.tasks[index]
        prefix = "" if self._sweeps else f"{variant.name} · "

        def prepare(number: int, point: Point) -> tuple[list[Cell], Description]:
            setting = study.patched(variant.configs[index], spec.space.patches(point), index)
            description = study.workload.describe(setting)
            name = f"{prefix}setting {number:03d}"
            cells: list[Cell] = []
            for seed in spec.seeds[index]:
                # Only the trials of the comparison are evaluated.
                trial = replace(study.trial(setting, seed), checkpoint="none")
                cells.append(
                    Cell(
                        name,
                        task,
                        seed,
                        trial,
                        f"{name}{study.on(task)} seed {seed}",
                        levels=spec.space.labels(point),
                        role=TRIED,
                        size=partial(known_size, description),
                    )
                )
            return cells, description

        return Search(spec, prepare, variant.name, task)

    @property
    def _key(self) -> str:
        """The section that selects."""
        return "search" if self._sweeps else "tune"

    def _num_searches(self, study: Study, key: str) -> int:
        """Returns the number of searches of a section.

        A sweep is one; tuning is one for each variant and task.
        """
        if key == "search":
            return 1
        return sum(not variant.placebo for variant in study.variants) * len(study.tasks)

    def _max_judged(self, study: Study, spec: SearchSpec, kept: int) -> int:
        """Returns the most trainings that judge what is chosen.

        kept: the number of variants that a tuning keeps.
        """
        variants = kept
        if isinstance(spec.section, SearchSection):
            variants = 1 + spec.section.winners + study.config.placebo
        trials_per_cell = 1 + study.companions_per_cell + spec.max_runner_ups
        return study.config.seeds.count * len(study.tasks) * variants * trials_per_cell

    def _with_winners(
        self,
        study: Study,
        session: Session,
        spec: SearchSpec,
        table: SearchTable,
        cells: Sequence[Cell],
    ) -> Study:
        """Returns the study with the baseline, the best settings that differ, and the placebo."""
        from ablate.analysis.search_table import winner_names
        from ablate.report.search_words import fewer_winners
        from ablate.report.words import message
        from ablate.study.study import Selection

        assert isinstance(spec.section, SearchSection)
        baseline, *others = study.variants
        dropped = [variant.name for variant in others if not variant.placebo]
        if dropped:
            session.say(message("search.left_to_run", dropped))
        task = study.tasks[0]
        names = winner_names(spec.section.winners)
        places = table.best(BASELINE, task, spec.section.winners)
        table.trials.loc[places, "chosen"] = names[: len(places)]
        if len(places) < len(names):
            has_front = len(spec.facts.objectives) > 1
            session.say(fewer_winners(len(places), len(names), has_front=has_front))

        variants = [baseline]
        for place, name in zip(places, names, strict=False):
            point = table.point(place)
            patches = spec.space.patches(point)
            config = study.patched(baseline.configs[0], patches)
            if any(config == variant.configs[0] for variant in variants):
                session.say(message("search.itself", name))
                continue
            labels = {task: spec.space.labels(point)}
            variants.append(Variant(name, [config], patches, ("search",), tuned=labels))
        variants += [variant for variant in others if variant.placebo]
        searched = [parameter.path for parameter in spec.space.parameters]
        paths = [path for path in searched if any(path in variant.patches for variant in variants)]
        return study.judging(variants, paths, Selection("sweep", cells))

    def _with_tuned(
        self,
        study: Study,
        session: Session,
        spec: SearchSpec,
        table: SearchTable,
        cells: Sequence[Cell],
        kept: Sequence[Variant],
    ) -> Study:
        """Returns the study with every variant at its best settings.

        Where no setting has a value, the variant stays as it was given.
        """
        from ablate.analysis.runner_ups import runner_ups
        from ablate.stages.search.tuned import tuned_variant
        from ablate.study.study import Selection

        places: dict[str, Mapping[str, Sequence[int]]] = {}
        for task in study.tasks:
            places[task] = {} if spec.section.each_seed else runner_ups(table, task)
        variants: list[Variant] = []
        for variant in kept:
            tuned = tuned_variant(study, spec, table, variant, runner_up_places=places, warn=session.warn)
            variants.append(tuned)
        chosen = study.judging(variants, study.design.paths, Selection("tuning", cells))
        not_judged = [variant.name for variant in study.variants if variant not in kept]
        return replace(chosen, not_judged=not_judged)

    def follow_up(
        self, study: Study, judged: Sequence[Cell], evidence: Callable[[], Evidence]
    ) -> Iterator[Cell]:
        """Yields judged cells at the runner-ups of their setting.

        Those of the baseline, and of variants whose verdict depends on how they were tuned.
        """
        from ablate.analysis.further_runs import depends_on_tuning  # A plan does not need it.
        from ablate.stages.search.tuned import at_setting

        runner_ups = {variant.name: variant.runner_ups for variant in study.variants}
        if not judged or not any(runner_ups.values()):
            return
        dependent = depends_on_tuning(evidence())
        for cell in judged:
            if cell.variant != BASELINE and (cell.variant, cell.task) not in dependent:
                continue
            for name, config in runner_ups[cell.variant].get(cell.task, {}).items():
                yield at_setting(study, cell, name, config)

    def collect(self, study: Study, beside: Sequence[Cell], records: Records) -> StageEvidence:
        """Collects the settings that were tried, and what their searches share."""
        if self._table is None:
            return StageEvidence()
        return StageEvidence(asdict(self._table.facts), {self.name: self._table.trials})


def _with_sources(objectives: list[Objective], searches: Sequence[Search]) -> list[Objective]:
    """Returns the objectives, with the source `own` where some metric lacks validation data."""
    settings: list[TriedSetting] = []
    for search in searches:
        settings += search.tried
    if not any(setting.own for setting in settings):
        return objectives
    return [replace(objective, source="own") if objective.measured else objective for objective in objectives]
