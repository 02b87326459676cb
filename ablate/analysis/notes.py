"""The words beside a comparison: the evidence behind its verdict, and what limits it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ablate.analysis.comparison import Comparison
from ablate.analysis.looks import looked
from ablate.analysis.paired import seeds_needed
from ablate.analysis.power import ALPHA, MAX_SEEDS
from ablate.analysis.rates import clopper_pearson, detectable_failure_rate, rate
from ablate.analysis.runs import Side
from ablate.base import wording
from ablate.core.facts import VariantFacts


def comparison_note(c: Comparison) -> str:
    """Everything that a reader should know beyond the numbers of the row."""
    return "; ".join(note for note in _notes(c) if note)


def placebo_words(variant: VariantFacts) -> str:
    """A description of a placebo."""
    return f"the baseline{', tuned anew,' if variant.tuned else ''} with other random streams"


def _notes(c: Comparison) -> list[str]:
    one = c.contrast
    solvable = one.solved is not None
    decided = c.judgement.verdict in ("better", "worse")
    neither = solvable and one.n > 0 and not one.some_solved and one.task.outcome != "graded"
    grouped = c.suspect and c.margin is not None and c.judgement.verdict == "inconclusive"
    unclear = c.judgement.verdict in ("better", "worse", "inconclusive", "unstable")
    return [
        f"placebo: {placebo_words(c.variant)}" if c.variant.placebo else "",
        _rates(c) if one.by_rate and unclear else "",
        _deciding(c),
        looked(c.look, c.judgement.verdict) if c.look.count > 1 else "",
        "neither side learned the task" if neither and decided else "",
        "neither side solved the task on any seed" if neither and not decided else "",
        *_missing(c),
        "no equivalence is claimed of a mean over runs that fall into groups" if grouped else "",
        c.unfinished,
        "" if solvable else "the task declares no threshold for solved",
        "on these examples: outcomes by example were not kept" if _on_these_examples(c) else "",
    ]


def _on_these_examples(c: Comparison) -> bool:
    shared = c.task.sampling.pool == "held_out"
    known = c.contrast.differences.examples is not None
    return shared and not known and bool(c.contrast.completed.any()) and c.contrast.n > 1


def _deciding(c: Comparison) -> str:
    verdict, n = c.judgement.verdict, c.contrast.n
    if verdict == "incomplete":
        return (
            f"{wording.counted(n, 'pair')} of {len(c.a.status)}: no verdict before every run has an outcome"
        )
    if verdict == "unstable" or c.contrast.any_diverged:
        return _diverged(c)
    if verdict == "degenerate":
        return "every difference is 0"
    if verdict == "saturated":
        return _saturated(c)
    if n < 2:
        return f"{wording.counted(n, 'pair')}: no interval and no test"
    if verdict == "inconclusive":
        return _inconclusive(c)
    return "" if c.margin is None else _relevance(c, c.margin)


def _rates(c: Comparison) -> str:
    a, b = (f"{rate(int(s.solved[s.ended].sum()), int(s.ended.sum()))} of {s.variant}" for s in (c.a, c.b))
    more, less = c.contrast.only
    return (
        f"solved: {a}, {b}; {more} only by the variant, {less} only by the baseline, "
        f"{wording.p_value(c.contrast.p_rate)} (exact test of both rates)"
    )


def _diverged(c: Comparison) -> str:
    rates = [f"{rate(s.diverged, int(s.ended.sum()))} of {s.variant}" for s in (c.a, c.b)]
    one = c.contrast
    scored = "they count with the metric's floor"
    if one.without_score:
        scored = "the metric has no floor to score them with"
    kept = one.differences.on(one.completed)
    alone = "no pair converged"
    if kept.n > 1:
        bounds = kept.interval(c.alpha)
        shown = f"{wording.signed(kept.mean, bounds)} {wording.interval(bounds)}"
        alone = f"the {kept.n} pairs that converged alone show {shown}"
    elif kept.n:
        alone = "one pair converged"
    return f"diverged: {', '.join(rates)}; {scored}; {alone}"


def _saturated(c: Comparison) -> str:
    one = c.contrast
    if not one.at_ceiling(c.margin or 0.0):
        return "no run is better than guessing: train longer, or choose an easier setting"
    if one.task.outcome == "all_or_nothing" and one.solved is not None and np.all(one.solved):
        most = wording.exact(round(clopper_pearson(0, one.n)[1], 2))
        return (
            f"every run solved the task: a failure rate of up to {most} is not excluded; more seeds or a harder "
            "setting would tell"
        )
    return (
        "every run is at the metric's ceiling: a smaller margin, a harder setting or a metric without a ceiling would "
        "tell"
    )


def _inconclusive(c: Comparison) -> str:
    one, p = c.contrast, c.judgement.p
    parts = []
    if c.m > 1 and p < ALPHA:
        parts.append(f"significant alone ({wording.p_value(p)}), not among {c.m} comparisons")
    if one.by_rate:
        least = detectable_failure_rate(one.n, c.level)
        parts.append(
            f"{one.n} seeds cannot tell any failure rate from 0 among {c.m} comparisons"
            if math.isnan(least)
            else f"{one.n} seeds tell a failure rate of {wording.exact(round(least, 2))} from 0 with 80 % power"
        )
        return "; ".join(parts)
    d = one.differences
    mde = c.detectable[0]
    if math.isinf(mde):
        parts.append(f"{one.n} seeds detect no difference that the metric can show with 80 % power")
    else:
        shown, low, high = (
            wording.number(bound, wording.decimals(mde))
            if math.isfinite(bound)
            else "more than the metric can show"
            for bound in c.detectable
        )
        parts.append(f"{one.n} seeds detect {shown} with 80 % power (95 % interval of that: {low} to {high})")
    if math.isnan(c.seeds_needed):
        pass  # seeds do not help where no run finds the solution
    elif math.isfinite(c.seeds_needed):
        parts.append(
            f"about {c.seeds_needed:.0f} seeds would settle it if the observed difference is the true one"
        )
    elif d.squares is not None and math.isfinite(seeds_needed(replace(d, examples=None), c.m, c.margin)):
        parts.append("more examples, not more seeds, would settle it")
    else:
        parts.append(f"more than {MAX_SEEDS:,} seeds would be needed to settle the observed difference")
    return "; ".join(parts)


def _relevance(c: Comparison, margin: float) -> str:
    """The position of the interval relative to the margin, where the verdict does not say it."""
    d = c.contrast.differences
    if c.judgement.verdict == "equivalent":
        if c.task.outcome != "graded":
            only = " and ".join(str(x) for x in c.contrast.only)
            seeds = f"{only} of {c.contrast.n} seeds"
            return f"solved by one side alone: {seeds}; on the others equal within half of the margin"
        inside = f"inside ±{wording.exact(margin)}{' at the level of the family' if c.m > 1 else ''}"
        return (
            inside
            if d.interval(c.alpha)[0] <= 0 <= d.interval(c.alpha)[1]
            else f"{inside}, though the 95 % interval excludes 0"
        )
    if c.contrast.by_rate:
        return "the rates differ; the size of the mean difference is exploratory"
    low, high = d.interval(c.alpha)
    if low > margin or high < -margin:
        return ""
    bounds_95 = wording.interval((low, high), margin, -margin)
    return f"may be smaller than the margin {wording.exact(margin)}: 95 % interval {bounds_95}"


def _missing(c: Comparison) -> list[str]:
    """Why planned seeds have no pair, divergence apart: `a failed (seeds 1, 4)`."""
    causes: dict[str, list[str]] = {}
    for side in (c.a, c.b):
        for seed, status in _absent(side, c.metric):
            cause = "has no value" if status == "completed" else status
            causes.setdefault(f"{side.variant} {cause}", []).append(str(seed))
    return [f"{cause} (seed{'s' * (len(s) > 1)} {', '.join(s)})" for cause, s in causes.items()]


def _absent(side: Side, metric: str) -> list[tuple[int, str]]:
    absent = np.isnan(side.values(metric)) & (side.status != "diverged")
    return list(zip(np.array(side.runs.seeds)[absent], side.status[absent], strict=True))
