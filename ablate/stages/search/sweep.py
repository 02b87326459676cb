"""The stage of `search:`: a sweep from the baseline, whose best settings become variants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ablate.core.facts import BASELINE
from ablate.session.stage import Preview
from ablate.stages.search.searching import SearchStage, search_of
from ablate.stages.search.section import SearchSection, SweepConfig
from ablate.study.designs import Variant
from ablate.study.stage_config import config_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ablate.analysis.search_table import SearchTable
    from ablate.records.store import Store
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.study.draft import Draft
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study


class SweepStage(SearchStage):
    """Searches from the baseline where `ablate sweep` asks for it; checked and shown by every command."""

    Config = SweepConfig

    def __init__(self, section: SearchSection | None, *, selects: bool) -> None:
        """`section`: None where a sweep is asked for, and the study does not say what it searches."""
        super().__init__(selects=selects)
        self._section = section

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        section = config_of(study, SweepConfig).search
        return cls(section, selects=options.sweep) if section is not None or options.sweep else None

    def varied_paths(self) -> Mapping[str, Sequence[str]]:
        return {} if self._section is None else {"search": [*self._section.over]}

    def variant_names(self) -> Sequence[str]:
        from ablate.analysis.search_table import winner_names

        return [] if self._section is None else winner_names(self._section.winners)

    def check(self, draft: Draft) -> None:
        from ablate.stages.search.spec import read_search

        if self._section is None:
            rule = "is required: it says what a sweep searches"
            draft.document.refuse(("search",), rule, hint="Add it, or use `ablate run`")
            return
        self._spec = read_search(draft, "search", self._section)
        if len(draft.tasks) > 1:
            _refuse_several(draft)

    def extra_variants(self, study: Study) -> Sequence[str]:
        """Returns the names of the winners, where the study has no other variant that could be judged."""
        judged = [variant for variant in study.variants[1:] if not variant.placebo]
        return () if judged else self.variant_names()

    def max_trials(self, study: Study, judged: int) -> int:
        return self._max_tried + self._max_judged(study)

    def preview(self, study: Study, store: Store) -> Preview:
        from ablate.report.sentences.search_words import space_words, sweep_words

        facts = self._checked.facts
        sentence = sweep_words(facts, len(self.variant_names()), self._max_tried)
        return Preview([sentence, *space_words(facts.parameters)])

    def select(self, study: Study, session: Session, later: int) -> Study:
        """Searches until the budget is used; returns the study with the best settings as variants.

        They stand between the baseline and the placebo; another variant is not judged. later: unused, as the
        variants that are judged are none of the study.
        """
        from ablate.report.words import message
        from ablate.stages.search.plan import SearchPlan
        from ablate.study.study import Selection

        baseline, *others = study.variants
        search = search_of(study, self._checked, baseline, study.tasks[0])
        plan = SearchPlan(self._checked, [search], session.enlist)
        table, cells = self._tried(plan, session, later=self._max_judged(study))

        dropped = [variant.name for variant in others if not variant.placebo]
        if dropped:
            session.say(message("search.left_to_run", dropped))
        variants = [baseline, *self._winners(study, session, table)]
        variants += [variant for variant in others if variant.placebo]
        searched = [parameter.path for parameter in self._checked.space.parameters]
        paths = [path for path in searched if any(path in variant.patches for variant in variants)]
        return study.judging(variants, paths, Selection("sweep", cells))

    def _winners(self, study: Study, session: Session, table: SearchTable) -> list[Variant]:
        """Returns variants at the best settings, without those that equal the baseline or a better one.

        Marks all of the best as chosen in the table, and tells the user of repeats and of fewer than asked for.
        """
        from ablate.report.sentences.search_words import fewer_winners
        from ablate.report.words import message

        space = self._checked.space
        baseline = study.variants[0]
        task = study.tasks[0]
        names = self.variant_names()
        places = table.best(BASELINE, task, len(names))
        table.trials.loc[places, "chosen"] = names[: len(places)]
        if len(places) < len(names):
            has_front = len(self._checked.facts.objectives) > 1
            session.say(fewer_winners(len(places), len(names), has_front=has_front))

        variants = [baseline]
        for place, name in zip(places, names, strict=False):
            point = table.point(place)
            patches = space.patches(point)
            config = study.patched(baseline.configs[task], patches, task)
            if any(config == variant.configs[task] for variant in variants):
                session.say(message("search.itself", name))
                continue
            labels = {task: space.labels(point)}
            variants.append(Variant(name, {task: config}, patches, ("search",), tuned=labels))
        return variants[1:]

    @property
    def _max_tried(self) -> int:
        """The most trainings of the search."""
        facts = self._checked.facts
        return facts.trials * len(facts.seeds)

    def _max_judged(self, study: Study) -> int:
        """Returns the most trainings that judge the baseline, what is chosen, and the placebo."""
        variants = 1 + len(self.variant_names()) + study.config.placebo
        return study.config.seeds.count * len(study.tasks) * variants * (1 + study.companions_per_cell)


def _refuse_several(draft: Draft) -> None:
    """Refuses a sweep of a study with several conditions, of which it would search one."""
    rule = "searches on one task, and the study has several"
    hint = "Give `task`, one study for each"
    if draft.config.conditions:
        rule = "searches in one condition, and the study has several"
        hint = "Remove `conditions`, or use `tune`"
    draft.document.refuse(("search",), rule, hint=hint)
