"""The contract of stages: steps of a study that it asks for, beside training and judging its variants.

A stage is made from its keys of one study, and keeps what it reads and finds. The pipeline asks the stages of a study
in the order of `ablate.stages.STAGES`. A method that is not overridden does nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from ablate.study.stage_config import StageConfig

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    import pandas as pd
    from pydantic import JsonValue

    from ablate.core.facts import Evidence
    from ablate.core.record import Record
    from ablate.core.stage_facts import StageFacts
    from ablate.core.trial import Cell
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.report.words import Table
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.study.draft import Draft
    from ablate.study.schema import StudyConfig as StudyConfig
    from ablate.study.study import Study as Study

    Records = Mapping[str, Record]


@dataclass(frozen=True)
class StageEvidence:
    """The facts, the frame and the trials that a stage adds to the evidence of a study."""

    facts: StageFacts | None = None
    # Beside the facts, where a stage keeps one.
    frame: pd.DataFrame | None = None
    # Role → trials that are not judged, as `Evidence.other_trials`.
    other_trials: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    """The measurement that a stage has made of the variants of a study."""

    # Kept beside the facts, where it has rows.
    frame: pd.DataFrame
    # How it was measured.
    facts: StageFacts
    # Files of the store on which the report rests beside records; None: the measurement is incomplete.
    files: Sequence[Path] | None


@dataclass(frozen=True)
class Preview:
    """The part of `ablate plan` that shows a stage."""

    parts: Sequence[str | Table] = ()
    # In its JSON, under the name of the stage.
    data: Mapping[str, JsonValue] | None = None


class Stage(ABC):
    """A step of a study."""

    name: ClassVar[str] = ""
    """The name of the stage in messages and in `--json`."""
    Config: ClassVar[type[StageConfig]] = StageConfig
    """The keys of a study file that make the stage; none where its section is a part, as that of a design."""
    selects_after: ClassVar[tuple[type[Stage], ...]] = ()
    """Stages that may select variants before this one; beside any other that selects it is refused."""

    def __init_subclass__(cls) -> None:
        unknown = [name for name in vars(cls) if not name.startswith("_") and name not in dir(Stage)]
        if unknown:
            raise TypeError(f"{cls.__name__}.{unknown[0]}: is no method of a stage")

    @classmethod
    @abstractmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        """Makes the stage of a study; None where it has nothing to do, as neither study nor options ask for it."""

    # Before anything is written.

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics that claims may name because of this stage."""
        return frozenset()

    @property
    def selects(self) -> bool:
        """True where the stage trains before the variants are judged: to choose them, or to refuse the study."""
        return False

    @property
    def chooses(self) -> bool:
        """True where its trainings choose the variants that are judged."""
        return self.selects

    def varied_paths(self) -> Mapping[str, Sequence[str]]:
        """Returns, for each key, the paths whose values the stage chooses for each variant."""
        return {}

    def variant_names(self) -> Sequence[str]:
        """Returns the names of the variants that the stage will add."""
        return ()

    def check(self, draft: Draft) -> None:  # noqa: B027
        """Refuses mistakes of meaning in the stage's keys, and keeps what it reads of them."""

    def in_confirmation(self, selected_by: str, claimed: Collection[str]) -> Stage | None:
        """Returns the stage of a confirmation; None where it has no part in one.

        selected_by: how the variants of the confirmed report were chosen; claimed: metrics of claims that are repeated.
        """
        return None if self.metrics.isdisjoint(claimed) else self

    def adjust(self, study: Study) -> Study:
        """Returns the study with its variants as they are trained."""
        return study

    # What a run may train.

    def extra_variants(self, study: Study) -> Sequence[str]:
        """Returns a name for each variant that the stage will add to those that are judged."""
        return ()

    def max_trials(self, study: Study, judged: int) -> int:
        """Returns an upper bound on the trainings of a run, with those that the stage needs to choose its variants.

        judged: the trainings of the variants as they are given.
        """
        return judged

    def preview(self, study: Study, store: Store) -> Preview:
        """Returns what `ablate plan` shows of this stage, by default nothing; writes nothing."""
        return Preview()

    # During a run. `companions` is asked before and after `select`, and `follow_up` and `collect` at every look.

    def has_results(self, study: Study, folder: StudyFolder, store: Store) -> bool:
        """Returns whether results are known from which a new claim could have been read."""
        return False

    def select(self, study: Study, session: Session, later: int) -> Study:
        """Trains, and returns the study with the chosen variants. Raises `IncompleteSelection`.

        later: the most trainings that follow those of the stage, if the study keeps its variants.
        """
        return study

    def companions(self, study: Study, judged: Sequence[Cell]) -> Iterable[Cell]:
        """Yields the cells that are trained beside judged ones, each with a role of its own."""
        return ()

    def follow_up(
        self, study: Study, judged: Sequence[Cell], evidence: Callable[[], Evidence]
    ) -> Iterable[Cell]:
        """Yields cells on which verdicts depend once judged cells are trained.

        judged: those of all looks so far. evidence: makes their evidence, which takes time.
        """
        return ()

    def collect(self, study: Study, beside: Sequence[Cell], records: Records) -> StageEvidence:
        """Collects what the stage adds to the evidence.

        beside: the cells asked for that are not judged.
        """
        return StageEvidence()

    def measure(self, study: Study, session: Session, complete: bool) -> Measurement | None:
        """Returns the measurements of the stage; with `complete`, takes missing ones first, on the idle machine."""
        return None
