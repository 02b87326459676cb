"""The section `training:`, by which every variant is trained."""

from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from ablate.base.registry import OnOff, Slot, StrictModel
from ablate.tasks.task import Task

INITIAL = 256  # Validation examples on which the loss before the first step is taken.
LEAST = 128  # The fewest validation examples of an evaluation, where neither study nor task asks for fewer.


class EvaluationSection(StrictModel):
    """The settings of evaluation: validation examples, a test with the best weights, measures of each layer."""

    validation: PositiveInt | None = None
    """Validation examples of each evaluation. Not given: as many as leave all examples that are only forwarded, test
    included, at a quarter of those that are trained, at least 128; never more than the task has."""
    best: OnOff = False
    """On: the test set is read once more, with the weights that were best on validation data; always where the study
    judges by them (`at: best_validation`)."""
    layers: OnOff = False
    "On: attention_entropy, attention_logit_max and dead_units are measured after the last step."


class TrainingSection(StrictModel):
    """The settings of training: one optimizer, one schedule, a fixed number of steps."""

    steps: PositiveInt = 1000
    "Number of updates."
    batch_size: PositiveInt = 64
    "Examples per update."
    optimizer: Annotated[Any, Slot("optimizer")] = "adamw"
    "adamw or sgd."
    lr: PositiveFloat = 1e-3
    "Peak learning rate."
    weight_decay: NonNegativeFloat = 0.0
    "Strength λ of weight decay; norms and biases are exempt."
    decay: Literal["decoupled", "l2"] = "decoupled"
    "decoupled: w ← w − lr·λ·w beside the update; l2: λ‖w‖² added to the loss."
    schedule: Annotated[Any, Slot("schedule")] = "constant"
    "Learning rate after the warm-up: constant, linear or cosine."
    warmup_steps: NonNegativeInt = 0
    "Updates over which the learning rate rises linearly from 0."
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    "Largest global norm of the gradient; not given: not clipped."
    eval_every: PositiveInt = 100
    "Updates between two evaluations on validation data."
    evaluation: EvaluationSection = EvaluationSection()
    "Number of validation examples, and what else is measured."
    device: Literal["auto", "cpu", "cuda"] = "auto"
    "auto: cuda when there is one."

    @property
    def reports(self) -> tuple[int, ...]:
        """The numbers of steps after which a training is evaluated, ascending: the multiples of `eval_every`, and the
        last step.
        """
        return (*range(self.eval_every, self.steps, self.eval_every), self.steps)

    def validation_size(self, task: Task) -> int:
        """Returns how many validation examples each evaluation reads: `evaluation.validation` or, where this is None, a
        default; never more than the task has.

        The default is as many as leave all examples that are only forwarded at a quarter of those that are trained,
        at least 128.
        """
        size = self.evaluation.validation
        if size is None:
            forwarded = self.steps * self.batch_size // 4
            size = max(LEAST, (forwarded - self._tested(task) - INITIAL) // len(self.reports))
        return min(size, task.sampling.validation or size)

    def forwarded(self, task: Task) -> int:
        """Returns the largest number of examples that a training forwards without a gradient for the initial loss, in
        all evaluations and in all tests; decoding and measures of layers are not counted.
        """
        initial = min(INITIAL, task.sampling.validation or INITIAL)
        return initial + len(self.reports) * self.validation_size(task) + self._tested(task)

    def _tested(self, task: Task) -> int:
        """Returns the largest number of examples that all tests forward: those of test split and slices once, and with
        `best` once more for each metric.
        """
        examples = task.sampling.test
        for name in task.slices():
            examples += task.sliced(name).sampling.test
        # Each metric has a best step of its own.
        tests = 1 + len(task.metrics) if self.evaluation.best else 1
        return tests * examples
