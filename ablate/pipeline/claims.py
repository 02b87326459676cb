"""Claims: their dates, which they get before the first trial, and whether they let a report pass `--gate`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ablate.base.process import now
from ablate.core.derived import is_measured
from ablate.core.facts import Claim
from ablate.core.trial import Cell
from ablate.records.folder import StudyFolder
from ablate.records.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from ablate.session.session import Session
    from ablate.session.stage import Stage
    from ablate.study.study import Study

WAITING = "not judged yet"
# Exit codes; a refuted claim wins over one that is open.
REFUTED, OPEN = 1, 3


def date_claims(folder: StudyFolder, claims: Sequence[Claim], measured: Collection[str]) -> list[Claim]:
    """The claims with their dates: the first that the folder knows, else now.

    `claims` are all of the study, also those that a run cannot settle. A claim that is new while there are results
    that it could have been read from is exploratory: the study has been reported (if only measured, one about what is
    measured), or its metric was `measured`; or, as `mark_post_hoc` tells, its sides have been trained.
    New claims are written before any trial is trained; claims that the study no longer makes are removed.
    """
    own = {row["hash"]: row for row in folder.claims()}
    # Runs that differ from a study make its claims too: the first of all dates counts.
    main = folder.written or folder
    beside = (e for e in StudyFolder.all(folder.results) if e.written and e.written.name == main.name)
    before = list({each.name: each for each in (main, folder, *beside)}.values())
    rows = sorted((row for each in before for row in each.claims()), key=lambda row: row["declared"])
    known = {row["hash"]: row for row in reversed(rows)}
    reported = any(each.has_report for each in before)
    tried = any(each.has_trials for each in before)
    dated = []
    for claim in claims:
        row = known.get(claim.hash)
        known_by_now = claim.metric in measured or (reported and is_measured(claim))
        dated.append(
            replace(
                claim,
                declared=row["declared"] if row else now(),
                exploratory=row["exploratory"] == "True" if row else (tried or known_by_now),
            )
        )
    if own.keys() != {claim.hash for claim in claims}:
        folder.write_claims(
            [
                own.get(claim.hash, {"reason": WAITING})
                | {"claim": claim.text, "hash": claim.hash}
                | {"declared": claim.declared, "exploratory": claim.exploratory}
                for claim in dated
            ]
        )
    return dated


def preregister(study: Study, stages: Sequence[Stage], session: Session) -> list[Claim]:
    """Dates the claims of a study before anything is trained; new ones on what is known are post hoc."""
    selecting = [stage for stage in stages if stage.selects]
    post_hoc_metrics: set[str] = set()
    # Of variants that are still to be selected nothing is measured.
    for stage in selecting or stages:
        if not stage.has_results(study, session):
            continue
        post_hoc_metrics |= stage.metrics
        if stage.selects:  # what it chooses decides every claim
            post_hoc_metrics |= {claim.metric for claim in study.claims}
    return date_claims(session.folder, study.claims, post_hoc_metrics)


def mark_post_hoc(claims: Sequence[Claim], cells: Sequence[Cell], store: Store) -> list[Claim]:
    """The claims; one is exploratory, too, where trials among `cells` of each of its sides began before its date.

    Whichever study trained them, it could have been read from them.
    """
    loaded = ((cell.variant, store.load(cell.trial)) for cell in cells if claims)
    began = [(variant, record.started_at) for variant, record in loaded if record is not None]
    return [
        replace(
            claim,
            exploratory=claim.exploratory
            or all(
                any(name in side and at < claim.declared for name, at in began)
                for side in claim.sides
                if side != [claim.constant]
            ),
        )
        for claim in claims
    ]


def with_waiting(judged: pd.DataFrame, folder: StudyFolder) -> pd.DataFrame:
    """Judged claims, and those of the folder that this evidence cannot settle: their dates are kept."""
    import pandas as pd  # Of which a gate has no need.

    kept, known = ("claim", "hash", "declared", "exploratory"), set(judged["hash"])
    rows = [
        {name: row[name] for name in kept} | {"reason": WAITING}
        for row in folder.claims()
        if row["hash"] not in known
    ]
    # As objects, so that a number that some lack stays whole.
    return pd.DataFrame([*judged.to_dict("records"), *rows], columns=judged.columns, dtype=object)


def pass_gate(claims: Sequence[Mapping[str, str]], *, strict: bool) -> tuple[int, list[str]]:
    """The exit code that the rows of `claims.csv` ask for, and a line for each claim that does.

    Exploratory claims count like the others: a build that rests on a claim should not pass because the claim came late.
    With `strict`, one that is incomplete or not judged yet is as open as an inconclusive one.
    """
    if not claims:
        return 0, ["note: the study makes no claim that could be refuted."]
    refuted = [row for row in claims if row["verdict"] == "refuted"]
    still_open = [row for row in claims if strict and row["verdict"] not in ("supported", "refuted")]
    lines = [
        f"{row['verdict'] or row['reason']}{' (exploratory)' * (row['exploratory'] == 'True')}: {row['claim']}"
        for row in (*refuted, *still_open)
    ]
    return REFUTED if refuted else OPEN if still_open else 0, lines
