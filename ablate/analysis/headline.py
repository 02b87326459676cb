"""What a report says in sentences beside its answer, and what its verdicts are conditional on."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.analysis.compare import planned
from ablate.analysis.learning import baseline_learned, convergence
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.evidence import Evidence
from ablate.core.short_names import short_claim, short_names

MAX_NAMES = 8
"""The most variants that a sentence names; the table has all."""


def headline(evidence: Evidence, claims: pd.DataFrame) -> list[str]:
    """What a reader should know beside the answer: whether the baseline learned, the claims, gaps.

    `claims` is the result of `judge_claims`.
    """
    return [
        *_baseline_learned(evidence),
        *_left_out(evidence),
        *_claims(evidence, claims),
        *_gaps(evidence),
    ]


def conditions(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    """What the verdicts are conditional on, and what else limits them."""
    return [*matched(evidence), *_conditions(evidence, comparisons), *evidence.facts.cautions]


def _baseline_learned(evidence: Evidence) -> Iterator[str]:
    found = baseline_learned(evidence)
    missed, learned = ([words for _, ok, words in found if ok is which] for which in (False, True))
    if missed:
        yield f"The baseline did not learn: it {wording.joined(missed)}."
    if learned:
        yield f"The baseline learned{' otherwise' if missed else ''}: it {wording.joined(learned)}."


def matched(evidence: Evidence) -> Iterator[str]:
    """The quantity that is held equal, and how well."""
    match = evidence.facts.match
    residuals = [m.residual for variant in evidence.facts.variants for m in variant.matched.values()]
    if match is None or not residuals:
        return
    most = max(map(abs, residuals))
    same = (
        f"the same {match.quantity} to within {100 * most:.2g} %"
        if most
        else f"exactly the same {match.quantity}"
    )
    yield f"Every variant has {same}: matched by {match.by}."


def _left_out(evidence: Evidence) -> Iterator[str]:
    """Variants that a report lacks, which makes the family smaller."""
    if names := evidence.facts.left_out:
        yield f"Not judged, since they have not been tuned: {listed(names, MAX_NAMES)}."


def _claims(evidence: Evidence, claims: pd.DataFrame) -> Iterator[str]:
    for verdict in ("refuted", "supported", "inconclusive", "incomplete"):
        rows = claims[claims["verdict"] == verdict]
        if len(rows):
            quoted = listed(f"“{short_claim(claim, evidence.facts)}”" for claim in rows["claim"])
            share = f"{wording.share(len(rows), len(claims))} claims" if len(claims) > 1 else "The claim is"
            yield f"{share} {verdict}: {quoted}."


def _gaps(evidence: Evidence) -> Iterator[str]:
    """What keeps the runs from telling what they were planned to tell."""
    facts, trend, runs = evidence.facts, convergence(evidence), Runs(evidence)
    names = short_names(facts)
    for task in facts.tasks:
        if runs.suspect(task, facts.metric):
            yield (
                f"Runs on {task.name} fall into groups, though the task is declared graded: a mean over seeds hides "
                "how many are in which, and no equivalence is claimed there."
            )
    improving = trend.loc[trend["improving"], "variant"].drop_duplicates()
    if len(improving):
        yield f"Not converged, still improving when training ended: {listed(names[v] for v in improving)}."
    sides = runs.sides()
    missing = sum(int((side.asked & ~side.ended).sum()) for side in sides)
    if missing:
        yield f"Planned trials without a result: {wording.share(missing, facts.planned)}."


def _conditions(evidence: Evidence, comparisons: pd.DataFrame) -> Iterator[str]:
    facts = evidence.facts
    family = planned(comparisons)
    if facts.rate and len(family):
        yield f"Every verdict holds at {facts.rate}, which was not tuned."
    if len(family) > 1:
        yield (
            f"The {len(family)} planned comparisons are one family: each is decided at .05/{len(family)}, so that "
            "the chance of any false verdict among them is below .05."
        )
    if facts.looks:
        yield f"{facts.looks_in_words}."
        yield (
            "The p and intervals of comparisons and claims allow for all looks; those that "
            "describe do not. A difference that stopped early is biased away from 0."
        )
    pools = {task.sampling.pool for task in facts.tasks}
    if "held_out" in pools:
        yield "The test examples are the same for every seed: the verdicts are conditional on this pool of examples."
    if "resplit" in pools:
        yield (
            "Every seed draws training and test examples from one pool: variances are enlarged by n_test/n_train, "
            "since such seeds are not independent."
        )
