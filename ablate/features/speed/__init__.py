"""`speed:` and `ablate bench`: the variants timed beside one another, on an idle machine (METHODS §7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ablate.core.feature import Feature

if TYPE_CHECKING:
    import pandas as pd

    from ablate.core.derived import Derived
    from ablate.core.evidence import Evidence


class SpeedFeature(Feature):
    """Measured after training; claims may be about `step_seconds` and the like."""

    by_path: ClassVar[Sequence[str]] = ("speed.over",)
    decides: ClassVar[bool] = False

    def metrics(self) -> Mapping[str, Derived]:
        """Time and memory."""
        from ablate.features.speed.ratios import METRICS

        return METRICS

    def grammar(self) -> Mapping[str, tuple[Any, Any]]:
        """How the variants are timed."""
        from ablate.features.speed.section import Speed

        return {self.name: (Speed, None)}

    def confirming(self, claims: Sequence[Any]) -> Mapping[str, Any]:
        """Seeds say nothing about speed."""
        return {self.name: None}

    def check(self, draft: Any) -> None:
        """What cannot be timed is refused."""
        from ablate.features.speed.checks import check_speed

        check_speed(draft)

    def begun(self, run: Any) -> Iterable[str]:
        """All, where these variants were timed; what a search chooses is not known yet."""
        from ablate.features.speed.stage import was_timed

        experiment = run.experiment
        section = (
            None if run.options.sweep or experiment.tune is not None else experiment.study.section("speed")
        )
        return self.metrics() if section is not None and was_timed(experiment, run.store, section) else ()

    def measure(self, run: Any) -> None:
        """What is missing, in fresh processes one after the other."""
        from ablate.features.speed.stage import measure

        if (section := run.experiment.study.section("speed")) is not None:
            run.listeners.tracker.rest()
            measure(run.experiment, run.store, section, run.say, fresh=run.options.fresh)

    def measured(self, run: Any) -> tuple[pd.DataFrame, Mapping[str, Any]] | None:
        """What the store has of it, by `speed:` or, without it, as `ablate bench` has measured it."""
        from ablate.features.speed.stage import known, speed_facts

        section, found = known(run)
        if section is None or found is None or found.frame.empty:
            return None
        return found.frame, asdict(speed_facts(run.experiment, section))

    def inputs(self, run: Any) -> Sequence[Path] | None:
        """The measurements; None where some process is missing."""
        from ablate.features.speed.stage import known

        asked = run.experiment.study.section("speed")
        if asked is None:
            return ()
        _, found = known(run)
        return found.files if found is not None and found.processes >= asked.processes else None

    def place(self, files: Sequence[str]) -> Any:
        """Speed is that of one machine."""
        from ablate.features.speed.kept import here, is_measurement

        return here() if any(is_measurement(Path(file)) for file in files) else None

    def plan(self, experiment: Any, store: Any) -> tuple[list[str], Mapping[str, Any] | None]:
        """How many processes are left, and how long they take."""
        from ablate.features.speed.stage import expected, kept
        from ablate.report.words import say

        if (section := experiment.study.section("speed")) is None:
            return [], None
        done = kept(experiment, store, section).processes
        seconds = expected(experiment, section, section.processes - done)
        sizes = [(path, [f"{size:g}" for size in of]) for path, of in section.over.items()]
        left = seconds if section.processes > done else None
        words = say("plan.speed", sizes, section.processes, done, left)
        return [words], {"processes": section.processes, "kept": done, "seconds": seconds}

    def tables(self, evidence: Evidence) -> Mapping[str, pd.DataFrame]:
        """Ratios to the baseline, and slopes over sizes."""
        from ablate.features.speed.ratios import speeds
        from ablate.features.speed.slopes import scaling

        return {"speed": speeds(evidence), "scaling": scaling(evidence)}

    def told(self, evidence: Evidence) -> tuple[str, str]:
        """In how many processes, on what."""
        from ablate.features.speed.timing import how_measured
        from ablate.report.words import say

        found = how_measured(evidence)
        return (say("methods.speed", found), found) if found else ("", "")

    def costs(self) -> Mapping[str, tuple[str, Callable[[float], str]]]:
        """Time and memory of a training step."""
        from ablate.base import wording

        return {
            "step_seconds": ("time of a training step", wording.seconds),
            "step_memory": ("peak memory of a training step", lambda size: wording.size(round(size))),
        }

    def brief(self, rows: Sequence[Any], names: Mapping[str, str]) -> Iterable[Any]:
        """Of the call that matters most."""
        from ablate.features.speed.timing import brief_tables

        return brief_tables(rows, names)
