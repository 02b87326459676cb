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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ablate.base.files import digest_of_data, write_text
from ablate.base.locks import measuring
from ablate.base.wording import counted, duration
from ablate.core.facts import BASELINE, frame_of
from ablate.core.speed_facts import COLUMNS
from ablate.records.environment import here, machine
from ablate.records.store import Store
from ablate.session.stage import Measurement
from ablate.session.workers import reference
from ablate.stages.speed.blocks import BUDGET
from ablate.stages.speed.measuring import Group, Request, measure_group, measured
from ablate.stages.speed.section import SpeedSection
from ablate.study.ids import TrialIds
from ablate.study.patch import apply_patches, value_at
from ablate.study.sources import source_digest
from ablate.study.study import Study

START = 4.0  # Seconds in which a process imports and builds, about.


@dataclass(frozen=True)
class _Place:
    """The variants on one task at one size."""

    task: str
    size: float  # NaN without one.
    own: bool
    keys: dict[str, str]  # Variant → the key of its config, the baseline first.
    group: Group
    where: str  # The task where the study has several, and the size, as words after a variant.

    def advice(self, config: str, reason: str) -> str:
        """Which variant cannot be timed, why, and what to do."""
        lacking = any(word in reason.lower() for word in ("memory", "sigkill"))
        what = "Make batch, length or model smaller" if lacking else "Correct it"
        what += "" if self.own else f", or leave {self.size:g} out of speed.over"
        names = ", ".join(variant for variant, key in self.keys.items() if key == config)
        return (
            f"{names}{self.where}: cannot be timed: {reason}. {what}, and run the same command: what was measured "
            "is kept"
        )


class Timing:
    """The variants of a study as a section times them, and what the store has of that.

    Raises `AblateError` for a size that a variant cannot have.
    """

    def __init__(self, study: Study, store: Store, section: SpeedSection) -> None:
        self.study, self.section, self.store = study, section, store
        self.places = {place.group.key: place for place in _places(study, section)}
        self.found = {key: load(store, key) for key in self.places}

    @property
    def processes(self) -> int:
        """Those that have timed every variant at every size."""
        return min(self.section.processes, *map(len, self.found.values()))

    @property
    def measurement(self) -> Measurement:
        """A frame with `COLUMNS`, how it was measured, and its files where nothing is missing."""
        rows = [row for key, place in self.places.items() for row in self._rows(place, key)]
        whole = self.processes == self.section.processes
        return Measurement(
            frame_of(rows, COLUMNS).astype({"memory": float, "flops": float}),
            asdict(self.section.facts(self.study.workload.threads, machine())),
            [file_of(self.store, key) for key in self.places] if whole else None,
        )

    def _rows(self, place: _Place, key: str) -> Iterator[dict[str, Any]]:
        processes = self.found[key][: self.section.processes]
        for variant, config in place.keys.items():
            for number, process in enumerate(processes):
                found = process["configs"][config]
                for call, timing in found["calls"].items():
                    yield {
                        **{name: value for name, value in timing.items() if name in COLUMNS},
                        **{"variant": variant, "task": place.task, "size": place.size, "own": place.own},
                        **{"call": call, "process": number, "busy": process["busy"]},
                        "memory": found["memory"] if call == "step" else None,
                        "flops": processes[0]["configs"][config]["calls"][call]["flops"],
                    }

    def expected(self, processes: int) -> float:
        """Seconds that so many processes take, about: more where a call alone takes a good part of a second."""
        copies = 1 + sum(not variant.placebo for variant in self.study.variants)
        return processes * (START + len(self.places) * copies * len(self.section.calls) * BUDGET)

    def complete(self, say: Callable[[str], None], *, fresh: bool = False) -> Timing:
        """Runs a process for each number that some group lacks, or with `fresh` for each, and keeps every group as
        soon as it is measured.

        Raises `AblateError` with the variant, and the size, that cannot be timed; an interruption says how much is
        kept.
        """
        with measuring(self.store.root, say):
            # Another command may have measured meanwhile.
            self.found = {key: [] if fresh else load(self.store, key) for key in self.places}
            try:
                self._measure(say)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"{self.processes} of {self.section.processes} timed processes"
                ) from None
        return self

    def _measure(self, say: Callable[[str], None]) -> None:
        asked, least, started = self.section.processes, self.processes, time.monotonic()
        sizes = {place.size for place in self.places.values()}
        what = counted(len({variant for place in self.places.values() for variant in place.keys}), "variant")
        what += f" at {len(sizes)} sizes" if len(sizes) > 1 else ""
        for process in range(least, asked):
            each = (time.monotonic() - started) / max(process - least, 1)
            left = f", about {duration(each * (asked - process))} left" if process > least else ""
            say(f"Timing {what}, process {process + 1} of {asked}{left} …")
            groups = [self.places[key].group for key, found in self.found.items() if len(found) <= process]
            told = measured(
                reference(self.study),
                Request(process, self.section.calls, groups, BUDGET),
                lambda key, *of: self.places[key].advice(*of),
            )
            with closing(told):
                for key, found in told:
                    self.found[key].append(found)
                    save(self.store, key, self.found[key])


def was_timed(study: Study, store: Store, section: SpeedSection) -> bool:
    """Whether the store has processes of these variants at their own size."""
    return any(Timing(study, store, section.model_copy(update={"over": {}})).found.values())


def _places(study: Study, section: SpeedSection) -> Iterator[_Place]:
    """Every task at the study's own size, and at each that is listed."""
    workload = study.workload
    ids = TrialIds(workload, [path for path in (workload.steps_path, workload.rate_path) if path])
    conditions = {
        "calls": list(section.calls),
        "threads": workload.threads,
        "source": source_digest([type(workload), measure_group]),
        **here(),
    }
    ((path, listed),) = section.over.items() or [("", [])]
    for index, task in enumerate(study.tasks):
        own = {v.name: v.configs[index] for v in study.variants if not v.placebo}
        own_size = float(value_at(own[BASELINE], path)) if path else math.nan
        for size in [own_size, *(size for size in listed if size != own_size)]:
            # Nothing else changes: what is matched stays as it was matched at the study's own size.
            configs = (
                {v: study.resolve(apply_patches(c, {path: size})) for v, c in own.items()}
                if size is not own_size
                else own
            )
            keys = {variant: ids.identity(config)(0, "speed") for variant, config in configs.items()}
            by_key = {keys[variant]: config for variant, config in reversed(configs.items())}
            order = [keys[BASELINE], *sorted(by_key.keys() - {keys[BASELINE]})]
            stands_for = digest_of_data({"configs": order, **conditions})[:16]
            group = Group(stands_for, {key: by_key[key] for key in order})
            where = study.on(task) + (f" at {path} = {size:g}" if path else "")
            yield _Place(task, float(size), configs is own, keys, group, where)


def file_of(store: Store, key: str) -> Path:
    """The file of a group."""
    return store.root / "speed" / f"{key}.json"


def load(store: Store, key: str) -> list[dict[str, Any]]:
    """What the processes of a group have found so far; a corrupt file is set aside. Raises `StoreError`."""

    def decode(content: bytes) -> list[dict[str, Any]]:
        data = json.loads(content)
        processes: list[dict[str, Any]] = data["processes"]
        if data["digest"] != digest_of_data([key, processes]):
            raise ValueError("it is not what was written")
        return processes

    return store.read(file_of(store, key), decode, ", it will be measured again") or []


def save(store: Store, key: str, processes: Sequence[Mapping[str, Any]]) -> None:
    """Writes all processes of a group, whole or not at all. Raises `StoreError`."""
    data = {"digest": digest_of_data([key, processes]), "processes": processes}
    write_text(file_of(store, key), json.dumps(data, indent=1, allow_nan=False) + "\n")
