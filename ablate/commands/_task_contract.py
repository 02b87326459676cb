"""The rules of `ablate check` for a task.

repeat    it draws the same data under one seed
seeds     it trains on other data under another seed
apart     it has no test example in validation, nor in training unless its `coverage` says so
fits      a small model can be trained on it
measure   it gives each of its metrics for each of as many test examples as `sampling` says
solved    floor, solved and ceiling of a metric are in order, and all there where outcomes are all or nothing
"""

import inspect
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from ablate.core.metric import sign
from ablate.models.build import build_model
from ablate.models.reference import settings_for
from ablate.models.section import ModelSection
from ablate.study.checks import attempt
from ablate.tasks.task import Batch, Split, Task, digest

SMALL: Mapping[str, Any] = {"d_model": 16, "num_layers": 1}
NUM_BATCHES = 20
BATCH_SIZE = 50


def check_task(part: Any) -> Mapping[str, str]:
    """Returns how a task breaks each rule, empty where it does not.

    A task that asks for a file reads the data that have the plugin's name and lie beside it.
    """
    file = Path(inspect.getfile(part))
    files = [str(path) for path in file.parent.glob(f"{file.stem}.[ct]*")]
    settings = {"name": part.name} | settings_for(part.Config, files)
    task: Task = part.Config.model_validate(settings).build()
    task.check_declared()

    draws = [_draw(task, seed) for seed in (0, 0, 1)]
    first, again, other = ([digest(batch) for batch in batches] for batches in draws)
    faults = dict.fromkeys(("repeat", "seeds", "apart", "fits", "measure", "solved"), "")
    if first != again:
        faults["repeat"] = "two draws under one seed differ"
    if first[0] == other[0]:
        faults["seeds"] = "two seeds train on the same data"
    if not _is_apart(task, draws[0]):
        faults["apart"] = "test examples occur in training or validation"
    faults["fits"], faults["measure"] = _faults_of_training(task, draws[0])
    if not _is_scaled(task):
        faults["solved"] = "floor, solved and ceiling of a metric are missing or not in order"
    return faults


def _draw(task: Task, seed: int) -> list[Batch]:
    """Returns some batches of training, then the validation and the test split."""
    batches = islice(task.train_batches(seed, BATCH_SIZE, "cpu"), NUM_BATCHES)
    splits = [task.split(seed, name, "cpu") for name in get_args(Split)]
    return [*batches, *splits]


def _is_apart(task: Task, batches: Sequence[Batch]) -> bool:
    """Returns whether test examples occur neither in validation nor, where the task rules that out, in training."""
    *others, validation, test = batches
    if digest(test) == digest(validation):
        return False
    if task.coverage(NUM_BATCHES * BATCH_SIZE) != 0:
        return True
    seen: set[bytes] = set()
    for batch in (*others, validation):
        seen |= _rows(batch)
    return seen.isdisjoint(_rows(test))


def _rows(batch: Batch) -> set[bytes]:
    """Returns what a model is given of each example."""
    inputs = [tensor.numpy() for tensor in batch.model_inputs().values() if tensor is not None]
    return {b"".join(row.tobytes() for row in rows) for rows in zip(*inputs, strict=True)}


def _faults_of_training(task: Task, batches: Sequence[Any]) -> tuple[str, str]:
    """Returns why a small model cannot be trained on the task, and how its measures of the test split are wrong."""
    section = ModelSection.model_validate({**SMALL, "topology": task.topologies[0]})
    model = build_model(section, task.signature)

    def shapes_of_metrics(batch: Any) -> dict[str, tuple[int, ...]]:
        logits = model(**batch.model_inputs())
        task.loss(logits, batch)
        outcomes = task.measure(logits, batch)
        metrics = task.summarise({name: values.detach().numpy() for name, values in outcomes.items()})
        shapes = {name: tuple(values.shape) for name, values in outcomes.items()}
        # A metric that only a summary has counts as measured.
        return {name: shapes.get(name, (len(batch),)) for name in metrics}

    faults = []
    for batch in batches:  # The last is the test split, whose shapes are compared.
        shapes, problems = attempt(shapes_of_metrics, batch)
        faults += problems
    if faults:
        return f"no model can be trained on it: {faults[0].rule}", ""
    declared = dict.fromkeys(task.metrics, (task.sampling.test,))
    if shapes != declared:
        return "", f"it gives {shapes} of test, not {declared}"
    return "", ""


def _is_scaled(task: Task) -> bool:
    """Returns whether floor, solved and ceiling of each metric are in order, and there where the outcome needs them.

    Where outcomes are all or nothing, the first metric needs all three.
    """
    scales: list[list[float]] = []
    for metric in task.metrics.values():
        values = [value for value in (metric.floor, metric.solved, metric.ceiling) if value is not None]
        scales.append([sign(metric) * value for value in values])
    complete = task.outcome == "graded" or len(scales[0]) == 3
    return complete and all(scale == sorted(scale) for scale in scales)
