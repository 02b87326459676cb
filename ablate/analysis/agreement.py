"""Where the verdict on a claim and that of its comparison in the table seem to contradict each other, and why."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ablate.analysis.compare import planned
from ablate.analysis.power import ALPHA
from ablate.base import wording
from ablate.core.claim import INTERACTION, Claim
from ablate.core.facts import BASELINE, Facts

OPPOSITE = {"better": "worse", "worse": "better"}


def explained(claims: pd.DataFrame, comparisons: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """The frame of `judge_claims` with reasons that name a planned comparison with another verdict, and why it has it.

    Such claims are about one variant and the baseline, on a metric of the family. `comparisons` comes from `compare`.
    """
    family = planned(comparisons)
    table = {(row.variant, row.task, row.metric): row.verdict for row in family.itertuples()}
    known = {claim.text: claim for claim in facts.claims}
    confirmatory = sum(not claim.exploratory for claim in facts.claims)
    reasons = []
    for row in claims.itertuples():
        claim = known[row.claim]
        word = ""
        if (
            claim.metric in facts.judged
            and claim.kind != INTERACTION
            and len(claim.a) == len(claim.b) == 1
            and BASELINE in (*claim.a, *claim.b)
        ):
            turned = claim.a == [BASELINE]
            shown = table.get(((claim.b if turned else claim.a)[0], row.task, claim.metric), "")
            verdict = OPPOSITE.get(shown, shown) if turned else shown
            margin = facts.judged[claim.metric]
            if why := _why(claim, row, verdict, margin, len(family), confirmatory):
                word = f"; the table says {shown}: {why}"
        reasons.append(f"{row.reason}{word}")
    return claims.assign(reason=pd.Series(reasons, index=claims.index, dtype=object))


def _why(claim: Claim, row: Any, verdict: str, margin: float | None, comparisons: int, claims: int) -> str:
    """Why both hold; empty where they do not seem to differ, or where the reason of the claim says it.

    `row` is that of the claim; `verdict` is turned to its side A.
    """
    judged = row.verdict
    shown = {
        "beats": {"better"},
        "matches": {"equivalent", "degenerate"},
        "does_not_lose": {"better", "equivalent", "degenerate"},
    }[claim.kind]
    decided = {"better", "worse", "equivalent"}
    if judged == "supported":
        apart = verdict in (decided | {"inconclusive"}) - shown
    elif judged == "refuted":
        apart = verdict in (*shown, "inconclusive")
    else:
        apart = verdict in decided
    if not apart:
        return ""
    if claim.kind == "beats" and verdict == "equivalent":
        known = "is not 0, and" if judged == "supported" else "may have either sign, but"
        return f"the difference {known} lies within the margin"
    x = wording.exact(claim.by)
    if claim.kind == "beats" and claim.by:
        return f"the claim asks for more than {x}, a verdict for more than 0"
    if claim.kind == "matches" and judged == "supported" and verdict in OPPOSITE:
        return f"the difference is not 0, and lies within the {x} that the claim allows"
    alone = row.p <= ALPHA
    if not alone and verdict in OPPOSITE and "no run solved the task" in row.reason:
        return "it tests the mean where no run solves the task"
    against = {"matches": {"better", "worse"}, "does_not_lose": {"worse"}}.get(claim.kind, set())
    if not alone and judged == "inconclusive" and verdict in against:
        return f"the difference is not 0, and not shown to lie within the {x} that the claim allows or beyond"
    if claim.kind != "beats" and claim.by != margin:
        told = "and no margin is declared" if margin is None else f"the margin is {wording.exact(margin)}"
        return f"the claim allows {x}, {told}"
    if not alone:
        return ""
    told = f"each of {wording.counted(comparisons, 'comparison')} is decided at .05/{comparisons}"
    return f"{told}, and {wording.counted(claims, 'claim')} step by step, by Holm"
