"""The variants of a run timed after its trainings, or what is kept of that; no training is lost to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.core.evidence import no_speed
from ablate.core.speed import SpeedFacts
from ablate.execution.trial import WorkloadRef
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.stages.options import Options
from ablate.stages.place import reported
from ablate.stages.speed import Kept, kept, measure, speed_facts
from ablate.study.experiment import Experiment
from ablate.study.sections.speed import SpeedSection

if TYPE_CHECKING:
    import pandas as pd

Say = Callable[[str], None]


@dataclass(frozen=True)
class Timed:
    """The speed of a study's variants, as far as it is known."""

    frame: pd.DataFrame = field(default_factory=no_speed)
    "As `Evidence.speed`."
    facts: SpeedFacts | None = None
    "None where nothing is known."
    files: Sequence[Path] = ()
    "Those of the store that the study asks for."
    whole: bool = True
    "Whether nothing that it asks for is missing."


def time_variants(
    experiment: Experiment,
    folder: StudyFolder,
    store: Store,
    where: WorkloadRef,
    options: Options,
    say: Say,
    warn: Say,
) -> Timed:
    """Measures what `speed:` asks for and the store lacks; without `speed:`, takes what `ablate bench` has measured.

    The run of a part of a study measures nothing. What cannot be timed is a warning.
    """
    asked, facts = experiment.study.speed, reported(folder)
    section = asked or (SpeedSection.of(facts.speed) if facts is not None and facts.speed else None)
    if section is None:
        return Timed()
    try:
        if asked is not None and not options.partial:
            measured(experiment, store, where, section, say, fresh=options.fresh)
    except AblateError as error:
        warn(str(error))
    try:
        found = kept(experiment, store, section)
    except AblateError:  # the study no longer has these sizes
        return Timed(whole=asked is None)
    if asked is None:
        return as_timed(experiment, section, found)
    whole = found.processes >= section.processes
    return replace(as_timed(experiment, section, found), files=found.files, whole=whole)


def as_timed(experiment: Experiment, section: SpeedSection, found: Kept) -> Timed:
    """What is kept of a study, with its facts."""
    return Timed(found.frame, speed_facts(experiment, section) if len(found.frame) else None)


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
