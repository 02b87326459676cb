"""The answer to a study's question in a few sentences a task, what stands beside it, and what it is conditional on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from ablate.analysis.compare import confirmatory
from ablate.analysis.family import family_size
from ablate.analysis.learning import Learned, baseline_learned, convergence
from ablate.analysis.runs import Runs
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, TaskFacts
from ablate.core.metric import Metric
from ablate.core.reason import Reason
from ablate.core.short_names import short_claim, short_names, with_name
from ablate.report.reason_words import words_of

MAX_EFFECTS, MAX_NAMES = 4, 8
"""The most variants that a sentence names, with their effects and without; the table has all."""


def answer(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    """A few sentences for each task, in one string; none where nothing is compared."""
    facts = evidence.facts
    failed = {one.task: one for one in baseline_learned(evidence) if not one.ok}
    placebos = {variant.name for variant in facts.variants if variant.placebo}
    found = []
    for task in facts.tasks:
        rows = [row for row in confirmatory(comparisons).itertuples() if row.task == task.name]
        if not rows:
            continue
        differs = [
            row.variant for row in rows if row.variant in placebos and row.verdict in ("better", "worse")
        ]
        sentences = ["The placebo differs from the baseline, which only chance or a fault can do"] * bool(
            differs
        )
        if task.name in failed:
            sentences.append(f"The baseline did not learn: it {learned(failed[task.name])}")
        sentences += _sentences([row for row in rows if row.variant not in placebos], task, facts)
        on = f"{task.name}: " if len(facts.tasks) > 1 else ""
        found.append(on + " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences))
    return found


def learned(one: Learned) -> str:
    """`solved recall on 5 of 5 seeds (accuracy ≥ .9)`, `reached accuracy .952 on digits (guessing: .1)`."""
    if one.solved is not None:
        least = f"{one.name} {'≤' if one.metric.direction == 'min' else '≥'} {wording.exact(one.metric.solved or 0)}"
        return f"solved {one.task} on {wording.share(*one.solved)} seeds ({least})"
    guessing = wording.exact(one.metric.floor or 0.0)
    mean = wording.number(one.mean, wording.decimals(one.spread))
    return f"reached {one.name} {mean} on {one.task} (guessing: {guessing})"


def _sentences(rows: Sequence[Any], task: TaskFacts, facts: Facts) -> Iterator[str]:
    names, metric = short_names(facts), task.metrics[facts.metric]
    rows = sorted(rows, key=lambda row: -abs(row.diff) if row.diff == row.diff else 0.0)
    decided = [row for row in rows if row.verdict in ("worse", "better")]
    rated = [row for row in decided if row.only_variant == row.only_variant]
    if effects := _effects([row for row in decided if row not in rated], facts, metric, names):
        yield effects
    if rated:
        yield _rates(rated, names)
    alike = [names.get(row.variant, row.variant) for row in rows if row.verdict == "equivalent"]
    if alike:
        yield f"within {_amount(facts.margin or 0.0, metric)} of the baseline: {listed(alike, MAX_NAMES)}"
    still: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict == "inconclusive":
            reason = Reason.parse(row.reason)
            why = (
                ""
                if reason is None or reason.code in ("open", "examples")
                else words_of(Reason(reason.code, reason.numbers))
            )
            still.setdefault(why, []).append(names.get(row.variant, row.variant))
    for why, mine in still.items():
        yield f"inconclusive{f' ({why})' * bool(why)}: {listed(mine, MAX_NAMES)}"


def _effects(rows: Sequence[Any], facts: Facts, metric: Metric, names: dict[str, str]) -> str:
    """`accuracy fell by 7 points without positions, and rose by 1.6 points with batch norm`."""
    verbs = {"worse": "fell", "better": "rose"}
    if metric.direction == "min":
        verbs = {"worse": "worsened", "better": "improved"}
    found = []
    for verdict in ("better", "worse") if facts.searched == "sweep" else ("worse", "better"):
        effects = [
            f"by {_amount(abs(row.diff), metric, (row.ci_high - row.ci_low) / 2)} "
            f"{with_name(names.get(row.variant, row.variant))}"
            for row in rows
            if row.verdict == verdict
        ]
        if effects:
            found.append(f"{verbs[verdict]} {listed(effects, MAX_EFFECTS)}")
    return f"{facts.metric} {', and '.join(found)}" if found else ""


def _rates(rows: Sequence[Any], names: dict[str, str]) -> str:
    """`8 of 8 seeds solved recall with the baseline, 2 with additive scoring and none with uniform weighting`."""
    first = rows[0]
    effects = [
        f"{round(row.solved_variant) or 'none'} {with_name(names.get(row.variant, row.variant))}"
        for row in rows
    ]
    baseline = wording.share(round(first.solved_baseline), first.n)
    return f"{baseline} seeds solved {first.task} with the baseline, {listed(effects, MAX_EFFECTS)}"


def _amount(value: float, metric: Metric, uncertainty: float | None = None) -> str:
    """`7 points` of a share such as an accuracy, `.11` of a loss, to the first digit that the uncertainty touches."""
    share = metric.ceiling == 1 and metric.floor is not None and metric.floor >= 0
    scale = 100 if share else 1
    shown = wording.exact(scale * value)
    if uncertainty is not None:
        shown = wording.number(scale * value, max(0, wording.decimals(scale * uncertainty) - 1))
    return f"{shown} point{'' if shown == '1' else 's'}" if share else shown


def remarks(evidence: Evidence, claims: pd.DataFrame) -> Iterator[str]:
    """Whether the baseline learned, the claims, and what keeps the runs from telling what they were planned to."""
    facts, runs, trend = evidence.facts, Runs(evidence), convergence(evidence)
    names = short_names(facts)
    if found := [learned(one) for one in baseline_learned(evidence) if one.ok]:
        yield f"The baseline learned: it {wording.joined(found)}."
    if facts.left_out:
        yield f"Not judged, since they have not been tuned: {listed(facts.left_out, MAX_NAMES)}."
    for verdict in ("refuted", "supported", "inconclusive"):
        rows = claims[claims["verdict"] == verdict]
        if len(rows):
            quoted = listed(f"“{short_claim(claim, facts)}”" for claim in rows["claim"])
            share = f"{wording.share(len(rows), len(claims))} claims" if len(claims) > 1 else "The claim is"
            yield f"{share} {verdict}: {quoted}."
    improving = trend.loc[trend["improving"], "variant"].drop_duplicates()
    if len(improving):
        yield f"Not converged, still improving when training ended: {listed(names[v] for v in improving)}."
    sides = runs.sides()
    if missing := sum(int((side.asked & ~side.ended).sum()) for side in sides):
        yield f"Planned trials without a result: {wording.share(missing, facts.planned)}."


def conditions(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    """What the verdicts are conditional on, and what else limits them."""
    facts, planned = evidence.facts, len(confirmatory(comparisons))
    found = [*matched(evidence)]
    if facts.rate and planned:
        found.append(f"Every verdict holds at {facts.rate}, which was not tuned.")
    if (m := family_size(facts)) > 1 and planned:
        found.append(
            f"{m} comparisons and claims are one family: each is decided at .05/{m}, and its interval has the level "
            f"1 − .05/{m}, so that the chance of any false verdict is at most .05."
        )
    if facts.looks:
        found.append(f"{facts.looks_in_words}. A difference that stopped early is biased away from 0.")
    pools = {task.sampling.pool for task in facts.tasks}
    if "held_out" in pools:
        found.append(
            "The test examples are the same for every seed: the verdicts are conditional on this pool."
        )
        if evidence.examples.empty:
            found.append("Outcomes by example were not kept: the verdicts hold on these examples.")
    if "resplit" in pools:
        found.append(
            "Every seed draws training and test examples from one pool: variances are enlarged by n_test/n_train."
        )
    return [*found, *facts.cautions]


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
