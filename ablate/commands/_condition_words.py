"""What several conditions cost, and what verdicts over them can detect, in sentences for `ablate plan`."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.base.wording import duration
from ablate.pipeline.plan.condition_plan import ConditionCost, ConditionPlan
from ablate.report.words import message, some


def costs_in_words(plan: ConditionPlan) -> str:
    """Returns the conditions with what each costs."""
    costs = some(_cost(cost) for cost in plan.costs)
    return message("plan.conditions", len(plan.costs), plan.costs[0].trials, costs)


def _cost(cost: ConditionCost) -> str:
    """Returns the name of a condition with its time or, where that is not known, its share of the compute."""
    if cost.seconds is not None:
        return message("plan.condition", cost.name, duration(cost.seconds), "")
    percent = "" if cost.compute_share is None else f"{100 * cost.compute_share:.0f}"
    return message("plan.condition", cost.name, "", percent)


def forms_in_words(plan: ConditionPlan) -> Iterator[str]:
    """Yields what each form of a verdict can detect; and which to choose, where conditions are many."""
    effects = plan.effects
    if effects is None:
        return
    count = len(plan.costs)
    parts: list[str] = []
    if plan.judges_rows:
        parts.append(message("plan.each", effects.each))
    if plan.has_mean:
        parts.append(message("plan.mean", effects.mean, count))
    parts.append(message("plan.every", effects.every, count))
    along = "" if effects.trend is None else plan.along
    seeds = message("plan.seeds_at_most" if plan.is_sequential else "plan.seeds", plan.seeds)
    yield message("plan.forms", seeds, parts, along, effects.trend)
    if plan.proposes_mean:
        yield message("plan.propose_mean")
