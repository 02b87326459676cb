"""The dates of claims, given before the first trial; and claims that wait for a verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ablate.base.process import now
from ablate.core.derived import is_measured
from ablate.core.facts import Claim
from ablate.core.trial import Cell
from ablate.pipeline.preregister.dated_plans import date_plan
from ablate.records.folder import StudyFolder
from ablate.records.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from ablate.session.session import Session
    from ablate.session.stage import Stage
    from ablate.study.study import Study

WAITING = "not judged yet"


def preregister(study: Study, stages: Sequence[Stage], session: Session) -> tuple[list[Claim], str]:
    """Dates the plan of a study and its claims before training, and marks new claims on known results as post hoc.

    Returns the claims, and the last of the dates, before which no trial begins. `plan_trials` also marks those whose
    sides were trained before.
    """
    post_hoc_metrics = _post_hoc_metrics(study, stages, session.folder, session.store)
    trained = trained_variants(study, session.store)
    claims = date_claims(session.folder, study.claims, post_hoc_metrics, trained)
    plan = date_plan(study, claims, session)
    declared = max([plan.declared, *(claim.declared for claim in claims)])
    return claims, declared


def as_preregistered(study: Study, stages: Sequence[Stage], folder: StudyFolder, store: Store) -> list[Claim]:
    """Returns the claims of a study with the dates and marks that a run would give them now; writes nothing."""
    post_hoc_metrics = _post_hoc_metrics(study, stages, folder, store)
    dated = _dated(folder, study.claims, post_hoc_metrics, trained_variants(study, store))
    return mark_post_hoc(dated, study.cells(), store)


def _post_hoc_metrics(study: Study, stages: Sequence[Stage], folder: StudyFolder, store: Store) -> set[str]:
    """Returns the metrics of which stages have results, so that a new claim on them is post hoc."""
    choosing = [stage for stage in stages if stage.chooses]
    post_hoc_metrics: set[str] = set()
    # Where variants are still to be chosen, no other stage can have results on them.
    for stage in choosing or stages:
        if not stage.has_results(study, folder, store):
            continue
        post_hoc_metrics |= stage.metrics
        if stage.chooses:  # what it chooses decides every claim
            post_hoc_metrics |= {claim.metric for claim in study.claims}
    return post_hoc_metrics


def trained_variants(study: Study, store: Store) -> set[str]:
    """Returns the variants of which the store has a trial, whichever study trained it.

    Empty for a study without claims, which alone are dated by it.
    """
    if not study.claims:
        return set()
    return {cell.variant for cell in study.cells() if store.has(cell.id)}


def date_claims(
    folder: StudyFolder,
    claims: Sequence[Claim],
    post_hoc_metrics: Collection[str],
    trained: Collection[str] = (),
) -> list[Claim]:
    """Returns claims with their dates: the first that a report of the study knows, else now.

    A new claim is exploratory where it could have been read from results: trials of the study were reported, its metric
    is among `post_hoc_metrics`, each of its sides is among the `trained` variants, or it is about what is measured and
    measurements were reported. No date tells of that: the clock may have been set back. `mark_post_hoc` marks those
    whose sides are found to have been trained when variants are chosen.

    claims: all of the study, also those that a run cannot settle. New ones are written before any trial is trained;
    those that the study no longer makes are removed.
    """
    dated = _dated(folder, claims, post_hoc_metrics, trained)
    written = {row["hash"]: row for row in folder.claims()}
    if written.keys() != {claim.hash for claim in claims}:
        _write(folder, dated, written)
    return dated


def _dated(
    folder: StudyFolder, claims: Sequence[Claim], post_hoc_metrics: Collection[str], trained: Collection[str]
) -> list[Claim]:
    """Returns claims with their dates, exploratory where they could have been read from results."""
    folders = folder.of_study()
    first_rows = _first_rows(folders)
    has_report = any(each.has_report for each in folders)
    has_trials = any(each.has_trials for each in folders)
    dated: list[Claim] = []
    for claim in claims:
        row = first_rows.get(claim.hash)
        if row is not None:
            is_exploratory = row["exploratory"] == "True"
            dated.append(replace(claim, declared=row["declared"], exploratory=is_exploratory))
            continue
        is_known = has_report if is_measured(claim) else _has_sides_among(claim, trained)
        has_results = has_trials or is_known or claim.metric in post_hoc_metrics
        dated.append(replace(claim, declared=now(), exploratory=has_results))
    return dated


def _first_rows(folders: Sequence[StudyFolder]) -> dict[str, Mapping[str, str]]:
    """Returns, by the hash of a claim, the row in which it has its first date, of claims no longer made too."""
    rows: list[dict[str, str]] = []
    for folder in folders:
        rows += folder.claims()
        for plan in folder.plans():
            rows += plan.claims
    first_rows: dict[str, Mapping[str, str]] = {}
    for row in sorted(rows, key=lambda row: row["declared"]):
        first_rows.setdefault(row["hash"], row)
    return first_rows


def _write(folder: StudyFolder, dated: Sequence[Claim], written: Mapping[str, Mapping[str, str]]) -> None:
    """Writes claims with their dates, and keeps the rows of those that the folder has already."""
    rows: list[dict[str, object]] = []
    for claim in dated:
        row: dict[str, object] = {"reason": WAITING}
        if claim.hash in written:
            row = {**written[claim.hash]}
        row |= {"claim": claim.text, "hash": claim.hash}
        row |= {"declared": claim.declared, "exploratory": claim.exploratory}
        rows.append(row)
    folder.write_claims(rows)


def mark_post_hoc(claims: Sequence[Claim], cells: Sequence[Cell], store: Store) -> list[Claim]:
    """Returns claims, exploratory where trials of each side began before the claim was declared.

    Whichever study trained them, the claim could have been read from them.
    """
    if not claims:
        return []
    first_starts: dict[str, str] = {}  # variant → when the first of its trials began
    for cell in cells:
        record = store.load(cell.trial)
        if record is not None:
            first_start = first_starts.get(cell.variant, record.started_at)
            first_starts[cell.variant] = min(first_start, record.started_at)
    return [
        replace(claim, exploratory=claim.exploratory or _follows_trials(claim, first_starts))
        for claim in claims
    ]


def _follows_trials(claim: Claim, first_starts: Mapping[str, str]) -> bool:
    """Returns whether a trial of each side of a claim began before the claim was declared."""
    begun = [variant for variant, start in first_starts.items() if start < claim.declared]
    return _has_sides_among(claim, begun)


def _has_sides_among(claim: Claim, variants: Collection[str]) -> bool:
    """Returns whether each side of a claim has one of these variants; a constant of the task is not trained."""
    sides = [side for side in claim.sides if side != [claim.constant]]
    return all(not set(side).isdisjoint(variants) for side in sides)


def with_waiting(judged: pd.DataFrame, folder: StudyFolder) -> pd.DataFrame:
    """Returns judged claims, then those of the folder that were not judged, which keep their dates."""
    import pandas as pd  # which a run needs only for its report

    hashes = set(judged["hash"])
    waiting: list[dict[str, str]] = []
    for row in folder.claims():
        if row["hash"] not in hashes:
            kept = {name: row[name] for name in ("claim", "hash", "declared", "exploratory")}
            waiting.append(kept | {"reason": WAITING})
    # As objects, so that a number that some lack stays whole.
    return pd.DataFrame([*judged.to_dict("records"), *waiting], columns=judged.columns, dtype=object)
