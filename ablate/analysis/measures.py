"""The estimators of derived metrics, and the measure of each metric that a claim may name."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from ablate.analysis import sensitivity, speed
from ablate.analysis.measure import Estimator, Measure
from ablate.analysis.paired import Floats
from ablate.analysis.runs import Side
from ablate.core.derived import CALL_OF, DERIVED, LR_SENSITIVITY, StudyContext
from ablate.core.facts import StudyFacts, TaskFacts
from ablate.core.metric import Metric
from ablate.core.reason import Reason


def _solved(side: Side) -> Floats:
    """Returns 1 where a run solved the task, else 0; NaN without an outcome."""
    return np.where(side.ended, side.solved, np.nan)


def _diverged(side: Side) -> Floats:
    """Returns 1 where a run diverged, else 0; NaN without an outcome."""
    return np.where(side.ended, side.status == "diverged", np.nan)


def _arrived(side: Side) -> Floats:
    """Returns the step at which a run first holds the target."""
    return side.arrived.first


def _late(side: Side) -> Reason | None:
    """Returns the reason where runs never arrive that were trained for less than others.

    Others count with more steps than these runs had time for.
    """
    arrived = side.arrived
    never = int(np.isinf(arrived.first).sum())
    if never == 0 or arrived.trained == arrived.longest:
        return None
    return Reason("late", {"runs": never, "steps": arrived.trained, "longest": arrived.longest})


def _within_training(metric: Metric, side: Side) -> Metric:
    """Returns `steps_to_target` with the length of training as its floor, and the steps between evaluations."""
    return replace(metric, floor=side.arrived.trained, resolution=side.arrived.every)


ESTIMATORS: Mapping[str, Estimator] = {
    "solved_rate": Estimator(by_seed=_solved),
    "divergence_rate": Estimator(by_seed=_diverged),
    "seed_spread": Estimator(),
    "steps_to_target": Estimator(by_seed=_arrived, obstacle=_late, refined=_within_training, of_arrival=True),
    **{name: Estimator(estimate=speed.estimate, slack=speed.slack) for name in CALL_OF},
    LR_SENSITIVITY: Estimator(
        by_seed=partial(sensitivity.sensitivity_by_seed, left_out=None),
        obstacle=sensitivity.untrained,
        estimate=sensitivity.estimate,
    ),
}
"""Name of a metric of `core.derived` → how it is estimated."""


def measure_of(name: str, task: TaskFacts, facts: StudyFacts) -> Measure | None:
    """Returns how variants are compared by the metric `name` of a claim; None where the task cannot tell it."""
    if name in task.metrics or name in task.stability:
        return Measure(name, "mean", task)
    derived = DERIVED.get(name)
    if derived is None or (derived.kind == "spread" and facts.metric not in task.metrics):
        return None
    # The estimate of a ratio says itself that it was not measured.
    if derived.kind != "ratio":
        of_stages = {LR_SENSITIVITY} if sensitivity.rates_of(facts) else set()
        if derived.lacks(StudyContext(task.metrics, of_stages, target=facts.target)):
            return None
    return Measure(name, derived.kind, task, ESTIMATORS[name])
