"""The data of the figure of an atlas: claims by unit and in the order of their verdicts, and the conditions of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, assert_never, get_args

import pandas as pd

from ablate.core.derived import DERIVED
from ablate.core.facts import StudyFacts
from ablate.core.metric import Direction, Metric, plain
from ablate.core.short_names import short_claim
from ablate.core.spelling import spelled
from ablate.report.atlas.published import DECIDED_ONCE, ClaimsOfStudies, PublishedClaim, PublishedStudy
from ablate.report.figures.atlas import Panel
from ablate.report.figures.theme import EXPLORATORY
from ablate.report.tables.directions import better_side, direction_of, is_share, own_direction
from ablate.report.words import difference, message, text

ORDER = ("refuted", "supported", *DECIDED_ONCE, "inconclusive")
"""Verdicts in the order of the page: what contradicts the field comes first."""

Kind = Literal["share", "metric", "measured"]
"""A share of 1, such as accuracy; another metric; time or memory. In the order of the panels."""


@dataclass(frozen=True)
class Unit:
    """The unit of the differences of a panel."""

    kind: Kind
    metric: str
    """The metric without its slice; empty for the other kinds."""
    direction: Direction
    """`max` where a difference above 0 is better, `min` where one below is."""


def figure_panels(claims: ClaimsOfStudies) -> list[Panel]:
    """Returns the panels that `figures.atlas` draws, one a unit.

    They are in the order of `Kind`; of a kind, those with most claims come first. Within a panel claims are grouped by
    their verdicts. A claim without a number is in no panel.
    """
    by_unit: dict[Unit, list[tuple[PublishedStudy, PublishedClaim]]] = {}
    for study, claim in claims:
        if not math.isnan(claim.row.diff):
            by_unit.setdefault(_unit(study.facts, claim), []).append((study, claim))
    kinds = get_args(Kind)
    units = sorted(by_unit, key=lambda unit: (kinds.index(unit.kind), -len(by_unit[unit])))
    return [_panel(unit, by_unit[unit]) for unit in units]


def _panel(unit: Unit, claims: ClaimsOfStudies) -> Panel:
    """Returns the panel of the claims of a unit, with how many have each verdict."""
    rows = []
    for verdict in ORDER:
        of_verdict = [pair for pair in claims if pair[1].verdict == verdict]
        group = f"{verdict}: {len(of_verdict)}"
        rows += [_figure_row(study, claim, unit) | {"group": group} for study, claim in of_verdict]
    conditions = _condition_rows(claims, unit)
    return Panel(pd.DataFrame(rows), conditions, _axis_label(unit, claims), is_log=unit.kind != "metric")


def _axis_label(unit: Unit, claims: ClaimsOfStudies) -> str:
    """Returns the label of the axis of a panel: what is compared, and on which side it is better."""
    match unit.kind:
        case "measured":
            return message("atlas.axis_measured")
        case "share":
            names = dict.fromkeys(spelled(plain(claim.claim.metric)) for _, claim in claims)
            return message("atlas.axis", [*names], better_side(unit.direction))
        case "metric":
            return message("atlas.axis", [spelled(unit.metric)], better_side(unit.direction))
        case _:
            assert_never(unit.kind)


def _unit(facts: StudyFacts, claim: PublishedClaim) -> Unit:
    """Returns the unit of the difference that a claim is about."""
    name = claim.claim.metric
    direction = direction_of(facts, claim.row.task, name)
    if claim.is_measured:
        return Unit("measured", "", direction)
    metric = _metric(facts, name)
    if metric is not None and is_share(metric):
        return Unit("share", "", direction)
    return Unit("metric", plain(name), direction)


def _metric(facts: StudyFacts, name: str) -> Metric | None:
    """Returns a metric that the study derives or its tasks evaluate; None of any other."""
    if name in DERIVED:
        return DERIVED[name].metric
    for task in facts.tasks:
        if name in task.metrics or plain(name) in task.metrics:
            return task.metrics.get(name) or task.metrics[plain(name)]
    return None


def _figure_row(study: PublishedStudy, claim: PublishedClaim, unit: Unit) -> dict[str, object]:
    """Returns the row of a claim for `Panel.rows`, without its group; numbers are in the metric's own direction.

    `verdict` picks the mark: what fresh seeds did not confirm, or did not repeat, is drawn as exploratory. `told` is
    the difference alone, in words.
    """
    row = own_direction(vars(claim.row), unit.direction)
    words = text(short_claim(claim.row.claim, study.facts))
    return {
        "id": claim.id,
        "label": message("atlas.label", study.facts.study, words),
        "placebo": False,
        "verdict": EXPLORATORY if claim.verdict in DECIDED_ONCE else claim.verdict,
        "value": row["diff"],
        "low": row["ci_low"],
        "high": row["ci_high"],
        "told": difference(row["diff"], row["ci_low"], row["ci_high"]).partition(" ")[0],
        "margins": _margins(claim, unit),
    }


def _condition_rows(claims: ClaimsOfStudies, unit: Unit) -> pd.DataFrame:
    """Returns the rows of `Panel.conditions`; a claim that is judged in one place has one."""
    rows = []
    for _, claim in claims:
        for row in claim.in_conditions:
            value = own_direction(vars(row), unit.direction)["diff"]
            rows.append({"id": claim.id, "value": value, "holds": row.verdict == "supported"})
    return pd.DataFrame(rows, columns=["id", "value", "holds"])


def _margins(claim: PublishedClaim, unit: Unit) -> list[float]:
    """Returns where the margins of a claim lie: one that its interval must lie beyond, or two that it must lie between.

    They are in the metric's own direction: where less is better, signs are turned. Those of time and memory are ratios
    less 1, so that the opposite of `by` is −by / (1 + by): half as much is as far as twice as much.
    """
    by = claim.claim.by
    within = by / (1 + by) if unit.kind == "measured" else by
    margins: list[float]
    match claim.claim.kind:
        case "beats" | "interaction" | "gains":
            margins = [by]
        case "matches":
            margins = [-within, by]
        case "does_not_lose":
            margins = [-within]
        case _:
            assert_never(claim.claim.kind)
    return margins if unit.direction == "max" else [-margin for margin in margins]
