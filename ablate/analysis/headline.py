"""The findings as sentences: for the top of the report and for the terminal."""

from __future__ import annotations

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
"""As many variants a sentence names; the table has all."""


def headline(evidence: Evidence, comparisons: pd.DataFrame, claims: pd.DataFrame) -> list[str]:
    """Sentences with numbers: whether the baseline learned, what each verdict found, the claims, the caveats.

    `comparisons` and `claims` are what `compare` and `judge` return.
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


def _left_out(evidence: Evidence) -> list[str]:
    """Variants that a report lacks, which narrows the family that Holm corrects over."""
    names = evidence.facts.left_out
    if not names:
        return []
    return [f"Not judged, since they have not been tuned: {listed(names, MAX_FINDINGS)}."]


def _matched(evidence: Evidence) -> list[str]:
    """What is held equal, and how well."""
    match = evidence.facts.match
    residuals = [m.residual for variant in evidence.facts.variants for m in variant.matched.values()]
    if match is None or not residuals:
        return []
    most = max(map(abs, residuals))
    if not most:
        return [f"Every variant has exactly the same {match.quantity}: matched by {match.by}."]
    largest = f"{100 * most:.2g} %"
    return [f"Every variant has the same {match.quantity} to within {largest}: matched by {match.by}."]


def _baseline_learned(evidence: Evidence) -> list[str]:
    rates = solved_rates(evidence)
    rates = rates[rates["variant"] == evidence.facts.variants[0].name]
    missed: list[str] = []
    learned: list[str] = []
    for row in rates.itertuples():
        metric = next(t for t in evidence.facts.tasks if t.name == row.task).metrics[row.metric]
        threshold = f"{row.metric} {'≤' if metric.direction == 'min' else '≥'} {wording.exact(row.threshold)}"
        text = f"{row.task} on {wording.share(row.solved, row.runs)} seeds ({threshold})"
        if row.runs:
            (learned if row.solved == row.runs else missed).append(text)
    sentences = []
    if missed:
        sentences.append(f"The baseline did not learn: it solved {wording.joined(missed)}.")
    if learned:
        sentences.append(
            f"The baseline learned{' otherwise' if missed else ''}: it solved {wording.joined(learned)}."
        )
    return sentences


def _verdicts(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    family = comparisons[~comparisons["exploratory"].astype(bool)]
    metric = evidence.facts.metric
    fewer = any(t.metrics[metric].direction == "min" for t in evidence.facts.tasks if metric in t.metrics)
    on = f"{metric} (positive is better)" if fewer else metric
    sentences = []
    for verdict, opening in OPENINGS.items():
        rows = family[family["verdict"] == verdict]
        if len(rows):
            rows = rows.reindex(rows["diff"].abs().sort_values(ascending=False, kind="stable").index)
            found = "; ".join(_finding(evidence, row) for row in rows[:MAX_FINDINGS].itertuples())
            more = f"; and {len(rows) - MAX_FINDINGS} more" if len(rows) > MAX_FINDINGS else ""
            sentences.append(f"{opening} on {on}{_level(verdict)}: {found}{more}.")
    return sentences


def _level(verdict: str) -> str:
    """Which interval the findings of a verdict carry: the one that decided."""
    if verdict == "unstable":
        return ""
    return ", with 90 % intervals" if verdict == "equivalent" else ", with 95 % intervals"


def _finding(evidence: Evidence, row: Any) -> str:
    """`model.position=none −.52 [−.55, −.49]`."""
    name = row.variant if len(evidence.facts.tasks) == 1 else f"{row.variant} on {row.task}"
    if row.verdict == "unstable":
        runs = wording.share(row.diverged, len(evidence.facts.seeds))
        return f"{name} (diverged: {runs} runs, {row.baseline_diverged} of the baseline)"
    if row.n < 2:
        return f"{name} ({wording.counted(row.n, 'pair')})"
    equivalent = row.verdict == "equivalent"
    bounds = (row.ci90_low, row.ci90_high) if equivalent else (row.ci_low, row.ci_high)
    return f"{name} {wording.signed(row.diff, bounds)} {wording.interval(bounds)}"


def _placebos(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    rows = comparisons[comparisons["placebo"].astype(bool) & (comparisons["metric"] == evidence.facts.metric)]
    if not len(rows):
        return []
    found = "; ".join(f"{_finding(evidence, row)}, {row.verdict}" for row in rows.itertuples())
    return [f"The noise floor, the baseline against itself with other random streams: {found}."]


def _claims(claims: pd.DataFrame) -> list[str]:
    sentences = []
    for verdict in ("refuted", "supported", "inconclusive"):
        rows = claims[claims["verdict"] == verdict]
        if len(rows):
            quoted = listed(f"“{row.claim}”" for row in rows.itertuples())
            share = f"{wording.share(len(rows), len(claims))} claims" if len(claims) > 1 else "The claim is"
            sentences.append(f"{share} {verdict}: {quoted}.")
    return sentences


def _caveats(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    facts, runs = evidence.facts, Runs(evidence)
    sentences = []
    trend = convergence(evidence)
    improving = trend.loc[trend["improving"], "variant"].drop_duplicates()
    if len(improving):
        sentences.append(f"Not converged, still improving when training ended: {listed(improving)}.")
    planned = len(facts.variants) * len(facts.tasks) * len(facts.seeds)
    ended = sum(int(runs.ended(v.name, t.name).sum()) for v in facts.variants for t in facts.tasks)
    if ended < planned:
        sentences.append(f"Planned trials without a result: {wording.share(planned - ended, planned)}.")
    family = comparisons[~comparisons["exploratory"].astype(bool)]
    differing = int(
        (family["solved_rate"] != family["baseline_solved_rate"])[family["p_solved"].notna()].sum()
    )
    if differing and len(facts.seeds) < MCNEMAR_MIN:
        sentences.append(
            f"Solved rates differ from the baseline's in {wording.counted(differing, 'comparison')}; McNemar's exact "
            f"test of them cannot reach .05 below {MCNEMAR_MIN} seeds."
        )
    if facts.data_fixed:
        sentences.append("The test split is fixed: the verdicts are conditional on it.")
    return sentences
