"""The stage `speed`: times the variants beside one another after training, on the idle machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ablate.base.wording import duration
from ablate.core.derived import CALL_OF
from ablate.core.speed import RunTime, TimedCall
from ablate.session.stage import Measurement, Preview, Stage
from ablate.stages.speed.section import SpeedConfig, SpeedSection
from ablate.study.stage_config import config_of

if TYPE_CHECKING:
    from ablate.records.folder import StudyFolder
    from ablate.records.store import Store
    from ablate.session.options import Options
    from ablate.session.session import Session
    from ablate.study.draft import Draft
    from ablate.study.schema import StudyConfig
    from ablate.study.study import Study


class SpeedStage(Stage):
    """Times variants after training."""

    name = "speed"
    Config = SpeedConfig

    def __init__(self, section: SpeedSection) -> None:
        self._section = section

    @classmethod
    def from_study(cls, study: StudyConfig, options: Options) -> Self | None:
        section = config_of(study, SpeedConfig).speed
        return cls(section) if section is not None else None

    @property
    def metrics(self) -> frozenset[str]:
        """The metrics of the calls that are asked for, and of whole runs: a workload has the ones or the others."""
        times: list[TimedCall | RunTime] = [*self._section.calls, *self._section.run_times]
        return frozenset(metric for metric, time in CALL_OF.items() if time in times)

    def check(self, draft: Draft) -> None:
        from ablate.stages.speed.section import check_speed

        check_speed(draft, self._section)

    def preview(self, study: Study, store: Store) -> Preview:
        """Describes how many processes are left, and how long they take."""
        from ablate.report.words import message
        from ablate.stages.speed.timing import Timing

        section = self._section
        timing = Timing(study, store, section)
        asked = section.processes
        done = timing.num_complete
        seconds = timing.expected(asked - done)
        sizes = ""
        for path, values in section.over.items():
            sizes = message("plan.sizes", path, [f"{size:g}" for size in values])
        time = duration(seconds) if asked > done and seconds is not None else ""
        replicates = timing.method.described(asked)
        sentence = message("plan.speed", sizes, replicates, done, time)
        return Preview([sentence], {"processes": asked, "kept": done, "seconds": seconds})

    def has_results(self, study: Study, folder: StudyFolder, store: Store) -> bool:
        """Returns whether these variants were timed."""
        from ablate.stages.speed.timing import was_timed

        return was_timed(study, store, self._section)

    def measure(self, study: Study, session: Session, complete: bool) -> Measurement | None:
        """Returns the timings of the variants; with `complete`, takes those that are missing first.

        Where a variant cannot be timed, warns and returns what was timed.
        """
        from ablate.base.errors import AblateError
        from ablate.stages.speed.timing import Timing

        timing = Timing(study, session.store, self._section)
        if complete:
            session.tracker.close()
            try:
                timing.complete(session.say, fresh=session.options.fresh)
            except AblateError as error:  # What was timed is returned all the same.
                session.warn(str(error))
        return timing.measurement
