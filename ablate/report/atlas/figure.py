"""The data of the figure of an atlas: claims in the order of their verdicts, and the conditions of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pandas as pd

from ablate.core.derived import DERIVED
from ablate.core.facts import Claim, StudyFacts
from ablate.core.metric import Metric, plain
from ablate.core.short_names import short_claim
from ablate.report.atlas.published import DECIDED_ONCE, PublishedClaim, PublishedStudy
from ablate.report.figures.theme import EXPLORATORY
from ablate.report.tables.directions import is_share
from ablate.report.words import difference, message, text

ORDER = ("refuted", "supported", *DECIDED_ONCE, "inconclusive")
"""Verdicts in the order of the page: what contradicts the field comes first."""


def figure_rows(claims: Sequence[tuple[PublishedStudy, PublishedClaim]]) -> pd.DataFrame:
    """Returns the claims on shares of 1 as `figures.atlas` draws them, grouped by their verdicts."""
    rows = []
    for verdict in ORDER:
        of_verdict = [pair for pair in claims if pair[1].verdict == verdict]
        shown = [(study, claim) for study, claim in of_verdict if is_on_axis(study.facts, claim)]
        for study, claim in shown:
            rows.append(
                _figure_row(study, claim) | {"group": f"{verdict}: {len(shown)} of {len(of_verdict)}"}
            )
    return pd.DataFrame(rows)


def is_on_axis(facts: StudyFacts, claim: PublishedClaim) -> bool:
    """Returns whether a claim has a difference in a share of 1, such as accuracy or the rate of solved seeds."""
    metric = _metric(facts, claim)
    return metric is not None and is_share(metric) and claim.row.diff == claim.row.diff


def _metric(facts: StudyFacts, claim: PublishedClaim) -> Metric | None:
    """Returns the metric of a claim; None of what its study derives from other runs, or measures beside them."""
    name = claim.claim.metric
    if name in DERIVED:
        return DERIVED[name].metric if DERIVED[name].kind == "rate" else None
    for task in facts.tasks:
        if name in task.metrics or plain(name) in task.metrics:
            return task.metrics.get(name) or task.metrics[plain(name)]
    return None


def _figure_row(study: PublishedStudy, claim: PublishedClaim) -> dict[str, object]:
    """Returns the row of a claim: in words, its verdict, its difference with its interval, and what it must exceed."""
    row = claim.row
    words = text(short_claim(row.claim, study.facts))
    return {
        "id": claim.id,
        "label": message("atlas.label", study.facts.study, words),
        "placebo": False,
        "verdict": EXPLORATORY if claim.verdict in DECIDED_ONCE else claim.verdict,
        "value": row.diff,
        "low": row.ci_low,
        "high": row.ci_high,
        "told": difference(row.diff, row.ci_low, row.ci_high).partition(" ")[0],
        "margins": _margins(claim.claim),
    }


def condition_rows(claims: Sequence[tuple[PublishedStudy, PublishedClaim]]) -> pd.DataFrame:
    """Returns a row for each condition of each claim: its id, its difference, and whether it is supported there."""
    rows = []
    for _, claim in claims:
        for row in claim.in_conditions:
            rows.append({"id": claim.id, "value": row.diff, "holds": row.verdict == "supported"})
    return pd.DataFrame(rows, columns=["id", "value", "holds"])


def _margins(claim: Claim) -> list[float]:
    """Returns what the interval of a claim must lie above, or between."""
    match claim.kind:
        case "beats" | "interaction" | "gains":
            return [claim.by]
        case "matches":
            return [-claim.by, claim.by]
        case "does_not_lose":
            return [-claim.by]
        case _:
            assert_never(claim.kind)
