"""The stage `match`: variants of one size, whatever else they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ablate.core.match_facts import MatchedRow, MatchFacts
from ablate.session.stage import Preview, Stage, StageEvidence
from ablate.stages.match.section import MatchConfig, MatchSection
from ablate.study.stage_config import config_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from ablate.core.trial import Cell
    from ablate.records.store import Store
    from ablate.session.options import Options
    from ablate.session.stage import Records
    from ablate.stages.match.matcher import Matcher
    from ablate.study.draft import Draft
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study


class MatchStage(Stage):
    """Matches parameters, FLOPs or the compute of training, also of what a search or a path tries."""

    name = "match"
    Config = MatchConfig

    def __init__(self, section: MatchSection) -> None:
        self._section = section
        # What `check` makes; None for a section with mistakes.
        self._matcher: Matcher | None = None

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        section = config_of(study, MatchConfig).match
        return cls(section) if section is not None else None

    def varied_paths(self) -> Mapping[str, Sequence[str]]:
        return {"match": [self._section.by]}

    def check(self, draft: Draft) -> None:
        from ablate.stages.match.matcher import check_match

        self._matcher = check_match(draft, self._section)

    def in_confirmation(self, selected_by: str, claimed: Collection[str]) -> Stage | None:
        return self

    def adjust(self, study: Study) -> Study:
        matcher = self._checked
        variants = [matcher.variant(variant) for variant in study.variants]
        return replace(study, variants=variants, adjust=matcher, _described={})

    def collect(self, study: Study, beside: Sequence[Cell], records: Records) -> StageEvidence:
        return StageEvidence(self._facts(study))

    def preview(self, study: Study, store: Store) -> Preview:
        from ablate.report.tables.matched_table import matched_table

        return Preview([matched_table(self._facts(study), {})])

    @property
    def _checked(self) -> Matcher:
        assert self._matcher is not None, "a study is adjusted after it was checked"
        return self._matcher

    def _facts(self, study: Study) -> MatchFacts:
        """Returns the section, and what each variant was given on each task."""
        matcher = self._checked
        section = self._section
        rows: list[MatchedRow] = []
        for variant in study.variants:
            rows += [matcher.row(variant.name, task, variant.configs[task]) for task in study.tasks]
        return MatchFacts(
            quantity=section.quantity,
            by=section.by,
            target=section.target if section.target == "baseline" else f"{section.target:.12g}",
            within=section.within,
            rows=rows,
        )
