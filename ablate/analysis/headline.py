"""The findings as sentences: for the top of the report and for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ablate.analysis.contrast import suspect
from ablate.analysis.learning import baseline_learned, convergence
from ablate.analysis.runs import Runs
from ablate.analysis.verdicts import DECIDED
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.evidence import Evidence

OPENINGS = {
    "worse": "Worse than the baseline",
    "better": "Better than the baseline",
    "equivalent": "Equivalent to the baseline",
    "inconclusive": "Inconclusive",
    "saturated": "No room to tell (saturated)",
    "degenerate": "No difference to be seen (degenerate)",
    "unstable": "Unstable, some runs diverged",
    "incomplete": "Incomplete, without a verdict",
}
"""By verdict, in the order of the sentences."""

MAX_FINDINGS = 8
"""The most variants that a sentence names; the table has all."""


def headline(evidence: Evidence, comparisons: pd.DataFrame, claims: pd.DataFrame) -> list[str]:
    """Sentences with numbers: whether the baseline learned, the verdicts, the claims, the caveats.

    `comparisons` and `claims` are the results of `compare` and `judge_claims`.
    """
    return [
        *_baseline_learned(evidence),
        *_verdicts(evidence, comparisons),
        *_placebos(evidence, comparisons),
        *_matched(evidence),
        *_left_out(evidence),
        *_claims(claims),
        *_caveats(evidence, comparisons),
    ]


def _baseline_learned(evidence: Evidence) -> Iterator[str]:
    found = baseline_learned(evidence)
    missed, learned = ([words for ok, words in found if ok is which] for which in (False, True))
    if missed:
        yield f"The baseline did not learn: it {wording.joined(missed)}."
    if learned:
        yield f"The baseline learned{' otherwise' if missed else ''}: it {wording.joined(learned)}."


def _verdicts(evidence: Evidence, comparisons: pd.DataFrame) -> Iterator[str]:
    family = _family(comparisons)
    metric = evidence.facts.metric
    fewer = any(t.metrics[metric].direction == "min" for t in evidence.facts.tasks if metric in t.metrics)
    on = f"{metric} (positive is better)" if fewer else metric
    for verdict, opening in OPENINGS.items():
        rows = family[family["verdict"] == verdict]
        if len(rows):
            rows = rows.reindex(rows["diff"].abs().sort_values(ascending=False, kind="stable").index)
            found = "; ".join(_finding(evidence, row) for row in rows[:MAX_FINDINGS].itertuples())
            more = f"; and {len(rows) - MAX_FINDINGS} more" if len(rows) > MAX_FINDINGS else ""
            level = "" if verdict in ("unstable", "incomplete") else ", with 95 % intervals"
            yield f"{opening} on {on}{level}: {found}{more}."


def _family(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The planned comparisons."""
    return comparisons[~comparisons["exploratory"].astype(bool)]


def _finding(evidence: Evidence, row: Any) -> str:
    """`model.position=none −.52 [−.55, −.49]`."""
    name = row.variant if len(evidence.facts.tasks) == 1 else f"{row.variant} on {row.task}"
    if row.verdict == "incomplete":
        return f"{name} ({wording.share(row.n, row.n + row.missing)} pairs)"
    if row.verdict == "unstable":
        runs = wording.share(row.diverged, len(evidence.facts.seeds))
        return f"{name} (diverged: {runs} runs, {row.baseline_diverged} of the baseline)"
    if row.n < 2:
        return f"{name} ({wording.counted(row.n, 'pair')})"
    bounds = row.ci_low, row.ci_high
    return f"{name} {wording.signed(row.diff, bounds)} {wording.interval(bounds)}"


def _placebos(evidence: Evidence, comparisons: pd.DataFrame) -> Iterator[str]:
    rows = comparisons[comparisons["placebo"].astype(bool) & (comparisons["metric"] == evidence.facts.metric)]
    if len(rows):
        found = "; ".join(f"{_finding(evidence, row)}, {row.verdict}" for row in rows.itertuples())
        yield f"The noise floor, the baseline against itself with other random streams: {found}."


def _matched(evidence: Evidence) -> Iterator[str]:
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
        yield f"Not judged, since they have not been tuned: {listed(names, MAX_FINDINGS)}."


def _claims(claims: pd.DataFrame) -> Iterator[str]:
    for verdict in ("refuted", "supported", "inconclusive"):
        rows = claims[claims["verdict"] == verdict]
        if len(rows):
            quoted = listed(f"“{claim}”" for claim in rows["claim"])
            share = f"{wording.share(len(rows), len(claims))} claims" if len(claims) > 1 else "The claim is"
            yield f"{share} {verdict}: {quoted}."


def _caveats(evidence: Evidence, comparisons: pd.DataFrame) -> Iterator[str]:
    facts, trend, runs = evidence.facts, convergence(evidence), Runs(evidence)
    family = _family(comparisons)
    if facts.rate and len(family):
        yield f"Every verdict holds at {facts.rate}, which was not tuned."
    if len(family) > 1:
        yield (
            f"The {len(family)} planned comparisons are one family: each is decided at .05/{len(family)}, so that "
            "the chance of any false verdict among them is below .05."
        )
    for task in facts.tasks:
        if suspect(runs, task, facts.metric):
            yield (
                f"Runs on {task.name} fall into groups, though the task is declared graded: a mean over seeds hides "
                "how many are in which, and no equivalence is claimed there."
            )
    improving = trend.loc[trend["improving"], "variant"].drop_duplicates()
    if len(improving):
        yield f"Not converged, still improving when training ended: {listed(improving)}."
    turned = family[family["half"].isin(DECIDED)]
    if len(turned):
        found = listed(f"{row.variant} ({row.half} then)" for row in turned.itertuples())
        yield f"Another verdict at half of the steps, on validation data: {found}."
    sides = runs.sides()
    missing = sum(int((~side.ended).sum()) for side in sides)
    if missing:
        yield f"Planned trials without a result: {wording.share(missing, len(sides) * len(facts.seeds))}."
    pools = {task.sampling.pool for task in facts.tasks}
    if "held_out" in pools:
        yield "The test examples are the same for every seed: the verdicts are conditional on this pool of examples."
    if "resplit" in pools:
        yield (
            "Every seed draws training and test examples from one pool: variances are enlarged by n_test/n_train, "
            "since such seeds are not independent."
        )
    yield from facts.cautions
