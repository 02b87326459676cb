"""Metrics that choose the step at which another one counts: none may be the judged number itself, in whatever units."""

from __future__ import annotations

import numpy as np

from ablate.analysis.paired import Floats
from ablate.base.errors import Invalid
from ablate.core.facts import Evidence, TaskFacts

EXACT = 1e-9
"""The share of their range within which values lie on a line."""
LEAST_VALUES = 3
"""The distinct values from which a line is no chance."""
LEAST_ORDERED = 20
"""The distinct values from which one order is no chance."""
LEAST_TURNS = 8
"""The turns of a curve from which its order is not that of the steps: of curves that only rise, all orders are one."""


def refuse_own_guides(evidence: Evidence) -> None:
    """Raises `Invalid` where the judged metric counts at its own best step, under another name.

    Only the runs tell: a metric that is declared as one on validation data may print the judged number.
    """
    for task in evidence.facts.tasks:
        guide = task.stated.by if task.stated is not None else ""
        if guide and _is_own_guide(evidence, task, guide):
            raise Invalid(
                f"metrics.{evidence.facts.metric}.by",
                "is the metric itself at every step of every run, whose best value would be luck",
                guide,
                hint="Name a metric on validation data, and check what your code prints under this name",
            )


def _is_own_guide(evidence: Evidence, task: TaskFacts, guide: str) -> bool:
    """Returns whether a metric is the judged one at every step of every completed run on a task."""
    trials = evidence.trials
    completed = trials.loc[(trials["task"] == task.name) & (trials["status"] == "completed"), "id"]
    curves = evidence.curves[evidence.curves["id"].isin(completed)]
    by_step = curves[curves["metric"].isin([guide, evidence.facts.metric])]
    by_step = by_step.pivot_table(index=["id", "step"], columns="metric", values="value", aggfunc="last")
    if {guide, evidence.facts.metric} - {*by_step}:
        return False
    both = by_step.dropna()
    return chooses_same_steps(both[guide].to_numpy(float), both[evidence.facts.metric].to_numpy(float))


def chooses_same_steps(guide: Floats, judged: Floats) -> bool:
    """Returns whether the best step of one metric is that of the other, whatever the runs: they are one number.

    They are equal at each of several steps; or in other units, as an error and accuracy; or in one order, as a metric
    that is rounded, or a function of the other such as a perplexity.

    guide, judged: values at the same steps of the same runs, shape (num_values,), finite. Equal values that never
    change show nothing.
    """
    order = np.argsort(guide, kind="stable")
    low, high = order[[0, -1]] if len(order) else (0, 0)
    if not len(order) or guide[low] == guide[high] or judged[low] == judged[high]:
        return False
    if np.allclose(guide, judged, rtol=EXACT, atol=0):
        return True
    slope = (judged[high] - judged[low]) / (guide[high] - guide[low])
    line = judged[low] + slope * (guide - guide[low])
    is_on_line = np.abs(judged - line) <= EXACT * max(np.ptp(judged), np.abs(judged).max())
    if is_on_line.all() and len(np.unique(guide)) >= LEAST_VALUES:
        return True
    return _is_one_order(guide, judged) or _is_one_order(guide, -judged)


def _is_one_order(guide: Floats, judged: Floats) -> bool:
    """Returns whether no value of one metric is larger and of the other smaller, of values that rise and fall often."""
    if min(len(np.unique(guide)), len(np.unique(judged))) < LEAST_ORDERED:
        return False
    rises = np.sign(np.diff(guide))
    rises = rises[rises != 0]
    if np.count_nonzero(rises[1:] != rises[:-1]) < LEAST_TURNS:
        return False
    ordered = judged[np.lexsort((judged, guide))]
    return bool((np.diff(ordered) >= 0).all())
