"""What a study states of the data of code that is not ours; nothing else is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, Protocol, runtime_checkable

from pydantic import ConfigDict

NOT_STATED: Final = "not_stated"
HELD_OUT: Final = "held_out"
FIXED: Final = "fixed"
EACH_SEED: Final = "each_seed"
# The test examples are the same for every seed, and none trains, tunes or stops on them.
HeldOut = Literal["not_stated", "held_out"]
# Whether every seed divides the data in one way, or each in its own.
Split = Literal["not_stated", "fixed", "each_seed"]


@dataclass(frozen=True)
class DataStatement:
    """What a study says of its test examples, and of how data are divided; analysis takes them as shared by seeds."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    test: HeldOut = NOT_STATED
    split: Split = NOT_STATED
    by: str = ""  # The metric at whose best step the judged one counts; empty where its last value does.


@runtime_checkable
class StatesData(Protocol):
    """A workload that does not see its data: what is known of them is what the study states."""

    def stated(self, config: Mapping[str, Any], judged: str) -> DataStatement:
        """Returns what the study states of its data, and the metric at whose best step the `judged` one counts."""
