"""Times the variants of a study beside one another, in fresh processes, one after the other (METHODS §7).

What a process has found is kept by what it measured; only what is missing is measured.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ablate.base.errors import AblateError, Invalid
from ablate.base.locks import exclusive
from ablate.base.wording import counted, duration
from ablate.core.evidence import no_speed
from ablate.core.speed import SpeedFacts
from ablate.execution.trial import WorkloadRef
from ablate.records.environment import machine, versions
from ablate.records.measured import Measurements
from ablate.records.store import Store
from ablate.speed.blocks import BUDGET
from ablate.speed.fresh import CannotBeTimedError, measured
from ablate.speed.measuring import Found, Group, Request, measure_group
from ablate.study.designs.design import Config
from ablate.study.experiment import Experiment
from ablate.study.ids import TrialIds
from ablate.study.patch import apply_patches, has_path, value_at
from ablate.study.sections.speed import SpeedSection
from ablate.study.sources import source_digest

if TYPE_CHECKING:
    import pandas as pd

LOCK = "bench"
"""Of all measurements in a store, which would disturb one another; no study has this name."""


@dataclass(frozen=True)
class _Place:
    """The variants on one task at one size."""

    task: str
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
        return f"{names}{f' on {self.task}' if self.task else ''}{at}"


def speed_facts(experiment: Experiment, section: SpeedSection) -> SpeedFacts:
    """How the variants of a study are timed on this machine."""
    return section.facts(experiment.workload.threads, machine())


def measure(
    experiment: Experiment,
    store: Store,
    where: WorkloadRef,
    say: Callable[[str], None],
    *,
    section: SpeedSection,
    fresh: bool = False,
) -> pd.DataFrame:
    """The frame `Evidence.speed` of a study; what is missing in the store is measured now, in its own processes.

    `fresh`: all is measured again. Raises `AblateError` with the variant, and the size, that cannot be timed.
    """
    import pandas as pd

    kept = Measurements(store.root, store.warn)
    where = replace(where, threads=experiment.workload.threads)
    with exclusive(store.root, LOCK, say):
        places = {place.group.key: place for place in _places(experiment, section)}
        found = {key: [] if fresh else kept.load(key) for key in places}
        _complete(places, found, kept, partial(measured, where), section, say)
    rows = [
        row for place in places.values() for row in _rows(place, found[place.group.key][: section.processes])
    ]
    return pd.DataFrame(rows, columns=no_speed().columns)


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
    reason = error.reason
    memory = any(
        word in reason.lower() for word in ("out of memory", "allocate memory", "memoryerror", "sigkill")
    )
    if memory and "memory" not in reason.lower():
        reason += ", probably for want of memory"
    smaller = "make batch, length or model smaller" if memory else "correct it"
    smaller += f", or leave {place.size:g} out of speed.over" if not place.own else ""
    return f"{place.named(error.config, section)}: cannot be timed: {reason}; {smaller}. What was measured is kept"


def _places(experiment: Experiment, section: SpeedSection) -> list[_Place]:
    """Every task at the study's own size, and at each that is listed."""
    workload = experiment.workload
    ids = TrialIds(workload, [path for path in (workload.steps_path, workload.rate_path) if path])
    ((path, sizes),) = section.over.items() or [("", [])]
    source = source_digest([type(workload), measure_group], [type(workload)])
    here = {"machine": machine(), "node": platform.node()}
    found: list[_Place] = []
    for index, task in enumerate(experiment.tasks):
        own = {v.name: v.configs[index] for v in experiment.variants if not v.placebo}
        sized = [
            (own, True, _common(own, path)),
            *((_sized(experiment, own, path, s), False, s) for s in sizes),
        ]
        for configs, is_own, size in sized:
            keys = {name: ids(config, 0, "speed") for name, config in configs.items()}
            by_key = {keys[name]: configs[name] for name in reversed(configs)}
            base, *rest = dict.fromkeys(keys.values())
            order = [base, *sorted(rest)]
            stands_for = {
                "configs": order,
                "calls": list(section.calls),
                "threads": workload.threads,
                "source": source,
                **here,
                "versions": {name: versions()[name] for name in ("python", "torch") if name in versions()},
            }
            group = Group(Measurements.key(stands_for), {key: by_key[key] for key in order})
            if any(place.own and place.keys == keys and place.task == task for place in found):
                continue  # the study's own size is listed
            found.append(_Place(task, size, is_own, keys, group, stands_for))
    return found


def _common(configs: dict[str, Config], path: str) -> float:
    """The size that all configs have at a path; NaN where they have none in common."""
    sizes = {
        value_at(config, path) if path and has_path(config, path) else None for config in configs.values()
    }
    size = sizes.pop()
    return math.nan if sizes or size is None else float(size)


def _sized(experiment: Experiment, own: dict[str, Config], path: str, size: float) -> dict[str, Config]:
    """The variants' configs with one size changed and nothing else: what is matched stays as it was matched."""
    found = {}
    for name, config in own.items():
        try:
            found[name] = experiment.resolve(apply_patches(config, {path: size}))
            experiment.workload.check(found[name])
        except Invalid as error:
            hint = f"leave {size:g} out of speed.over, or the variant out of the study"
            raise AblateError(f"{name} at {path} = {size:g}: cannot be built: {error}; {hint}") from error
    return found


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
                    "flops": _number(timing["flops"]),
                    "busy": process["busy"],
                }


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
