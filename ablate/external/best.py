"""The value of a metric at the best epoch: where another metric, such as one on validation data, was best."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from ablate.base.errors import AblateError, Gather, Invalid, listed, nearest
from ablate.base.wording import counted
from ablate.core.metric import Direction

At = Literal["last", "best"]
LAST, BEST = get_args(At)

# The values of a metric as they were read, each with its step; without steps they are counted from 1.
Readings = Sequence[tuple[int, float]]


def check_best(metrics: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `Invalid` for metrics whose `at` and `by` do not decide a step of a run."""
    with Gather() as at:
        for name, settings in metrics.items():
            others = [other for other in metrics if other != name]
            with at("metrics", name):
                _check_step(name, settings["at"], settings["by"], others)


def _check_step(name: str, at: At, by: str | None, others: Sequence[str]) -> None:
    """Raises `Invalid` for a metric whose `at` and `by` do not decide a step.

    others: the other metrics of the study.
    """
    if at == LAST and by is None:
        return
    if at == LAST:
        raise Invalid("by", "does nothing without `at: best`", by, hint="Add at: best, or leave out by")
    if by is None:
        hint = "Add by: METRIC, such as one on validation data"
        raise Invalid("at", "takes `by`, the metric that says which step was best", at, listed(others), hint)
    if by == name:
        raise Invalid("by", "is the metric itself, whose best value would be luck", by, listed(others))
    if by not in others:
        hint = nearest(by, others) or f"Declare {by} under `metrics`, with its direction"
        raise Invalid("by", "is not among `metrics`", by, listed(others), hint)


def best_values(
    metrics: Mapping[str, Mapping[str, Any]], readings: Mapping[str, Readings]
) -> dict[str, float]:
    """Returns the value of each metric that counts at its best step, by name.

    metrics: name → `direction`, `at` and `by`. readings: name → the values that were read. Raises `AblateError` where
    two metrics have no steps in common.
    """
    values: dict[str, float] = {}
    for name, by in guides_of(metrics).items():
        values[name] = _value_at_best(name, by, metrics[by]["direction"], readings)
    return values


def _value_at_best(name: str, by: str, direction: Direction, readings: Mapping[str, Readings]) -> float:
    """Returns the value of a metric at the step where `by` was best, the first on ties.

    NaN where `by` is finite at no step.
    """
    judged = readings[name]
    guide = readings[by]
    counts = f"{name} has {counted(len(judged), 'value')} and {by} has {len(guide)}"
    if len(judged) != len(guide) and _is_counted(judged) and _is_counted(guide):
        raise AblateError(
            f"{name} at the best {by}: the two have no steps in common that were read, since {counts}; "
            "read `step` beside them, or print both each time"
        )
    value_of = dict(judged)
    guide_of = {step: value for step, value in sorted(dict(guide).items()) if step in value_of}
    if len(guide_of) < 2:
        raise AblateError(
            f"{name} at the best {by}: takes two steps at which both were read, and there "
            f"{'is one' if guide_of else 'is none'}, since {counts}; print both at each epoch"
        )
    finite = {step: value for step, value in guide_of.items() if math.isfinite(value)}
    if not finite:
        return float("nan")
    choose = max if direction == "max" else min
    # The first of equal values: `max` and `min` take it, and the steps rise.
    best_step = choose(finite, key=finite.__getitem__)
    return value_of[best_step]


def _is_counted(readings: Readings) -> bool:
    """Returns whether the steps are 1, 2, 3, …, as values without steps are counted."""
    return [step for step, _ in readings] == list(range(1, len(readings) + 1))


def guides_of(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Returns metric → the metric that decides its step, for all metrics that count at their best step."""
    return {name: settings["by"] for name, settings in metrics.items() if settings["at"] == BEST}


def identity_of(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Returns the rules for the steps at which metrics count, as an entry of `Workload.identity`.

    Empty where all metrics count at the last step.
    """
    rules = [f"{name} by {by} ({metrics[by]['direction']})" for name, by in guides_of(metrics).items()]
    return {"at best": ", ".join(sorted(rules))} if rules else {}
