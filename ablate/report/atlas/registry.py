"""The registry of an atlas: a row for each claim, to be cited by its id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from ablate.base.wording import seeds_in_words
from ablate.core.facts import StudyFacts
from ablate.core.rows import frame_of_rows
from ablate.report.atlas.published import Confirmation, PublishedClaim, PublishedStudy

REGISTRY = "claims.csv"


@dataclass(frozen=True)
class RegistryRow:
    """A claim of an atlas, with the verdict of the published evidence.

    The numbers are those of the condition that decides the claim, as in the `claims.csv` of its study.
    """

    id: str
    """The study, and the beginning of the digest of the claim's words."""
    claim: str
    """The claim in the words of the study."""
    conditions: str
    """What the claim comes to in each condition, or on its one task: `name verdict; …`."""
    stands: str
    """The verdict as the page counts it: `not confirmed` or `not repeated`, else that of the first seeds."""
    verdict: str
    """`supported`, `refuted` or `inconclusive`, by the first seeds alone."""
    metric: str
    decided_by: str
    """The condition of which the numbers are or, where one number is over conditions, how they are taken together."""
    diff: float
    """Mean difference in the metric's units, above 0 if the first side is better; of time and memory the ratio − 1."""
    ci_low: float
    """Lower bound of the interval of `diff` at the level of the claim; NaN where there is none."""
    ci_high: float
    """Upper bound of the same interval."""
    level: float
    """The level at which the claim was judged, and of that interval where there is one.

    It is 95 % where the study judges one thing, and higher where several comparisons and claims share the 5 %.
    """
    n: int
    """Seeds, or processes of a measurement."""
    seeds: str
    """The seeds of the study, as `0–7` or `0, 3, 7`; empty of a measurement, and of runs that say none."""
    reason: str
    """Why the verdict is what it is, as text of `core.reason`; empty where there is nothing to say."""
    confirmation: Confirmation
    """What fresh seeds gave; empty where the claim is inconclusive."""
    repeated_in: str
    """The conditions that decide the claim and that were trained again on fresh seeds: `name; …`.

    The outcome is in `confirmation`.
    """
    declared: str
    """ISO 8601 date and time at which the first run that knew the claim dated it, before that run trained anything."""
    exploratory: bool
    """True where trials of both sides, if only those that tune, began before `declared`."""
    trained: str
    """ISO 8601 date and time at which the evidence was last collected, by when the last of its trials had ended.

    A run that trains nothing more, as after a change of the notes, collects it anew; drawing a report does not. When
    each trial ended is in the store, which is not published.
    """
    commit: str
    """Commit of the code that collected the evidence; empty where none is known.

    It ends in `-dirty` where the study, its code or ablate differed from the commit.
    """


def registry(studies: Sequence[PublishedStudy]) -> pd.DataFrame:
    """Returns the claims of studies by their ids, with the columns of `RegistryRow`."""
    rows = []
    for study in studies:
        rows += [registry_row(study, claim) for claim in study.claims]
    return frame_of_rows(rows, RegistryRow)


def registry_row(study: PublishedStudy, claim: PublishedClaim) -> RegistryRow:
    """Returns the row of a claim."""
    row = claim.row
    facts = study.facts
    return RegistryRow(
        id=claim.id,
        claim=row.claim,
        conditions="; ".join(f"{one.task} {one.verdict}" for one in claim.in_conditions),
        stands=claim.verdict,
        verdict=row.verdict,
        metric=row.metric,
        decided_by=row.task,
        diff=row.diff,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        level=claim.level,
        n=row.n,
        seeds=_seeds_of(study, claim),
        reason=row.reason,
        confirmation=claim.confirmation,
        repeated_in="; ".join(claim.repeated_in),
        declared=row.declared,
        exploratory=claim.claim.exploratory,
        trained=facts.reported,
        commit=_commit_of(facts),
    )


def _seeds_of(study: PublishedStudy, claim: PublishedClaim) -> str:
    """Returns the seeds of the study in words; empty for a claim on a measurement, and for runs that say none."""
    has_seeds = study.facts.replication.says_seeds and not claim.is_measured
    return seeds_in_words(study.facts.seeds) if has_seeds else ""


def _commit_of(facts: StudyFacts) -> str:
    """Returns the commit of the code behind some evidence; `-dirty` follows where it, or ablate, had been changed."""
    environment = facts.environment
    commit = str(environment.get("commit") or "")
    is_changed = environment.get("dirty") or environment.get("ablate_dirty")
    return f"{commit}-dirty" if commit and is_changed else commit
