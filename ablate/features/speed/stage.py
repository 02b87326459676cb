"""Times the variants of a study beside one another, in fresh processes, one after the other (METHODS §7).

What a process has found is kept by what it measured; only what is missing is measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError
from ablate.base.locks import measuring
from ablate.base.wording import counted, duration
from ablate.core.facts import BASELINE
from ablate.features.speed.blocks import BUDGET
from ablate.features.speed.facts import COLUMNS, SpeedFacts
from ablate.features.speed.fresh import CannotBeTimedError, measured
from ablate.features.speed.kept import Measurements, here
from ablate.features.speed.measuring import Found, Group, Request, measure_group
from ablate.features.speed.section import SpeedSection
from ablate.records.environment import machine
from ablate.records.store import Store
from ablate.stages.engine import reference
from ablate.stages.place import reported
from ablate.stages.running import Run
from ablate.study.experiment import Experiment
from ablate.study.ids import TrialIds
from ablate.study.patch import apply_patches, value_at
from ablate.study.sources import source_digest

if TYPE_CHECKING:
    import pandas as pd

START = 4.0
"""Seconds in which a process imports and builds, about."""


@dataclass(frozen=True)
class Kept:
    """What the store has of a study's speed."""

    frame: pd.DataFrame
    "With `core.speed.COLUMNS`."
    files: Sequence[Path]
    processes: int
    "Those that have timed every variant at every size."


@dataclass(frozen=True)
class _Place:
    """The variants on one task at one size."""

    task: str
    on: str
    "` on TASK`, where the study has several."
    size: float
    "NaN without one."
    own: bool
    keys: dict[str, str]
    "Variant → the key of its config, the baseline first."
    group: Group
    stands_for: dict[str, Any]

    def named(self, key: str, section: SpeedSection) -> str:
        """The variants that have a config, and where."""
        names = ", ".join(variant for variant, known in self.keys.items() if known == key)
        at = f" at {next(iter(section.over))} = {self.size:g}" if math.isfinite(self.size) else ""
        return f"{names}{self.on}{at}"


def speed_facts(experiment: Experiment, section: SpeedSection) -> SpeedFacts:
    """How the variants of a study are timed on this machine."""
    return section.facts(experiment.workload.threads, machine())


def measure(
    experiment: Experiment,
    store: Store,
    section: SpeedSection,
    say: Callable[[str], None],
    *,
    fresh: bool = False,
) -> pd.DataFrame:
    """The frame `speed` of a study; what is missing in the store is measured now, in its own processes.

    `fresh`: all is measured again. Raises `AblateError` with the variant, and the size, that cannot be timed; an
    interruption says how much is kept.
    """
    known = Measurements(store.root, store.warn)
    where = replace(reference(experiment), threads=experiment.workload.threads)
    with measuring(store.root, say):
        places = {place.group.key: place for place in _places(experiment, section)}
        found = {key: [] if fresh else known.load(key) for key in places}
        try:
            _complete(places, found, known, partial(measured, where), section, say)
        except KeyboardInterrupt:
            done = kept(experiment, store, section).processes
            raise KeyboardInterrupt(f"{done} of {section.processes} timed processes") from None
    return _frame(places, found, section)


def known(run: Run) -> tuple[SpeedSection | None, Kept | None]:
    """How the variants of a run are timed, by its study or else by its report; and what the store has of it."""
    section: SpeedSection | None = run.experiment.study.section("speed")
    facts = reported(run.folder)
    if section is None and facts is not None and (before := SpeedFacts.of(facts)) is not None:
        section = SpeedSection.of(before)
    if section is None:
        return None, None
    try:
        return section, kept(run.experiment, run.store, section)
    except AblateError:  # the study no longer has these sizes
        return section, None


def kept(experiment: Experiment, store: Store, section: SpeedSection) -> Kept:
    """What the store has of that; nothing is measured. Raises `AblateError` for a size that a variant cannot have."""
    known = Measurements(store.root, store.warn)
    places = {place.group.key: place for place in _places(experiment, section)}
    found = {key: known.load(key)[: section.processes] for key in places}
    files = [known.path(key) for key in places]
    return Kept(_frame(places, found, section), files, min(map(len, found.values())))


def was_timed(experiment: Experiment, store: Store, section: SpeedSection) -> bool:
    """Whether the store has processes of these variants at their own size, of this study or of another like it."""
    known, own = Measurements(store.root, store.warn), section.model_copy(update={"over": {}})
    return any(known.load(place.group.key) for place in _places(experiment, own))


def expected(experiment: Experiment, section: SpeedSection, processes: int) -> float:
    """Seconds that so many processes take, about: more where a call alone takes a good part of a second."""
    copies = 1 + sum(not variant.placebo for variant in experiment.variants)
    places = sum(1 for _ in _places(experiment, section))
    return processes * (START + places * copies * len(section.calls) * BUDGET)


def _frame(
    places: Mapping[str, _Place], found: Mapping[str, list[Found]], section: SpeedSection
) -> pd.DataFrame:
    import pandas as pd

    rows = [row for key, place in places.items() for row in _rows(place, found[key][: section.processes])]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _complete(
    places: dict[str, _Place],
    found: dict[str, list[Found]],
    kept: Measurements,
    run: Callable[[Request], Iterator[tuple[Group, Found]]],
    section: SpeedSection,
    say: Callable[[str], None],
) -> None:
    """Runs a process for each number that some group lacks, and keeps every group as soon as it is measured."""
    started = time.monotonic()
    several = {place.size for place in places.values()}
    what = counted(len({variant for place in places.values() for variant in place.keys}), "variant")
    what += f" at {len(several)} sizes" if len(several) > 1 else ""
    least = min(map(len, found.values()))
    for process in range(least, section.processes):
        each = (time.monotonic() - started) / max(process - least, 1)
        left = f", about {duration(each * (section.processes - process))} left" if process > least else ""
        say(f"Timing {what}, process {process + 1} of {section.processes}{left} …")
        groups = [places[key].group for key, processes in found.items() if len(processes) <= process]
        try:
            with closing(run(Request(process, section.calls, groups, BUDGET))) as measurements:  # type: ignore[type-var]
                for group, one in measurements:
                    found[group.key].append(one)
                    kept.save(places[group.key].stands_for, found[group.key])
        except CannotBeTimedError as error:
            raise AblateError(_advice(places[error.group.key], error, section)) from error


def _advice(place: _Place, error: CannotBeTimedError, section: SpeedSection) -> str:
    """Which variant cannot be timed, why, and what to do."""
    reason, what = error.reason, "Correct it"
    if any(word in reason.lower() for word in ("out of memory", "allocate memory", "memoryerror", "sigkill")):
        what = "Make batch, length or model smaller"
        reason += "" if "memory" in reason.lower() else ", probably for want of memory"
    if not place.own:
        what += f", or leave {place.size:g} out of speed.over"
    then = "and run the same command: what was measured is kept"
    return f"{place.named(error.config, section)}: cannot be timed: {reason}. {what}, {then}"


def _places(experiment: Experiment, section: SpeedSection) -> Iterator[_Place]:
    """Every task at the study's own size, and at each that is listed."""
    workload = experiment.workload
    ids = TrialIds(workload, [path for path in (workload.steps_path, workload.rate_path) if path])
    conditions = {
        "calls": list(section.calls),
        "threads": workload.threads,
        "source": source_digest([type(workload), measure_group], [type(workload)]),
        **here(),
    }
    if (repeated := experiment.study.confirms) is not None:
        conditions["repeats"] = repeated  # a confirmation rests on processes of its own
    ((path, listed),) = section.over.items() or [("", [])]
    for index, task in enumerate(experiment.tasks):
        own = {v.name: v.configs[index] for v in experiment.variants if not v.placebo}
        own_size = float(value_at(own[BASELINE], path)) if path else math.nan
        for size in [own_size, *(size for size in listed if size != own_size)]:
            configs = own
            if path and size != own_size:
                # Nothing else changes: what is matched stays as it was matched at the study's own size.
                configs = {v: experiment.resolve(apply_patches(c, {path: size})) for v, c in own.items()}
            keys = {variant: ids(config, 0, "speed") for variant, config in configs.items()}
            by_key = {keys[variant]: config for variant, config in reversed(configs.items())}
            order = [keys[BASELINE], *sorted(by_key.keys() - {keys[BASELINE]})]
            stands_for = {"configs": order, **conditions}
            group = Group(Measurements.key(stands_for), {key: by_key[key] for key in order})
            yield _Place(task, experiment.on(task), float(size), configs is own, keys, group, stands_for)


def _rows(place: _Place, processes: list[Found]) -> Iterator[dict[str, Any]]:
    for variant, key in place.keys.items():
        for number, process in enumerate(processes):
            of = process["configs"][key]
            for call, timing in of["calls"].items():
                yield {
                    "variant": variant,
                    "task": place.task,
                    "size": place.size,
                    "own": place.own,
                    "call": call,
                    "process": number,
                    **{
                        name: timing[name]
                        for name in ("seconds", "log_ratio", "examples", "tokens", "blocks")
                    },
                    "memory": _number(of["memory"] if call == "step" else None),
                    "flops": _number(processes[0]["configs"][key]["calls"][call]["flops"]),
                    "busy": process["busy"],
                }


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
