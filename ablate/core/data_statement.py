"""Statements of a study about the data of a user's own code; nothing else is known of these data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from pydantic import ConfigDict

NOT_STATED: Final = "not_stated"
HELD_OUT: Final = "held_out"
FIXED: Final = "fixed"
EACH_SEED: Final = "each_seed"
HeldOut = Literal["not_stated", "held_out"]
"""held_out: the test examples are the same for every seed, and no run trains, tunes or stops on them."""
Split = Literal["not_stated", "fixed", "each_seed"]
"""fixed: all seeds share one division of the data; each_seed: every seed has its own."""


@dataclass(frozen=True)
class DataStatement:
    """Statements of a study about its test examples, and about how data are divided.

    Analysis takes the test examples as shared by all seeds.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    test: HeldOut = NOT_STATED
    split: Split = NOT_STATED
    by: str = ""
    """The metric at whose best step the judged metric counts; empty where its last value counts."""
