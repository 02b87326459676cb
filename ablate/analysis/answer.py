"""The answer to a study's question in a sentence or two for each task, in the reader's words.

In the past tense: what was found on these seeds, at these settings. Other seeds may find otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ablate.analysis.compare import planned
from ablate.analysis.learning import baseline_learned
from ablate.analysis.verdicts import DECIDED
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, TaskFacts
from ablate.core.metric import Metric
from ablate.core.short_names import short_names, with_name

MAX_EFFECTS, MAX_NAMES = 4, 7
"""The most variants that a sentence names, with their effects and without; the table has all."""
WITHOUT_EFFECT = {
    "equivalent": "within the margin of the baseline",
    "inconclusive": "still open",
    "saturated": "no room to tell, at the best or the worst that the metric can show",
    "unstable": "some runs diverged, too few to tell",
    "degenerate": "no change at all",
    "incomplete": "no verdict, since runs failed or are missing",
}
"""By verdict, in the order of the sentences; names follow."""


def answer(evidence: Evidence, comparisons: pd.DataFrame) -> list[str]:
    """A few sentences for each task, in one string; none where nothing is compared.

    `comparisons` is the result of `compare`.
    """
    facts = evidence.facts
    names = short_names(facts)
    family = planned(comparisons)
    failed = {task: words for task, ok, words in baseline_learned(evidence) if not ok}
    found = []
    for task in facts.tasks:
        rows = [row for row in family.itertuples() if row.task == task.name]
        if not rows:
            continue
        sentences = _sentences(rows, task, names, facts)
        if task.name in failed:
            missed = f"The baseline did not learn: it {failed[task.name]}"
            decided = any(row.verdict in DECIDED for row in rows)
            sentences = [missed, *(sentences if decided else ["That leaves the question open"])]
        on = f"{task.name}: " if len(facts.tasks) > 1 else ""
        found.append(on + " ".join(f"{_capital(sentence)}." for sentence in sentences))
    return found


def _sentences(rows: Sequence[Any], task: TaskFacts, names: dict[str, str], facts: Facts) -> list[str]:
    """Of the planned comparisons on a task."""
    name, margin = facts.metric, facts.margin
    metric = task.metrics[name]
    rows = sorted(rows, key=lambda row: -abs(row.diff) if row.diff == row.diff else 0.0)
    sentences = []
    decided = [row for row in rows if row.verdict in ("worse", "better")]
    by_rate = [row for row in decided if row.decided_by == "rate"]
    order = ("better", "worse") if facts.searched == "sweep" else ("worse", "better")
    if effects := _effects([row for row in decided if row.decided_by != "rate"], metric, names, order):
        sentences.append(f"{name} {effects}")
    if by_rate:
        sentences.append(_rates(by_rate, names))
    solved = [row for row in rows if row.verdict == "saturated" and row.solved_rate == 1]
    if solved and task.outcome == "all_or_nothing":
        mine = [with_name(names[row.variant]) for row in solved]
        sentences.append(f"{task.name} was solved every time {_some(mine, MAX_NAMES)}, as with the baseline")
    else:
        solved = []
    for verdict, opening in WITHOUT_EFFECT.items():
        mine = [names[row.variant] for row in rows if row.verdict == verdict and row not in solved]
        if mine:
            if verdict == "equivalent" and margin is not None and task.outcome == "graded":
                opening = f"within {_amount(margin, metric)} of the baseline"
            sentences.append(f"{opening}: {_some(mine, MAX_NAMES)}")
    # A sentence about rates begins with the number of seeds.
    seeds = (
        "" if by_rate and not effects else _on(sorted({row.n for row in rows if row.verdict != "incomplete"}))
    )
    rate = f"at {facts.rate}, which was not tuned, " if facts.rate else ""
    return [f"{seeds}{rate}{sentences[0]}", *sentences[1:]]


def _on(seeds: Sequence[int]) -> str:
    """`on these 8 seeds, `, of the numbers of pairs from which the verdicts come."""
    if not seeds or seeds[-1] == 1:
        return "on one seed, " if seeds else ""
    return f"on these {seeds[0]} seeds, " if len(seeds) == 1 else f"on {seeds[0]} to {seeds[-1]} seeds, "


def _effects(rows: Sequence[Any], metric: Metric, names: dict[str, str], order: Sequence[str]) -> str:
    """`fell by 7 points without positions, and rose by 1.6 points with batch norm`, verdicts in an order."""
    verbs = {"worse": "fell", "better": "rose"}
    if metric.direction == "min":
        verbs = {"worse": "worsened", "better": "improved"}
    found = []
    for verdict in order:
        effects = [
            f"by {_amount(abs(row.diff), metric, (row.ci_high - row.ci_low) / 2)} {with_name(names[row.variant])}"
            for row in rows
            if row.verdict == verdict
        ]
        if effects:
            found.append(f"{verbs[verdict]} {_some(effects, MAX_EFFECTS)}")
    return ", and ".join(found)


def _rates(rows: Sequence[Any], names: dict[str, str]) -> str:
    """`8 of 8 seeds solved recall with the baseline, 2 with additive scoring and none with uniform weighting`."""
    first = rows[0]
    baseline = wording.share(round(first.baseline_solved_rate * first.n), first.n)
    effects = [f"{round(row.solved_rate * row.n) or 'none'} {with_name(names[row.variant])}" for row in rows]
    return f"{baseline} seeds solved {first.task} with the baseline, {_some(effects, MAX_EFFECTS)}"


def _amount(value: float, metric: Metric, uncertainty: float | None = None) -> str:
    """`7 points` of a share such as an accuracy, `.11` of a loss: to the first digit that the uncertainty touches, or
    exactly where there is none.
    """
    share = metric.ceiling == 1 and metric.floor is not None and metric.floor >= 0
    scale = 100 if share else 1
    shown = (
        wording.exact(scale * value)
        if uncertainty is None
        else wording.number(scale * value, max(0, wording.decimals(scale * uncertainty) - 1))
    )
    return f"{shown} point{'' if shown == '1' else 's'}" if share else shown


def _some(words: Sequence[str], most: int) -> str:
    shown = list(words[:most])
    return wording.joined([*shown, f"{len(words) - most} more"] if len(words) > most else shown)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
