"""Times the variants of a study beside one another, in fresh processes, one after the other (METHODS §7).

What a process has found is kept; only what is missing is measured. One file a group of configs that were timed beside
one another:

    speed/<key>.json   what each process has found, in order, with a digest of it and the key

The key stands for the configs with their sources, the calls, the machine and the versions: a measurement that was taken
under others has another key, and the two are never mixed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ablate.base.files import digest_of_data, write_text
from ablate.base.locks import Say, measuring
from ablate.base.wording import counted, duration
from ablate.core.facts import BASELINE, frame_of
from ablate.core.speed_facts import SpeedFacts
from ablate.records.environment import here, machine
from ablate.records.store import Store
from ablate.session.stage import Measurement
from ablate.session.workers import reference
from ablate.stages.speed.group import Group, GroupTimes
from ablate.stages.speed.methods import Method, method_of
from ablate.stages.speed.section import SpeedSection
from ablate.study.designs import Config
from ablate.study.ids import TrialIds
from ablate.study.patch import apply_patches, value_at
from ablate.study.study import Study


@dataclass(frozen=True)
class _Place:
    """The variants on one task at one size."""

    task: str
    # NaN without one.
    size: float
    # Whether it is the size that the study trains.
    is_own_size: bool
    # Variant → the key of its config, the baseline first.
    keys: Mapping[str, str]
    group: Group
    # The task where the study has several, and the size, as words after a variant.
    where: str

    def advice(self, config: str, reason: str) -> str:
        """Returns which variant cannot be timed, why, and what to do; config: its key."""
        lacks_memory = any(word in reason.lower() for word in ("memory", "sigkill"))
        what = "Make batch, length or model smaller" if lacks_memory else "Correct it"
        if not self.is_own_size:
            what += f", or leave {self.size:g} out of speed.over"
        names = ", ".join(variant for variant, key in self.keys.items() if key == config)
        return (
            f"{names}{self.where}: cannot be timed: {reason}. {what}, and run the same command: what was measured "
            "is kept"
        )


class Timing:
    """The variants of a study as a section times them, and what is kept of that.

    Raises `AblateError` for a size that a variant cannot have.
    """

    def __init__(self, study: Study, store: Store, section: SpeedSection) -> None:
        self.study = study
        self.section = section
        self.store = store
        self.method = method_of(study, store, section)
        # By the key of their group.
        self.places = {place.group.key: place for place in _places(study, section, self.method)}
        # The key of a group → what each process has found of it, in order.
        self.kept = {key: load(store, key) for key in self.places}

    @property
    def num_complete(self) -> int:
        """The number of processes that have timed every variant at every size."""
        return min(self.section.processes, *map(len, self.kept.values()))

    @property
    def measurement(self) -> Measurement:
        """The timings as a frame, how they were measured, and their files, which are None while some are missing."""
        rows: list[dict[str, Any]] = []
        for key, place in self.places.items():
            rows += self._rows(place, self.kept[key][: self.section.processes])
        files = None
        if self.num_complete == self.section.processes:
            files = [file_of(self.store, key) for key in self.places]
        return Measurement(
            frame_of(rows, SpeedFacts.columns).astype({"memory": float, "flops": float}),
            self.section.facts(self.method.times, self.study.workload.threads, machine()),
            files,
        )

    def _rows(self, place: _Place, processes: Sequence[GroupTimes]) -> list[dict[str, Any]]:
        """Returns a row a variant, process and call, with the columns of `SpeedFacts`."""
        rows: list[dict[str, Any]] = []
        for variant, config in place.keys.items():
            for number, process in enumerate(processes):
                found = process["configs"][config]
                for call, timing in found["calls"].items():
                    row = {
                        "variant": variant,
                        "task": place.task,
                        "size": place.size,
                        "own": place.is_own_size,
                        "call": call,
                        "process": number,
                        "seconds": timing["seconds"],
                        "log_ratio": timing["log_ratio"],
                        "memory": found["memory"] if call == "step" else None,
                        "examples": _known(timing["examples"]),
                        "tokens": _known(timing["tokens"]),
                        # The first process alone counts them.
                        "flops": processes[0]["configs"][config]["calls"][call]["flops"],
                        "blocks": timing["blocks"],
                        "busy": process["busy"],
                    }
                    rows.append(row)
        return rows

    def expected(self, processes: int) -> float | None:
        """Returns the seconds that so many processes take, about; None where nobody knows."""
        of_one = self.method.expected(len(self.places))
        return None if of_one is None else processes * of_one

    def complete(self, say: Say, *, fresh: bool = False) -> Timing:
        """Runs the processes that some group lacks, or with `fresh` all, and returns itself.

        Every group is kept as soon as it is measured. Raises `AblateError` with the variant, and the size, that cannot
        be timed; an interruption says how much is kept.
        """
        with measuring(self.store.root, say):
            self.study.workload.freeze()
            # Another command may have measured meanwhile.
            self.kept = {key: [] if fresh else load(self.store, key) for key in self.places}
            try:
                self._measure(say)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"{self.num_complete} of {self.section.processes} timed {self.method.replicates}"
                ) from None
        return self

    def _measure(self, say: Say) -> None:
        """Runs the processes that are missing, one after the other."""
        first = self.num_complete
        last = self.section.processes
        subject = self._subject()
        started = time.monotonic()
        for process in range(first, last):
            left = ""
            if process > first:
                seconds = (time.monotonic() - started) / (process - first)
                left = f", about {duration(seconds * (last - process))} left"
            say(f"Timing {subject}, {self.method.replicate} {process + 1} of {last}{left} …")
            self._run_process(process)

    def _subject(self) -> str:
        """Returns the number of variants, and of sizes where there are several, in words."""
        variants: set[str] = set()
        for place in self.places.values():
            variants |= place.keys.keys()
        sizes = {place.size for place in self.places.values()}
        at_sizes = f" at {len(sizes)} sizes" if len(sizes) > 1 else ""
        return counted(len(variants), "variant") + at_sizes

    def _run_process(self, process: int) -> None:
        """Measures the groups that lack a process, and keeps each as soon as it is measured."""

        def advice(key: str, config: str, reason: str) -> str:
            return self.places[key].advice(config, reason)

        groups = [self.places[key].group for key, kept in self.kept.items() if len(kept) <= process]
        results = self.method.measured(process, groups, reference(self.study), advice)
        with closing(results):
            for key, found in results:
                self.kept[key].append(found)
                save(self.store, key, self.kept[key])


def _known(count: int | None) -> float:
    """Returns a count, which is NaN where it is not known."""
    return math.nan if count is None else count


def was_timed(study: Study, store: Store, section: SpeedSection) -> bool:
    """Returns whether the store has processes of these variants at their own size."""
    at_own_size = section.model_copy(update={"over": {}})
    return any(Timing(study, store, at_own_size).kept.values())


def _places(study: Study, section: SpeedSection, method: Method) -> list[_Place]:
    """Returns every task at the study's own size, and at each that is listed."""
    workload = study.workload
    ids = TrialIds(workload, [path for path in (workload.steps_path, workload.rate_path) if path])
    conditions = {
        **method.conditions(),
        "threads": workload.threads,
        **here(),
    }
    path = next(iter(section.over), "")
    places: list[_Place] = []
    for task in study.tasks:
        own = {variant.name: variant.configs[task] for variant in study.variants if not variant.placebo}
        own_size = float(value_at(own[BASELINE], path)) if path else math.nan
        by_size: dict[float, Mapping[str, Config]] = {own_size: own}
        for size in section.over.get(path, []):
            # Nothing else changes: what is matched stays as it was matched at the study's own size.
            if size != own_size:
                by_size[size] = {
                    name: study.resolve(apply_patches(config, {path: size})) for name, config in own.items()
                }
        for size, configs in by_size.items():
            keys = {name: ids.identity(config)(0, "speed") for name, config in configs.items()}
            group = _group(keys, configs, conditions)
            where = study.on(task)
            if path:
                where += f" at {path} = {size:g}"
            places.append(_Place(task, float(size), configs is own, keys, group, where))
    return places


def _group(keys: Mapping[str, str], configs: Mapping[str, Config], conditions: Mapping[str, Any]) -> Group:
    """Returns the distinct configs to be timed together, under a key of configs and conditions.

    keys: variant → the key of its config. configs: variant → its config.
    """
    by_key: dict[str, Config] = {}
    for variant, config in configs.items():
        by_key.setdefault(keys[variant], config)
    order = [keys[BASELINE], *sorted(by_key.keys() - {keys[BASELINE]})]
    digest = digest_of_data({"configs": order, **conditions})
    return Group(digest[:16], {key: by_key[key] for key in order})


def file_of(store: Store, key: str) -> Path:
    """Returns the file of a group."""
    return store.root / "speed" / f"{key}.json"


def load(store: Store, key: str) -> list[GroupTimes]:
    """Returns what the processes of a group have found so far, in order.

    A corrupt file is set aside. Raises `StoreError`.
    """

    def decode(content: bytes) -> list[GroupTimes]:
        data = json.loads(content)
        processes: list[GroupTimes] = data["processes"]
        if data["digest"] != digest_of_data([key, processes]):
            raise ValueError("it is not what was written")
        return processes

    return store.read(file_of(store, key), decode, ", it will be measured again") or []


def save(store: Store, key: str, processes: Sequence[GroupTimes]) -> None:
    """Writes all processes of a group, whole or not at all. Raises `StoreError`."""
    data = {"digest": digest_of_data([key, processes]), "processes": processes}
    write_text(file_of(store, key), json.dumps(data, indent=1, allow_nan=False) + "\n")
