"""The data of the figure of an atlas: claims by unit and in the order of their verdicts, and the conditions of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import pandas as pd

from ablate.core.derived import DERIVED
from ablate.core.facts import Claim, StudyFacts
from ablate.core.metric import Metric, plain
from ablate.core.short_names import short_claim
from ablate.report.atlas.published import DECIDED_ONCE, PublishedClaim, PublishedStudy
from ablate.report.figures.atlas import Panel
from ablate.report.figures.theme import EXPLORATORY
from ablate.report.tables.directions import is_share
from ablate.report.words import difference, message, text

ORDER = ("refuted", "supported", *DECIDED_ONCE, "inconclusive")
"""Verdicts in the order of the page: what contradicts the field comes first."""
ClaimsOfStudies = Sequence[tuple[PublishedStudy, PublishedClaim]]


def figure_panels(claims: ClaimsOfStudies) -> list[Panel]:
    """Returns what `figures.atlas` draws: a panel for each unit, shares first, time and memory last.

    Within a panel claims are grouped by their verdicts. One without a number is in none.
    """
    by_unit: dict[Unit, list[tuple[PublishedStudy, PublishedClaim]]] = {}
    for study, claim in claims:
        if not math.isnan(claim.row.diff):
            by_unit.setdefault(_unit(study.facts, claim), []).append((study, claim))
    units = sorted(by_unit, key=lambda unit: (unit.place, -len(by_unit[unit])))
    return [Panel(_rows(by_unit[unit]), unit.axis_label, unit.is_share) for unit in units]


def _rows(claims: ClaimsOfStudies) -> pd.DataFrame:
    """Returns a row for each claim, grouped by their verdicts, with how many have each."""
    rows = []
    for verdict in ORDER:
        of_verdict = [pair for pair in claims if pair[1].verdict == verdict]
        group = f"{verdict}: {len(of_verdict)}"
        rows += [_figure_row(study, claim) | {"group": group} for study, claim in of_verdict]
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Unit:
    """What the differences of a panel are in."""

    place: int
    """0 of shares of 1, 1 of a metric of its own, 2 of times and memory."""
    axis_label: str

    @property
    def is_share(self) -> bool:
        """True of shares: of 1, or of the time or memory of the first side."""
        return self.place != 1


def _unit(facts: StudyFacts, claim: PublishedClaim) -> Unit:
    """Returns the unit of the metric of a claim."""
    if claim.is_measured:
        return Unit(2, message("atlas.axis_measured"))
    metric = _metric(facts, claim)
    if metric is not None and is_share(metric):
        return Unit(0, message("atlas.axis_share"))
    return Unit(1, message("atlas.axis_metric", claim.claim.metric))


def _metric(facts: StudyFacts, claim: PublishedClaim) -> Metric | None:
    """Returns the metric of a claim; None of one that nobody declares."""
    name = claim.claim.metric
    if name in DERIVED:
        return DERIVED[name].metric
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


def condition_rows(claims: ClaimsOfStudies) -> pd.DataFrame:
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
