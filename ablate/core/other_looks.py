"""Looks at the same question beside a report: other runs, trainings that do not count, earlier analyses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import ConfigDict

# Kept facts with another key are of another version: a key that was renamed would load as nothing.
_NO_OTHER_KEYS = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class SupersededRuns:
    """The trainings of a variant that do not count: trained again, or failed on seeds that are left out."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    failed: int
    replaced: int  # They had a result, and those that count have another.
    # Task → the seeds of the replaced trainings, one for each; empty in folders of older versions.
    replaced_on: dict[str, list[int]] = field(default_factory=dict)
    # The seeds that the report leaves out and on which the variant failed.
    failed_on: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class LookedAt:
    """An earlier analysis of the same runs."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    report: str  # The name of its report; empty where none was kept.
    differs: list[str]  # How its call differs from this one: `margin=0.03`.
    verdicts: list[str]  # Each in words: `gelu better`.


@dataclass(frozen=True)
class RunChoice:
    """The part of the seen variants, seeds or runs that an analysis keeps."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    what: Literal["variants", "seeds", "runs"]
    kept: int  # Of variants, without the baseline.
    seen: int
    # The probability that the best choice shows a false `better`; None where it has no bound.
    rate: float | None


@dataclass(frozen=True)
class EarlierCalls:
    """The earlier analyses of the same runs, under another metric, margin, baseline, filter or step."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    looks: list[LookedAt] = field(default_factory=list)
    # The most that a false `better` or `worse` in any of them can have, at a nominal 0.05 each; None where all test
    # the same.
    level: float | None = None
    # What of the seen variants and seeds is kept, where some are left out.
    choices: list[RunChoice] = field(default_factory=list)


@dataclass(frozen=True)
class OtherRuns:
    """Other runs of the variants of a report, which are not counted."""

    __pydantic_config__: ClassVar[ConfigDict] = _NO_OTHER_KEYS

    folders: list[str] = field(default_factory=list)
    """The names of other reports."""
    seeds: list[int] = field(default_factory=list)
    """Seeds of trials in the store that are in no report."""
    retrained: list[int] = field(default_factory=list)
    """Seeds of the report for which the store has more trials, with other code, data or versions."""
    shared: list[str] = field(default_factory=list)
    """The names of further reports by runs of this report, as by those of its baseline."""
    comparisons: int = 0
    """The number of comparisons by runs of this report, or of its variants, its own among them; 0 without any other."""
    level: float | None = None
    """The probability that any of these, at a nominal 0.05 a report, gives a false verdict; None without any other."""

    def __or__(self, other: OtherRuns) -> OtherRuns:
        """Returns the other runs of both; `other` is the later one."""
        more = self if self.comparisons > other.comparisons else other
        # What a report has was other runs before, and is the same ones now, where runs were trained again.
        earlier = [name for name in self.folders if name not in other.shared]
        folders = list(dict.fromkeys([*earlier, *other.folders]))
        shared = list(dict.fromkeys([*self.shared, *other.shared]))
        return OtherRuns(
            folders=folders,
            seeds=sorted({*self.seeds, *other.seeds}),
            retrained=sorted({*self.retrained, *other.retrained}),
            shared=[name for name in shared if name not in folders],
            comparisons=more.comparisons,
            level=more.level,
        )
