"""One training run, its place in a study, and the function by which it reports."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

# Which weights of a trial are kept: those of the last step, or of the evaluation on validation data that was best by
# the first metric.
Checkpoint = Literal["none", "final", "best"]


@dataclass(frozen=True)
class Trial:
    """One training run: everything that its result depends on."""

    id: str
    config: Mapping[str, Any]  # As resolved: every default filled in.
    seed: int
    stream: str = ""  # Names other initialisation and dropout streams: that of a placebo.
    time_limit: float | None = None  # Seconds after which the driver ends the trial as failed.
    checkpoint: Checkpoint = "none"  # The weights that its record keeps.
    prunable: bool = False  # Whether it waits at each report for the driver's answer, which may end it.
    save_every: int | None = None  # Steps between two states that it saves; None: it saves none.
    # The last state that it saved before it was interrupted; it resumes from there.
    state: bytes | None = field(default=None, repr=False)
    # Dotted paths of the config that the id does not stand for, such as a device given as `auto`.
    irrelevant: tuple[str, ...] = ()
    # The files of data that it reads: path → digest of the content that the id stands for.
    files: Mapping[str, str] = field(default_factory=dict)


def identified(
    config: Mapping[str, Any], irrelevant: Iterable[str], files: Mapping[str, str]
) -> dict[str, Any]:
    """What the id of a trial stands for of its config: a copy with the digest of each of these files in its place.

    `irrelevant`: dotted paths that are left out; those that do not exist are passed over.
    """
    result: dict[str, Any] = _with_digests(config, files)
    for path in irrelevant:
        *outer, last = path.split(".")
        node: Any = result
        for key in outer:
            node = node.get(key) if isinstance(node, dict) else None
        if isinstance(node, dict):
            node.pop(last, None)
    return result


class Emit(Protocol):
    """The function by which a workload reports on a trial to the driver."""

    def __call__(self, step: int, metrics: Mapping[str, float], state: bytes | None = None) -> bool:
        """Reports progress; True asks the workload to stop early and return `pruned`.

        A `state` is all that the trial needs to resume at `step` and reach the same result, bit for bit. The driver
        keeps the last until the trial has finished.
        """


def _with_digests(value: Any, files: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_digests(item, files) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_digests(item, files) for item in value]
    return {"file": files[value]} if isinstance(value, str) and value in files else value


def merged(old: Any, new: Any) -> Any:
    """`old` with `new` laid over it: parts merge while their name stays, mappings merge, the rest is replaced."""
    whole = copy.deepcopy(new)
    if isinstance(old, Mapping) and "name" in old:
        new = new if isinstance(new, Mapping) else {"name": new}
        if new.get("name", old["name"]) != old["name"]:
            return whole
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return whole
    return {
        **old,
        **{
            key: merged(old[key], value) if key in old else copy.deepcopy(value) for key, value in new.items()
        },
    }


# What a variant has at a path: a number, a word, on or off as a bool, nothing; a part by its label.
Level = str | int | float | bool | None
JUDGED, RUNNER_UP = "judged", "rival"
AGAIN = "again"  # In place of the stream: the same trial a second time, to see whether it repeats.


@dataclass(frozen=True)
class Cell:
    """Variant, task, seed, levels, name and trial, which travel together; several cells may share a trial."""

    variant: str
    task: str  # Empty where the workload has no tasks.
    seed: int
    trial: Trial
    name: str = ""  # The name that users see: variant, task where there are several, seed.
    # Path that some variant changes → what this one has there; searched path → the label of its value.
    levels: Mapping[str, Level] = field(default_factory=dict)
    # What it is trained for: `judged` where verdicts rest on it; `rival` where they must hold at another setting of its
    # variant too; else as the feature that asks for it says.
    role: str = JUDGED
    # What its record says of the size of the model: `parameters`, `flops`, `training_flops`.
    size: Callable[[], Mapping[str, int | None]] = field(default=dict, repr=False, compare=False)
    setting: str = ""  # Of a rival: its variant at the setting that verdicts must hold for too.

    @property
    def judged(self) -> bool:
        """Whether verdicts rest on it."""
        return self.role == JUDGED

    @property
    def id(self) -> str:
        """The id of its trial."""
        return self.trial.id
