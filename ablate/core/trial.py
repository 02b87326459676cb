"""A training run, its place in a study, and the function by which it reports."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Checkpoint = Literal["none", "final", "best"]
"""The weights of a trial that are kept: those of the last step, or of the evaluation on validation data that was best
by the first metric."""


@dataclass(frozen=True)
class Trial:
    """Everything on which the result of a training run depends."""

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
    """Returns the part of a config that the id of a trial stands for, with digests in place of files.

    irrelevant: dotted paths that are left out; those that do not exist are passed over. files: path of a file of data →
    digest of its content.
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
    """Returns plain data with `{"file": DIGEST}` in place of each text that is the path of a file."""
    if isinstance(value, Mapping):
        return {key: _with_digests(item, files) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_digests(item, files) for item in value]
    return {"file": files[value]} if isinstance(value, str) and value in files else value


def merged(old: Any, new: Any) -> Any:
    """Returns `old` with `new` laid over it.

    Parts merge while their name stays, mappings merge, and the rest is replaced.
    """
    replacement = copy.deepcopy(new)
    if not isinstance(old, Mapping):
        return replacement
    if "name" in old:
        if not isinstance(new, Mapping):
            new = {"name": new}
        if new.get("name", old["name"]) != old["name"]:
            return replacement
    if not isinstance(new, Mapping):
        return replacement
    result = dict(old)
    for key, value in new.items():
        result[key] = merged(old[key], value) if key in old else copy.deepcopy(value)
    return result


Level = str | int | float | bool | None
"""The value of a variant at a path: a number, a word, on or off as a bool, nothing; a part by its label."""

# Roles of cells, beside those that stages name.
JUDGED = "judged"
RUNNER_UP = "rival"
AGAIN = "again"  # In place of the stream: the same trial a second time, to see whether it repeats.
LAST = "again, last"  # The same trial after others, to see whether they have touched what it reads.
REPEATED = (AGAIN, LAST)


@dataclass(frozen=True)
class Cell:
    """The place of a trial in a study; several cells may share a trial."""

    variant: str
    task: str  # Empty where the workload has no tasks.
    seed: int
    trial: Trial
    name: str = ""  # The name that users see: variant, task where there are several, seed.
    # Path that some variant changes → the value of this variant there; searched path → the label of its value.
    levels: Mapping[str, Level] = field(default_factory=dict)
    # What it is trained for: `judged` where verdicts rest on it; `rival` where they must hold at another setting of its
    # variant too; else as the stage that asks for it says.
    role: str = JUDGED
    # Gives the size of the model for its record: `parameters`, `flops`, `training_flops`.
    size: Callable[[], Mapping[str, int | None]] = field(default=dict, repr=False, compare=False)
    setting: str = ""  # Of a runner-up: its variant at the setting that verdicts must hold for too.

    @property
    def judged(self) -> bool:
        """True where verdicts rest on the cell."""
        return self.role == JUDGED

    @property
    def id(self) -> str:
        """The id of its trial."""
        return self.trial.id
