"""The plan of a study as it is dated before its first trial, and how a later one differs from it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import ConfigDict

CHANGED = "changed"
ADDED = "added"
KNOWN = "known"
OF_COMPARISONS = ("metric.name", "metric.margin", "compare")
"""Settings that decide how trials are compared and not how they are trained; a claim has its own."""
_OF_CLAIMS = {"metric.target": "steps_to_target", "stress": "lr_sensitivity"}
"""Settings on which claims alone rest, with all below them → the metric that these claims are about."""


@dataclass(frozen=True)
class DatedPlan:
    """The plan of a study: what is decided before anything is trained."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    declared: str
    """ISO 8601 date and time of the first run that had this plan."""
    hash: str
    """A digest of all but the date."""
    settings: dict[str, Any]
    """What the study says of metric, margin, budget, model, task, tuning space …, with defaults: path → value."""
    variants: dict[str, dict[str, Any]]
    """Variant → path → what it has there in place of the baseline's."""
    seeds: list[int]
    """The seeds; of a sequential design, all up to the last look."""
    looks: list[int]
    """The numbers of seeds at which a sequential design looks; none where the number is fixed."""
    comparisons: int
    """M: the planned comparisons, and the claims that are none of them."""
    claims: list[dict[str, str]]
    """The claims, each with its hash, its date and whether it is exploratory."""
    known: list[str] = field(default_factory=list)
    """Variants of which the store had trials before, other than one alone."""

    @property
    def decides(self) -> bool:
        """True where verdicts could follow from it: a single seed has none."""
        return len(self.seeds) > 1


@dataclass(frozen=True)
class Change:
    """A change of a plan after results: a path of the study with its values, in words."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    path: str
    before: str
    now: str


@dataclass(frozen=True)
class PlanChanges:
    """The differences of a plan from the first of its study that had results, and what is older than both."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    first: str
    """ISO 8601 date and time of the first plan."""
    known: list[str] = field(default_factory=list)
    """Variants with results that are older than every plan of the study that has them."""
    changes: list[Change] = field(default_factory=list)
    """What holds for all variants."""
    changed: list[str] = field(default_factory=list)
    """Variants that were planned with other levels."""
    added: list[str] = field(default_factory=list)
    """Variants that were not planned."""
    dropped: list[str] = field(default_factory=list)
    """Variants that were planned and are not judged any more."""
    looked: list[str] = field(default_factory=list)
    """The seeds on which the same runs were looked at before, in words, a look or a sequential design each."""
    level: float | None = None
    """The probability of a false verdict at a nominal 0.05 that these looks have together; None without any."""
    chosen: bool = False
    """Whether the seeds were chosen from those whose results were known; `level` is that of the best choice."""

    def changes_path(self, path: str) -> bool:
        """Returns whether a setting, or `seeds`, is not that of the first plan."""
        return any(change.path == path for change in self.changes)

    def mark(self, variants: Collection[str], claimed: str = "") -> str:
        """Returns `added`, `changed`, `known` or nothing for a comparison of variants, or a claim on a metric.

        claimed: the metric of a claim; empty for a comparison.
        """
        if not {*self.added}.isdisjoint(variants):
            return ADDED
        is_touched = any(_touches(change.path, claimed) for change in self.changes)
        if is_touched or not {*self.changed}.isdisjoint(variants):
            return CHANGED
        # A claim is dated by itself.
        is_known = not claimed and not {*self.known}.isdisjoint(variants)
        return KNOWN if is_known else ""


def _touches(path: str, claimed: str) -> bool:
    """Returns whether comparisons, or claims on the metric `claimed`, rest on the setting at a path."""
    for of_claims, metric in _OF_CLAIMS.items():
        if f"{path}.".startswith(f"{of_claims}."):
            return claimed == metric
    return not claimed or path not in OF_COMPARISONS
