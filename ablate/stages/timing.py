"""The variants of a run timed after its trainings, or what is kept of that; no training is lost to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.core.evidence import no_rows
from ablate.core.facts import Facts
from ablate.core.speed import COLUMNS, SpeedFacts
from ablate.execution.trial import WorkloadRef
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.place import reported
from ablate.stages.speed import kept, measure, speed_facts
from ablate.study.experiment import Experiment
from ablate.study.sections.speed import SpeedSection

if TYPE_CHECKING:
    import pandas as pd

Say = Callable[[str], None]


@dataclass(frozen=True)
class Timed:
    """The speed of a study's variants, as far as it is known."""

    frame: pd.DataFrame = field(default_factory=lambda: no_rows(COLUMNS))
    "With `core.speed.COLUMNS`."
    facts: SpeedFacts | None = None
    "None where nothing is known."
    files: Sequence[Path] = ()
    "Those of the store that the study asks for."
    whole: bool = True
    "Whether nothing that it asks for is missing."

    def added(self, facts: Facts) -> Facts:
        """The facts of a study, with how it was timed."""
        speed = {} if self.facts is None else {"speed": asdict(self.facts)}
        return replace(facts, features={**facts.features, **speed})


def time_variants(
    experiment: Experiment,
    folder: StudyFolder,
    store: Store,
    where: WorkloadRef,
    say: Say,
    warn: Say,
    *,
    measures: bool,
    fresh: bool,
) -> Timed:
    """What is known of the variants, by `speed:` or, without it, as `ablate bench` has measured them.

    `measures`: first, what `speed:` asks for and the store lacks, or with `fresh` all of it. What cannot be timed is a
    warning.
    """
    asked, facts = experiment.study.speed, reported(folder)
    before = None if facts is None else SpeedFacts.of(facts)
    section = asked or (SpeedSection.of(before) if before is not None else None)
    if section is None:
        return Timed()
    try:
        if measures:
            measured(experiment, store, where, section, say, fresh=fresh)
    except AblateError as error:
        warn(str(error))
    try:
        found = kept(experiment, store, section)
    except AblateError:  # the study no longer has these sizes
        return Timed(whole=asked is None)
    now = speed_facts(experiment, section) if len(found.frame) else None
    if asked is None:
        return Timed(found.frame, now)
    return Timed(found.frame, now, found.files, found.processes >= section.processes)


def measured(
    experiment: Experiment,
    store: Store,
    where: WorkloadRef,
    section: SpeedSection,
    say: Say,
    *,
    fresh: bool,
) -> pd.DataFrame:
    """As `measure`; an interruption says how much is kept."""
    try:
        return measure(experiment, store, where, say, section=section, fresh=fresh)
    except KeyboardInterrupt:
        done = kept(experiment, store, section).processes
        raise KeyboardInterrupt(f"{done} of {section.processes} timed processes") from None
