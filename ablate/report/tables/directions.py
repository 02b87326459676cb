"""The direction in which a metric is better, and differences in it: in words, and in the signs of rows.

Imports neither pandas nor matplotlib.
"""

from collections.abc import Sequence
from typing import Any

from ablate.core.derived import DERIVED
from ablate.core.facts import StudyFacts
from ablate.core.metric import Direction, Metric
from ablate.core.spelling import spelled
from ablate.report.words import Row, message, number, text


def primary_metric(facts: StudyFacts) -> Metric:
    """Returns the primary metric, as the first task that has it declares it."""
    return next(task.metrics[facts.metric] for task in facts.tasks if facts.metric in task.metrics)


def direction_of(facts: StudyFacts, task: Any, metric: str) -> Direction:
    """Returns whether more (`max`) or less (`min`) of a metric is better on a task, by name.

    A ratio of times or of memory stays as it is measured, and so does a metric that nobody declares: `max`.
    """
    # First those of the task, since tasks may differ; a claim that no task has decided names none.
    for of_task in sorted(facts.tasks, key=lambda of_task: of_task.name != task):
        declared = of_task.metrics.get(metric) or of_task.stability.get(metric)
        if declared is not None:
            return declared.direction
    derived = DERIVED.get(metric)
    return "max" if derived is None or derived.kind == "ratio" else derived.metric.direction


def is_share(metric: Metric) -> bool:
    """Returns whether a metric is a share of 1, whose differences are points of a hundred."""
    return metric.ceiling == 1 and metric.floor is not None and metric.floor >= 0


def better_word(direction: str) -> str:
    """Returns `more` or `less`: what of a metric is better."""
    return "less" if direction == "min" else "more"


def better_side(direction: Direction) -> str:
    """Returns the side of an axis on which a difference in a metric of this direction is better."""
    return "right" if direction == "max" else "left"


def difference_label(name: str, metric: Metric) -> str:
    """Returns the label of an axis of differences in a metric, in its own direction."""
    return f"difference in {spelled(name)}, {better_side(metric.direction)} is better"


def less_is_better(rows: Sequence[Row], facts: StudyFacts) -> list[str]:
    """Returns the metrics of some rows of which less is better, in words."""
    metrics = dict.fromkeys((row.get("task"), text(row["metric"])) for row in rows)
    less = [spelled(metric) for task, metric in metrics if direction_of(facts, task, metric) == "min"]
    return list(dict.fromkeys(less))


def less_in_caption(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the end of a caption that names the metrics of which less is better; "" where there is none."""
    less = less_is_better(rows, facts)
    return message("verdicts.less_is_better", less) if less else ""


def own_direction(row: Row, direction: Direction) -> dict[str, Any]:
    """Returns a row with `diff`, `ci_low` and `ci_high` as variant minus baseline, in the direction of its metric.

    Tables and files keep them oriented, so that positive is better; where less is better they change their signs, and
    the ends of the interval their places. Turned twice, a row has the numbers that it had.
    """
    if direction == "max":
        return dict(row)
    sources = {"diff": "diff", "ci_low": "ci_high", "ci_high": "ci_low"}
    return {**row, **{name: _negated(row.get(source)) for name, source in sources.items()}}


def _negated(value: Any) -> float | None:
    known = number(value)
    return None if known is None else -known
