"""The stage of `tune:`: every variant is searched for its best settings, on equal budgets, before it is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ablate.core.facts import BASELINE
from ablate.session.stage import Preview
from ablate.stages.search.searching import SearchStage, search_of
from ablate.stages.search.section import TuneConfig, TuneSection
from ablate.study.stage_config import config_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ablate.analysis.search_table import SearchTable
    from ablate.core.facts import Evidence
    from ablate.core.trial import Cell
    from ablate.records.store import Store
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.stages.search.plan import SearchPlan
    from ablate.stages.search.search import Search
    from ablate.stages.search.spec import SearchSpec
    from ablate.study.designs import Variant
    from ablate.study.draft import Draft
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study


class TuneStage(SearchStage):
    """Searches for every variant, and has each judged at its best settings; a sweep leaves it out."""

    Config = TuneConfig

    def __init__(self, section: TuneSection, *, selects: bool, conditions: Collection[str] = ()) -> None:
        """`conditions`: those that a run asks for; empty: all."""
        super().__init__(selects=selects)
        self._section = section
        self._conditions = conditions

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        section = config_of(study, TuneConfig).tune
        if section is None:
            return None
        return cls(section, selects=not options.sweep, conditions=options.condition)

    def varied_paths(self) -> Mapping[str, Sequence[str]]:
        return {"tune": [*self._section.over]}

    def check(self, draft: Draft) -> None:
        from ablate.stages.search.spec import read_search

        self._spec = read_search(draft, "tune", self._section)

    def max_trials(self, study: Study, judged: int) -> int:
        spec = self._spec_of(study)
        most_tried = self._num_tried(study, spec, spec.facts.trials + spec.most_added)
        return most_tried + self._max_judged(study, spec, len(study.variants))

    def preview(self, study: Study, store: Store) -> Preview:
        from ablate.report.sentences.search_words import space_words, tuning_words, widening_words
        from ablate.report.words import message

        spec = self._spec_of(study)
        num_variants = len(_searched(study.variants))
        most_tried = self._num_tried(study, spec, spec.facts.trials)
        each_seed = self._section.each_seed
        sentences = [tuning_words(spec.facts, num_variants, most_tried, each_seed=each_seed)]
        sentences += space_words(spec.facts.parameters)
        if spec.outer:
            sentences.append(widening_words(spec.outer, self._num_tried(study, spec, spec.most_added)))
        if spec.max_runner_ups:
            # The runner-ups of the baseline are always judged, those of others where a verdict depends on tuning.
            least = study.config.seeds.count * len(self._searched_at(study)) * spec.max_runner_ups
            most = least * len(study.variants)
            sentences.append(message("plan.rivals", spec.max_runner_ups, least, most))
        return Preview(sentences)

    def select(self, study: Study, session: Session, later: int) -> Study:
        """Searches until the budget is used; returns the study with every variant at its best settings.

        later: unused, as fewer variants may be judged than the study has.
        """
        from ablate.study.study import Selection

        names = {BASELINE, *(session.options.only or (variant.name for variant in study.variants))}
        kept = [variant for variant in study.variants if variant.name in names]
        spec = self._spec_of(study)
        plan = self._plan_of(study, spec, session, kept)
        table, cells = self._tried(plan, session, self._max_judged(study, spec, len(kept)))

        variants = self._tuned(study, session, plan.spec, table, kept)
        chosen = study.judging(variants, study.design.paths, Selection("tuning", cells))
        not_judged = [variant.name for variant in study.variants if variant not in kept]
        return replace(chosen, not_judged=not_judged)

    def _plan_of(
        self, study: Study, spec: SearchSpec, session: Session, kept: Sequence[Variant]
    ) -> SearchPlan:
        """Returns the plan of the searches of some variants, one for each condition in which they are searched."""
        from ablate.stages.search.plan import SearchPlan
        from ablate.stages.search.widening import WideningPlan

        def searches_of(spec: SearchSpec) -> list[Search]:
            """Returns the searches of one grid, which begins with the settings of the grids before."""
            searches: list[Search] = []
            for variant in _searched(kept):
                prefix = f"{variant.name} · "
                for task in dict.fromkeys(self._searched_at(study).values()):
                    searches.append(search_of(study, spec, variant, task, prefix))
            return searches

        if spec.outer:
            return WideningPlan(spec, searches_of, session.enlist)
        return SearchPlan(spec, searches_of(spec), session.enlist)

    def _tuned(
        self, study: Study, session: Session, spec: SearchSpec, table: SearchTable, kept: Sequence[Variant]
    ) -> list[Variant]:
        """Returns variants at their best settings; one stays as it was given where no setting has a value."""
        from ablate.analysis.runner_ups import runner_ups
        from ablate.stages.search.tuned import tuned_variant

        searched_at = self._searched_at(study)
        places: dict[str, Mapping[str, Sequence[int]]] = {}
        for searched_task in dict.fromkeys(searched_at.values()):
            places[searched_task] = {} if self._section.each_seed else runner_ups(table, searched_task)
        variants: list[Variant] = []
        for variant in kept:
            tuned = tuned_variant(
                study,
                spec,
                table,
                variant,
                searched_at=searched_at,
                runner_up_places=places,
                warn=session.warn,
            )
            variants.append(tuned)
        return variants

    def follow_up(
        self, study: Study, judged: Sequence[Cell], evidence: Callable[[], Evidence]
    ) -> Iterator[Cell]:
        """Yields cells that train variants at the runner-ups of their setting.

        These are the baseline, and the variants whose verdict depends on how they were tuned.
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

    def _spec_of(self, study: Study) -> SearchSpec:
        """Returns the search as it was read.

        Where each seed chooses for itself, it tunes on the seeds of the study.
        """
        spec = self._checked
        if not self._section.each_seed:
            return spec
        seeds = [*study.config.seeds.values]
        return replace(spec, facts=replace(spec.facts, seeds=seeds), seeds=dict.fromkeys(spec.seeds, seeds))

    def _searched_at(self, study: Study) -> dict[str, str]:
        """Returns condition that is judged → the one in which its settings are searched."""
        at = self._checked.facts.at
        judged = [task for task in study.tasks if not self._conditions or task in self._conditions]
        return {task: at or task for task in judged}

    def _num_tried(self, study: Study, spec: SearchSpec, num_settings: int) -> int:
        """Returns the trainings of some settings on all seeds, for each variant and condition that is searched."""
        searched_tasks = {*self._searched_at(study).values()}
        num_searches = len(_searched(study.variants)) * len(searched_tasks)
        return num_searches * num_settings * len(spec.facts.seeds)

    def _max_judged(self, study: Study, spec: SearchSpec, kept: int) -> int:
        """Returns the most trainings that judge what is chosen; `kept`: the number of variants."""
        num_tasks = len(self._searched_at(study))
        trials_per_cell = 1 + study.companions_per_cell + spec.max_runner_ups
        return study.config.seeds.count * num_tasks * kept * trials_per_cell


def _searched(variants: Sequence[Variant]) -> list[Variant]:
    """Returns the variants that are searched: a placebo has the settings of the baseline."""
    return [variant for variant in variants if not variant.placebo]
