"""The plan of a study as it is dated before its first trial, and the differences of a later plan."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import ConfigDict

from ablate.base.files import digest_of_data

CHANGED = "changed"
ADDED = "added"
KNOWN = "known"
OF_COMPARISONS = ("metric.name", "metric.margin", "compare")
"""Settings that decide how trials are compared, not how they are trained; a claim states its own."""
OF_VERDICTS = ("over", "scale", "family")
"""Settings that, with all below them, decide how verdicts are made of conditions and share the level; claims too."""
OF_TRENDS = "along"
"""The setting of trends, which no other verdict depends on; a claim on a trend names it."""
OF_CLAIMS = {"metric.target": "steps_to_target", "stress": "lr_sensitivity"}
"""Setting on which, with all below it, only claims depend → the metric of these claims."""

_OF_CLAIM = {"claim", "hash", "declared", "exploratory"}


@dataclass(frozen=True)
class DatedPlan:
    """The plan of a study: what is decided before anything is trained."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    declared: str
    """ISO 8601 date and time of the first run that had this plan."""
    hash: str
    """A digest of all but the date."""
    settings: dict[str, Any]
    """Path → value of metric, margin, budget, model, task, tuning space and so on, with defaults."""
    variants: dict[str, dict[str, Any]]
    """Variant → path → its level there, in place of the baseline's."""
    seeds: list[int]
    """The seeds; in a sequential design, all seeds up to the last look."""
    looks: list[int]
    """The numbers of seeds at which a sequential design looks; empty where the number is fixed."""
    comparisons: int
    """M: the number of planned comparisons, and of claims that are not among them."""
    claims: list[dict[str, str]]
    """The claims, each with its hash, its date and whether it is exploratory."""
    known: list[str] = field(default_factory=list)
    """Variants with more than one trial in the store before this plan was dated."""
    conditions: list[str] = field(default_factory=list)
    """The conditions, or tasks, of the study on which alone it is judged; empty: all."""

    def shares_conditions(self, other: DatedPlan) -> bool:
        """Returns whether some condition is judged under both plans, so that they may share trials."""
        return not (self.conditions and other.conditions) or not {*self.conditions}.isdisjoint(
            other.conditions
        )

    @property
    def is_whole(self) -> bool:
        """True where nothing that is planned was edited since."""
        return all(claim.keys() == _OF_CLAIM for claim in self.claims) and self.hash == self.digest

    @property
    def digest(self) -> str:
        """The digest of what is planned now: `hash`, unless the plan was edited after it was dated."""
        content = {
            "settings": self.settings,
            "variants": self.variants,
            "seeds": self.seeds,
            "looks": self.looks,
            "comparisons": self.comparisons,
        }
        if self.conditions:  # Plans of whole studies stay as they were dated.
            content["conditions"] = self.conditions
        return digest_of_data([content, sorted(claim["hash"] for claim in self.claims)])

    @property
    def decides(self) -> bool:
        """True where verdicts can follow from the plan: a single seed has none."""
        return len(self.seeds) > 1


@dataclass(frozen=True)
class Change:
    """A change of a plan after results: a path of the study, and its value before and now, in words."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    path: str
    before: str
    now: str


@dataclass(frozen=True)
class PlanChanges:
    """The differences of a plan from the first of its study that had results, and results older than both."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    first: str
    """ISO 8601 date and time of that first plan."""
    known: list[str] = field(default_factory=list)
    """Variants that had results before any plan listed them."""
    changes: list[Change] = field(default_factory=list)
    """The changes that concern all variants."""
    changed: list[str] = field(default_factory=list)
    """Variants that were planned with other levels."""
    added: list[str] = field(default_factory=list)
    """Variants that were not planned."""
    dropped: list[str] = field(default_factory=list)
    """Variants that were planned and are no longer judged."""
    looked: list[str] = field(default_factory=list)
    """The seeds of earlier looks at the same variants, in words: one entry for each look or sequential design."""
    level: float | None = None
    """The probability that any of these looks, at a nominal 0.05, gives a false verdict; None without a look."""
    chosen: bool = False
    """True where the seeds are a choice among seeds with results; `level` is then the error rate of the best choice."""
    num_chosen: int = 0
    """The number of seeds that were chosen, where `level` is of choices of this size; 0 where of three or more."""

    def changes_path(self, path: str) -> bool:
        """Returns whether a setting, or `seeds`, differs from the first plan."""
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
        # A claim has a date of its own.
        is_known = not claimed and not {*self.known}.isdisjoint(variants)
        return KNOWN if is_known else ""


def trains_nothing(path: str) -> bool:
    """Returns whether the setting at a path decides how trials are compared, and nothing of how they are trained."""
    return path.partition(".")[0] in (*OF_VERDICTS, OF_TRENDS) or path in OF_COMPARISONS


def _touches(path: str, claimed: str) -> bool:
    """Returns whether comparisons, or claims on the metric `claimed`, depend on the setting at a path."""
    if path == OF_TRENDS:
        return False
    for of_claims, metric in OF_CLAIMS.items():
        if f"{path}.".startswith(f"{of_claims}."):
            return claimed == metric
    return not claimed or path not in OF_COMPARISONS
