"""The findings as sentences: for the top of the report and for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ablate.analysis.learning import MCNEMAR_MIN, convergence, solved_rates
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.evidence import Evidence

OPENINGS = {
    "worse": "Worse than the baseline",
    "better": "Better than the baseline",
    "equivalent": "Equivalent to the baseline",
    "inconclusive": "Inconclusive",
    "degenerate": "No difference to be seen (degenerate)",
    "unstable": "Unstable, some runs diverged",
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
    metrics = {task.name: task.metrics for task in evidence.facts.tasks}
    rates = solved_rates(evidence)
    rates = rates[(rates["variant"] == evidence.facts.variants[0].name) & (rates["runs"] > 0)]
    missed: list[str] = []
    learned: list[str] = []
    for row in rates.itertuples():
        sign = "≤" if metrics[row.task][row.metric].direction == "min" else "≥"
        seeds = wording.share(row.solved, row.runs)
        text = f"{row.task} on {seeds} seeds ({row.metric} {sign} {wording.exact(row.threshold)})"
        (learned if row.solved == row.runs else missed).append(text)
    if missed:
        yield f"The baseline did not learn: it solved {wording.joined(missed)}."
    if learned:
        yield f"The baseline learned{' otherwise' if missed else ''}: it solved {wording.joined(learned)}."


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
            level = "" if verdict == "unstable" else f", with {deciding(verdict)[0]} % intervals"
            yield f"{opening} on {on}{level}: {found}{more}."


def _family(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The rows that Holm corrects over."""
    return comparisons[~comparisons["exploratory"].astype(bool)]


def deciding(verdict: str) -> tuple[int, str, str]:
    """The interval that decides a verdict: its level in percent, the columns of its bounds."""
    return (90, "ci90_low", "ci90_high") if verdict == "equivalent" else (95, "ci_low", "ci_high")


def _finding(evidence: Evidence, row: Any) -> str:
    """`model.position=none −.52 [−.55, −.49]`."""
    name = row.variant if len(evidence.facts.tasks) == 1 else f"{row.variant} on {row.task}"
    if row.verdict == "unstable":
        runs = wording.share(row.diverged, len(evidence.facts.seeds))
        return f"{name} (diverged: {runs} runs, {row.baseline_diverged} of the baseline)"
    if row.n < 2:
        return f"{name} ({wording.counted(row.n, 'pair')})"
    _, low, high = deciding(row.verdict)
    bounds = getattr(row, low), getattr(row, high)
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
    """Variants that a report lacks, which narrows the family that Holm corrects over."""
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
    facts, trend = evidence.facts, convergence(evidence)
    improving = trend.loc[trend["improving"], "variant"].drop_duplicates()
    if len(improving):
        yield f"Not converged, still improving when training ended: {listed(improving)}."
    sides = Runs(evidence).sides()
    missing = sum(int((~side.ended).sum()) for side in sides)
    if missing:
        yield f"Planned trials without a result: {wording.share(missing, len(sides) * len(facts.seeds))}."
    tested = _family(comparisons).dropna(subset="p_solved")
    differing = int((tested["solved_rate"] != tested["baseline_solved_rate"]).sum())
    if differing and len(facts.seeds) < MCNEMAR_MIN:
        yield (
            f"Solved rates differ from the baseline's in {wording.counted(differing, 'comparison')}; McNemar's exact "
            f"test of them cannot reach .05 below {MCNEMAR_MIN} seeds."
        )
    if any(task.sampling.pool == "held_out" for task in facts.tasks):
        yield "The test examples are the same for every seed: the verdicts are conditional on this pool of examples."
