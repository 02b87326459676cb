"""The studies of an atlas as their published evidence judges them, each with its confirmation on fresh seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ablate.analysis.claim_row import ClaimRow
from ablate.analysis.claims import judged_claims
from ablate.analysis.judged_claim import JudgedClaim
from ablate.analysis.replication import RepeatedVerdict, repeated_verdicts
from ablate.analysis.runs import runs_of
from ablate.base.errors import AblateError
from ablate.core.derived import is_measured
from ablate.core.facts import Claim, Evidence, StudyFacts
from ablate.core.names import confirmed, confirming, difference, stem
from ablate.records.folder import TRENDS, StudyFolder
from ablate.report.summary import Spent, spent
from ablate.report.tables.verdicts import planned_rows
from ablate.report.words import Row

Confirmation = Literal["", "measured", "confirmed", "not confirmed", "not repeated"]
"""What fresh seeds gave for a claim.

Empty of one that is inconclusive; `measured` of one on time or memory, which no seed changes.
"""
NOT_CONFIRMED: Literal["not confirmed"] = "not confirmed"
"""The word on the page for a claim that was decided once, and not again on fresh seeds."""
DIGITS = 6
"""Digits of a claim's digest in its id: a place among the claims would change with the claims around it."""
_IN_CONDITION = "condition="
"""Begins the part of a report's name that says which condition alone was trained."""


@dataclass(frozen=True)
class PublishedClaim:
    """A claim as the published evidence judges it, with what repeating its study on fresh seeds gave."""

    id: str
    """The study, and the beginning of the digest of the claim's words: `04-order.3fa2c1`."""
    claim: Claim
    row: ClaimRow
    in_conditions: Sequence[ClaimRow]
    """The claim in each condition, or on the one task, that it is judged in."""
    confirmation: Confirmation

    @property
    def verdict(self) -> str:
        """The verdict that repeating it left: one that fresh seeds did not give again is `not confirmed`."""
        if self.confirmation in (NOT_CONFIRMED, "not repeated"):
            return NOT_CONFIRMED
        return self.row.verdict


@dataclass(frozen=True)
class PublishedStudy:
    """A study that makes claims, with its cost, and that of its confirmation."""

    facts: StudyFacts
    claims: Sequence[PublishedClaim]
    rows: Sequence[Row]
    """The planned comparisons of its report."""
    trends: Sequence[Row]
    """The trends along a number of its conditions; none where nothing orders them."""
    spent: Spent
    spent_again: Spent
    """The cost of its confirmation; nothing where there is none."""
    repeated: Sequence[RepeatedVerdict]
    """The comparisons that its confirmation has judged again."""


def published_studies(results: Path) -> list[PublishedStudy]:
    """Returns the studies in a folder of reports that make claims, by name."""
    studies = []
    for folder in StudyFolder.all(results):
        if folder.has_report and stem(folder.name) == folder.name:
            study = published_study(folder)
            if study.claims:
                studies.append(study)
    return studies


def published_study(folder: StudyFolder) -> PublishedStudy:
    """Returns a study as its evidence judges it, with its confirmation. Raises `AblateError`."""
    evidence = folder.evidence()
    name = evidence.facts.study
    if name != folder.name:
        raise AblateError(
            f"{folder.path}: holds the report of {name}, by whose name its claims are cited; "
            f"call the folder {name}, or move it out of {folder.results}"
        )
    again = _confirmation_of(folder)
    return PublishedStudy(
        facts=evidence.facts,
        claims=_published_claims(evidence, again),
        rows=planned_rows(folder.comparisons()),
        trends=folder.beside(TRENDS),
        spent=spent(evidence),
        spent_again=Spent(0, 0.0) if again is None else spent(again),
        repeated=[] if again is None or evidence.only_measured else repeated_verdicts(evidence, again),
    )


def _confirmation_of(folder: StudyFolder) -> Evidence | None:
    """Returns the evidence of the confirmation of a study, whole or in some conditions; None where there is none."""
    whole = StudyFolder(folder.results, confirming(folder.name))
    if whole.has_report:
        return whole.evidence()
    for other in StudyFolder.all(folder.results):
        items = difference(other.name).split(",")
        in_conditions = all(item.startswith(_IN_CONDITION) for item in items[1:])
        if other.has_report and confirmed(other.name) == folder.name and in_conditions:
            return other.evidence()
    return None


def _published_claims(evidence: Evidence, again: Evidence | None) -> list[PublishedClaim]:
    """Returns the claims of a study with their ids, but for those that wait for a training."""
    repeated: dict[str, JudgedClaim] = {}
    if again is not None:
        repeated = {judged.claim.hash: judged for judged in judged_claims(runs_of(again))}
    claims = []
    for judged in judged_claims(runs_of(evidence)):
        if evidence.only_measured and not is_measured(judged.claim):
            continue
        claims.append(
            PublishedClaim(
                id=f"{evidence.facts.study}.{judged.claim.hash[:DIGITS]}",
                claim=judged.claim,
                row=judged.row(),
                in_conditions=judged.rows_in_conditions(),
                confirmation=_confirmation(judged, repeated),
            )
        )
    return claims


def _confirmation(judged: JudgedClaim, repeated: Mapping[str, JudgedClaim]) -> Confirmation:
    """Returns what fresh seeds gave for a claim, in the conditions that decided it and were trained again.

    repeated: digest of a claim → the claim as the confirmation judges it.
    """
    if judged.row().verdict == "inconclusive":
        return ""
    if is_measured(judged.claim):
        return "measured"
    again = repeated.get(judged.claim.hash)
    if again is None:
        return "not repeated"
    verdicts = {row.task: row.verdict for row in again.rows_in_conditions() if row.n}
    decided = [row for row in judged.rows_in_conditions() if row.verdict != "inconclusive"]
    trained = [row for row in decided if row.task in verdicts]
    if not trained:
        return "not repeated"
    is_same = all(verdicts[row.task] == row.verdict for row in trained)
    return "confirmed" if is_same else NOT_CONFIRMED
