"""The description of a trial before it trains: measures of stability, constants for claims, cautions of its task."""

from collections.abc import Collection, Iterator, Mapping

from ablate.base.wording import exact
from ablate.core.metric import Metric, sign
from ablate.core.spelling import spelled
from ablate.models.inspection import DEAD, LOGIT
from ablate.tasks.task import Task
from ablate.training.history import WINDOW
from ablate.training.trial import TrialConfig

GUESSING = "guessing"
OVERLAP = 0.01  # Share of the test examples that training may have seen without a word.


def stability(trial: TrialConfig, task: Task, layer_metrics: Collection[str]) -> dict[str, Metric]:
    """Returns name → direction and range of the metrics of how steadily a trial trains: `test_loss`, `grad_norm_max`,
    with more than 100 steps `loss_spikes`, and with `evaluation: {layers: on}` those of `attention_logit_max` and
    `dead_units` that are in `layer_metrics`.

    layer_metrics: the names of the metrics that the model's layers have. For entropy and similarity of attention
    neither direction is better.
    """
    metrics = {"test_loss": Metric("min", floor=task.chance_loss), "grad_norm_max": Metric("min")}
    steps = trial.training.steps - WINDOW
    if steps > 0:
        metrics["loss_spikes"] = Metric("min", 1 / steps, floor=1.0, ceiling=0.0)
    if not trial.training.evaluation.layers:
        return metrics
    if LOGIT in layer_metrics:
        metrics[LOGIT] = Metric("min")
    if DEAD in layer_metrics:
        metrics[DEAD] = Metric("min", floor=1.0, ceiling=0.0)
    return metrics


def constants(task: Task, metrics: Mapping[str, Metric]) -> dict[str, Mapping[str, float]]:
    """Returns the constants that claims may compare a variant with, name → metric → value: `guessing`, which holds the
    floor of each metric with a floor, and the constants of the task.
    """
    guessing = {name: metric.floor for name, metric in metrics.items() if metric.floor is not None}
    return {GUESSING: guessing, **task.constants()}


def task_cautions(task: Task, draws: int) -> Iterator[str]:
    """Yields texts on what limits every model on a task: the task's own cautions, test examples that also occur in
    training, and the best that a model without some ability can reach. draws: the number of training examples.

    The second comes where over 1 % of the test examples are expected among the training examples; the third for the
    task's `without_` constants better than guessing.
    """
    yield from task.cautions()
    share = task.coverage(draws)
    if share is not None and share > OVERLAP:
        yield f"{100 * share:.0f} % of the test examples occur among the {draws:,} that training draws"
    name, metric = next(iter(task.metrics.items()))
    if metric.floor is None:
        return
    for constant, values in task.constants().items():
        best = values.get(name)
        if best is None or not constant.startswith("without_"):
            continue
        is_above_chance = sign(metric) * (best - metric.floor) > 0
        if is_above_chance:
            chance = f"chance is {exact(metric.floor)}"
            yield f"{spelled(constant)}, the best {spelled(name)} is {exact(best)}; {chance}"
