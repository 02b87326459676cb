"""The lines of ledgers and of kept runs.

A ledger begins with the runs of its base, some of which may have failed before. All other kinds of lines have the
`state` after them: the one that begins it, the starts of confirmations, and the answers to tries. The runs of `ablate
compare` stand in a file of runs alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Discriminator, Field, Tag, TypeAdapter

from ablate.base.kept import FINITE
from ablate.commits.stream import State, Verdict
from ablate.core.metric import Direction

FORMAT = 5
"""The format of ledgers: it rises when the fields of a line change."""
OLDEST = 2
"""The oldest format that is read and goes on: its lines have these fields, and no digests."""
Seconds = Annotated[float, Field(ge=0)]


@dataclass(frozen=True)
class Call:
    """The command that is run at each commit, and how its number is read."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    command: Sequence[str]
    metric: str
    pattern: str
    """The regular expression of the number in a line of output; empty where the command writes it as JSON."""
    direction: Direction
    links: Sequence[str]
    """The paths of data that the command needs and git ignores."""


@dataclass(frozen=True)
class Run:
    """A finished run."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    run: str
    """A digest of all that its number depends on."""
    commit: str
    tree: str
    seed: Annotated[int, Field(ge=0)]
    value: float
    seconds: Seconds


@dataclass(frozen=True)
class FailedRun:
    """A run that failed, or from which its number could not be read; a later call runs it again."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    failed: str
    """The digest that the run has when it is finished."""
    commit: str
    tree: str
    seed: Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Begun:
    """The first base, after its runs."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    format: int
    call: Call
    data: list[str]
    """The identity of each entry of linked data."""
    verdict: Literal["keep"]
    commit: str
    tree: str
    state: State
    machine: str = ""
    """Where its base ran; empty in lines of older versions."""


@dataclass(frozen=True)
class Confirmation:
    """The start of a confirmation."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    verdict: Literal["confirm"]
    commit: str
    tree: str
    state: State
    """The state after the start of all confirmations of its wave, but for `confirmations`, which counts up to it."""
    wave: list[str] = field(default_factory=list)
    """The trees of all tries of its wave, as the call named them; empty in lines of older versions: its own alone."""


@dataclass(frozen=True)
class Answered:
    """The answer to a try, as it was printed."""

    __pydantic_config__: ClassVar[ConfigDict] = FINITE

    verdict: Verdict
    difference: float
    p: Annotated[float, Field(ge=0, le=1)] | None
    alpha: Annotated[float, Field(ge=0, le=1)] | None
    confirmations: Annotated[int, Field(ge=0)]
    smallest_effect: float
    alpha_left: float
    time_ratio: Seconds | None
    changed_measures: list[str]
    notes: list[str]
    commit: str
    tree: str
    state: State


def _kind(line: object) -> str:
    """Returns the kind of a line, from its data or itself."""
    if not isinstance(line, dict):
        return str(_KIND_OF.get(type(line)))
    if "run" in line:
        return "run"
    if "failed" in line:
        return "failed"
    if "call" in line:
        return "begun"
    return "confirmation" if line.get("verdict") == "confirm" else "answer"


_KIND_OF = {Run: "run", FailedRun: "failed", Begun: "begun", Confirmation: "confirmation", Answered: "answer"}
StateLine = Begun | Confirmation | Answered
Line = Run | FailedRun | StateLine
LINE: TypeAdapter[Line] = TypeAdapter(
    Annotated[
        Annotated[Run, Tag("run")]
        | Annotated[FailedRun, Tag("failed")]
        | Annotated[Begun, Tag("begun")]
        | Annotated[Confirmation, Tag("confirmation")]
        | Annotated[Answered, Tag("answer")],
        Discriminator(_kind),
    ]
)
"""The schema of a line of any kind."""
