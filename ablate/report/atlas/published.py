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
from ablate.core.names import CONDITION, confirmed, confirming, stem
from ablate.records.folder import TRENDS, StudyFolder
from ablate.report.summary import Spent, spent
from ablate.report.words import Row

Confirmation = Literal["", "measured", "confirmed", "not confirmed", "not repeated"]
"""The outcome of fresh seeds for a claim.

Empty of one that is inconclusive; `measured` of one on time or memory, which no seed changes.
"""
NOT_CONFIRMED: Literal["not confirmed"] = "not confirmed"
"""The word for a claim that was decided once, and otherwise on fresh seeds."""
NOT_REPEATED: Literal["not repeated"] = "not repeated"
"""The word for a claim that was decided once, where nothing that decides it was trained again."""
DECIDED_ONCE = (NOT_CONFIRMED, NOT_REPEATED)
"""The outcomes of fresh seeds that take the place of a verdict."""
DIGITS = 6
"""Digits of a claim's digest in its id: a place among the claims would change with the claims around it."""


@dataclass(frozen=True)
class PublishedClaim:
    """A claim as the published evidence judges it, with what repeating its study on fresh seeds gave."""

    id: str
    """The study, and the beginning of the digest of the claim's words: `16-cross.2777f7`."""
    claim: Claim
    row: ClaimRow
    level: float
    """The level at which the claim was judged; see `JudgedClaim.level`."""
    in_conditions: Sequence[ClaimRow]
    """The claim in each condition, or on the one task, that it is judged in."""
    fresh_verdicts: Mapping[str, str]
    """Condition → the verdict of the claim there on fresh seeds, of those that were trained again."""

    @property
    def repeated_in(self) -> list[str]:
        """The conditions that decide the claim and that were trained again on fresh seeds; none of an open claim.

        Every condition decides a claim that is supported; of one that is refuted, those do that refute it.
        """
        if self.row.verdict == "inconclusive":
            return []
        deciding = [row.task for row in self.in_conditions if row.verdict == self.row.verdict]
        return [condition for condition in deciding if condition in self.fresh_verdicts]

    @property
    def confirmation(self) -> Confirmation:
        """The outcome of fresh seeds in the conditions of `repeated_in`.

        A supported claim is confirmed if all of them support it again, a refuted one if any refutes it again, each by
        its own verdict.
        """
        if self.row.verdict == "inconclusive":
            return ""
        if self.is_measured:
            return "measured"
        is_again = [self.fresh_verdicts[condition] == self.row.verdict for condition in self.repeated_in]
        if not is_again:
            return NOT_REPEATED
        suffices = all if self.row.verdict == "supported" else any
        return "confirmed" if suffices(is_again) else NOT_CONFIRMED

    @property
    def verdict(self) -> str:
        """The verdict of the first seeds, or one of `DECIDED_ONCE` where that is what `confirmation` says."""
        return self.confirmation if self.confirmation in DECIDED_ONCE else self.row.verdict

    @property
    def is_measured(self) -> bool:
        """True of a claim on time or memory, which no training decides."""
        return is_measured(self.claim)


@dataclass(frozen=True)
class PublishedRun:
    """A run behind a card, with what its trials cost."""

    name: str
    """The name of its report."""
    command: str
    """Empty where none was kept."""
    spent: Spent


@dataclass(frozen=True)
class PublishedStudy:
    """A study that makes claims, with its run and those of its confirmation."""

    facts: StudyFacts
    claims: Sequence[PublishedClaim]
    trends: Sequence[Row]
    """The trends along a number of its conditions; none where nothing orders them."""
    run: PublishedRun
    confirming_runs: Sequence[PublishedRun]
    """The runs of its confirmation; several where each has trained other conditions."""
    repeated: Sequence[RepeatedVerdict]
    """The comparisons that its confirmation has judged again, once in each condition."""

    @property
    def repeats_verdict(self) -> bool:
        """True where fresh seeds have given some decided comparison again."""
        return any(one.repeats and (one.is_difference or one.is_equivalence) for one in self.repeated)


ClaimsOfStudies = Sequence[tuple[PublishedStudy, PublishedClaim]]
"""Claims, each with the study that makes it."""


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
    confirmations = _confirmations_of(folder)
    return PublishedStudy(
        facts=evidence.facts,
        claims=_published_claims(evidence, confirmations),
        trends=folder.beside(TRENDS),
        run=_published_run(evidence),
        confirming_runs=[_published_run(confirmation) for confirmation in confirmations],
        repeated=[] if evidence.only_measured else _all_repeated(evidence, confirmations),
    )


def _published_run(evidence: Evidence) -> PublishedRun:
    """Returns the run that left some evidence."""
    facts = evidence.facts
    return PublishedRun(facts.study, facts.environment.get("command") or "", spent(evidence))


def _confirmations_of(folder: StudyFolder) -> list[Evidence]:
    """Returns the evidence of the confirmation of a study.

    That is `x@confirm`; without it, the runs of some conditions, as `x@confirm,condition=A`, that together cover all
    that were trained again. A run that differs in anything else takes no part.
    """
    whole = StudyFolder(folder.results, confirming(folder.name))
    if whole.has_report:
        return [whole.evidence()]
    conditions_of: dict[str, set[str]] = {}
    for other in StudyFolder.all(folder.results):
        if not other.has_report or confirmed(other.name) != folder.name:
            continue
        # The name of a folder cuts a long list of conditions short.
        differences = other.facts().plan.differs
        if all(difference.startswith(CONDITION) for difference in differences):
            conditions_of[other.name] = {*differences}

    return [StudyFolder(folder.results, name).evidence() for name in _covering(conditions_of)]


def _covering(conditions_of: Mapping[str, set[str]]) -> list[str]:
    """Returns runs that together have every condition: those with most first, each only if it adds one.

    conditions_of: run → the conditions that it has trained.
    """
    covered: set[str] = set()
    runs = []
    for name, conditions in sorted(conditions_of.items(), key=lambda item: -len(item[1])):
        if not conditions <= covered:
            covered |= conditions
            runs.append(name)
    return runs


def _all_repeated(evidence: Evidence, confirmations: Sequence[Evidence]) -> list[RepeatedVerdict]:
    """Returns the comparisons that the runs of a confirmation have judged again, once in each condition."""
    by_comparison: dict[tuple[str, str, str], RepeatedVerdict] = {}
    for again in confirmations:
        for repeated in repeated_verdicts(evidence, again):
            by_comparison.setdefault(repeated.first.comparison, repeated)
    return [*by_comparison.values()]


def _published_claims(evidence: Evidence, confirmations: Sequence[Evidence]) -> list[PublishedClaim]:
    """Returns the claims of a study with their ids; where its evidence has only speed, those on time and memory.

    confirmations: the evidence of fresh seeds.
    """
    repeated: dict[str, list[JudgedClaim]] = {}
    for again in confirmations:
        for judged in judged_claims(runs_of(again)):
            repeated.setdefault(judged.claim.hash, []).append(judged)
    claims = []
    for judged in judged_claims(runs_of(evidence)):
        if evidence.only_measured and not is_measured(judged.claim):
            continue
        claims.append(
            PublishedClaim(
                id=f"{evidence.facts.study}.{judged.claim.hash[:DIGITS]}",
                claim=judged.claim,
                row=judged.row(),
                level=judged.level,
                in_conditions=judged.rows_in_conditions(),
                fresh_verdicts=_verdicts_by_condition(repeated.get(judged.claim.hash, [])),
            )
        )
    return claims


def _verdicts_by_condition(repeated: Sequence[JudgedClaim]) -> dict[str, str]:
    """Returns condition → verdict of a claim there, as the first run of a confirmation that trained it judges it."""
    verdicts: dict[str, str] = {}
    for again in repeated:
        for row in again.rows_in_conditions():
            if row.n:
                verdicts.setdefault(row.task, row.verdict)
    return verdicts
