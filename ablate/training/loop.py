"""The training loop: a model, a task, a seed → metrics, curves and arrays."""

import math
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import NoReturn, assert_never

import numpy as np
import torch
from numpy.typing import NDArray

from ablate.base.errors import described
from ablate.core.metric import plain
from ablate.core.record import Record, Status
from ablate.core.trial import Emit, Trial
from ablate.models.inspection import cut, layer_metrics
from ablate.models.model import Model
from ablate.tasks.task import Batch, Task
from ablate.training.evaluation import (
    TestEvaluation,
    evaluate_on_test,
    evaluate_split,
    measure_examples,
    metrics_of,
)
from ablate.training.history import Best, History
from ablate.training.resume import TrainingState, packed
from ablate.training.schedules import learning_rates
from ablate.training.section import INITIAL, TrainingSection
from ablate.training.step import TrainingStep

# Device → the steps whose losses are read, and so checked, at a time; on a GPU, reading waits for the device.
STEPS_BEFORE_SYNC = {"cpu": 1, "cuda": 50}
INSPECTED = 64  # Validation examples on which layers are measured, where the study asks for that.
WEIGHTS = 1 << 20  # Largest number of attention weights of one head that are computed together for that.


def train(model: Model, task: Task, training: TrainingSection, trial: Trial, emit: Emit) -> Record:
    """Trains a model in place on its device, with the data of the trial's seed, and returns the record: of status
    `completed`, `diverged` or, where `emit` returned True before the last step, `pruned`.

    Evaluates on validation data every `eval_every` steps and after the last, when `emit` is called. Metrics:

    M, for each of the task's metrics    on test after the last step
    M@SLICE, for the first of them       on a slice of test after the last step, where the model can read it
    M_at_best_validation                 on test, with the weights of `M_best_step`; with `evaluation: {best: on}`
    M_best_step                          the evaluation at which M itself was best on validation, the first on ties
    validation_M                         at the last evaluation
    initial_loss, test_loss              the task's loss: on some validation examples before the first step, and on
                                         test after the last
    train_loss                           mean over the last 5 % of steps
    loss_spikes                          share of steps whose training loss is a spike (`ablate.training.history`)
    grad_norm_median, grad_norm_max      of the global norm before clipping, the gradient of l2 decay included
    attention_entropy, head_similarity, attention_logit_max, dead_units, each also /PATH
                                         of the layers, on validation examples after the last step (`layer_metrics`);
                                         with `evaluation: {layers: on}`
    train_seconds                        wall clock of the whole call, earlier attempts included

    A metric without a finite value is None; those on test are None unless the run completed, and those of layers
    absent. The test split is read after the last step, and for `best` once more for each further step that was best.
    Where seeds share test examples, a completed record has the arrays `test/M` and `test/M_at_best_validation` (N),
    which say what these metrics are on each of the N examples of the test split. `checkpoint: best` keeps the weights
    that are best for the task's first metric. The loss is the task's own, without l2 decay. A run diverged when a loss,
    or a validation or test metric, was not finite, which ends it at once, or when its training loss has risen
    (`History.risen`).
    """
    return Trainer(model, task, training, trial, emit).train()


class _RunEnded(Exception):
    """The end of a run that does not complete, with the reason: status `diverged`, or `pruned` where the driver stopped
    the run.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Trainer:
    """The training of one model on one task, from its first step or from `trial.state`; `train` runs all of it."""

    def __init__(self, model: Model, task: Task, training: TrainingSection, trial: Trial, emit: Emit) -> None:
        started = time.perf_counter()
        self.model = model
        self.task = task
        self.training = training
        self.trial = trial
        self.emit = emit
        self.device = model.device.type
        self.primary = next(iter(task.metrics))
        self.training_step = TrainingStep(model, task, training)
        # The weights of the first metric always: a state may be resumed by a trial that keeps its best weights.
        kept = list(task.metrics) if training.evaluation.best else [self.primary]
        self.best = Best(task.metrics, kept)
        self.history = History()
        self.metrics: dict[str, float | None] = dict.fromkeys(
            _metric_names(metrics_of(model, task), with_best=training.evaluation.best)
        )
        self.state = TrainingState(
            model=model,
            optimizer=self.training_step.optimizer,
            history=self.history,
            best=self.best,
            metrics=self.metrics,
            started=started,
        )
        self.validation_split = task.split(trial.seed, "validation", self.device)
        self.batches = task.train_batches(trial.seed, training.batch_size, self.device)
        self.learning_rates = learning_rates(training)

    def train(self) -> Record:
        """Trains until the last step, or until the run diverges or is stopped; returns the record in each case."""
        try:
            self.start()
            while not self.is_last:
                self.step()
                if self.is_evaluated:
                    self.evaluate()
                if self.is_saved:
                    self.emit(self.state.done, {}, self.state.to_bytes())
            return self.finish()
        except _RunEnded as end:
            return self.record(end.status, end.reason)

    @property
    def is_last(self) -> bool:
        """True once all `training.steps` are made."""
        return self.state.done == self.training.steps

    @property
    def is_evaluated(self) -> bool:
        """True after every `eval_every` steps, and after the last step."""
        return self.is_last or self.state.done % self.training.eval_every == 0

    @property
    def is_saved(self) -> bool:
        """True where the number of steps made is a multiple of the trial's `save_every`, except after the last step;
        False where `save_every` is None.
        """
        save_every = self.trial.save_every
        if not save_every or self.is_last:
            return False
        return self.state.done % save_every == 0

    def start(self) -> None:
        """Puts the model into training mode and loads the trial's state; where the trial has no state, measures
        `initial_loss` on at most `INITIAL` validation examples. Then reduces the validation split to the examples of
        one evaluation.
        """
        self.model.train()
        if self.trial.state is not None:
            self.state.load(self.trial.state, self.batches)
        else:
            examples = _evenly_spaced(self.validation_split, INITIAL)
            _, self.metrics["initial_loss"] = measure_examples(self.model, self.task, examples)
        size = self.training.validation_size(self.task)
        self.validation_split = _evenly_spaced(self.validation_split, size)

    def step(self) -> None:
        """Takes the next training step. Its loss and gradient norm enter the history at once on CPU, and by groups of
        steps on a GPU; raises `_RunEnded` where a loss that enters is not finite.
        """
        batch = next(self.batches)
        lr = self.learning_rates[self.state.done]
        self.state.unread += self.training_step.take(self.state.done, batch, lr)
        self.state.done += 1
        if self.is_evaluated or len(self.state.unread) >= 2 * STEPS_BEFORE_SYNC[self.device]:
            self._read_losses()

    def _read_losses(self) -> None:
        """Reads from the device all losses and norms that the history lacks, and adds them to the history. Raises
        `_RunEnded` at the first loss that is not finite.
        """
        numbers = torch.stack(self.state.unread).tolist()
        self.state.unread.clear()
        for loss, norm in zip(numbers[::2], numbers[1::2], strict=True):
            is_finite = self.history.add(loss, norm)
            if not is_finite:
                _diverge(f"training loss was not finite at step {len(self.history.losses)}")

    def evaluate(self) -> None:
        """Evaluates on validation data, keeps weights that are best so far, and reports to `emit`. Raises `_RunEnded`
        for a metric that is not finite, and where `emit` returns True before the last step.
        """
        done = self.state.done
        validation = evaluate_split(self.model, self.task, self.validation_split)
        point = self.history.add_evaluation(self.learning_rates[done - 1], validation)
        self.best.offer(done, validation, self.model)
        self.metrics |= {f"validation_{name}": value for name, value in validation.items()}
        _check_finite(validation, "validation", done)
        is_stopped = self.emit(done, point)
        if is_stopped and not self.is_last:
            raise _RunEnded("pruned", f"stopped after step {done} of {self.training.steps}")

    def finish(self) -> Record:
        """Tests the model after the last step and, with `evaluation: {best: on}`, with its best weights, and returns
        the completed record. Raises `_RunEnded` where the training loss has risen, or the loss or a metric on the test
        split after the last step is not finite.

        `History.risen` says when a loss has risen. The model may have other weights afterwards.
        """
        risen = self.history.risen(self.task.chance_loss)
        if risen:
            _diverge(risen)
        if self.training.evaluation.layers:
            self.metrics |= _layer_metrics(self.model, self.validation_split)

        last = self.training.steps
        tests = {last: self._test()}
        _check_finite(tests[last].finite, "test", last)
        weights = packed(self.model) if self._kept_step == last else None
        # From here on the model has other weights than after the last step.
        for step in self._earlier_steps():
            self.model.load_state_dict(self.best.weights[step])
            if self.training.evaluation.best:
                tests[step] = self._test()
            if self._kept_step == step:
                weights = packed(self.model)
        return self._completed(tests, weights)

    @property
    def _kept_step(self) -> int | None:
        """The step whose weights the record keeps: the last, the best for the first metric, or None, by
        `trial.checkpoint`.
        """
        match self.trial.checkpoint:
            case "none":
                return None
            case "final":
                return self.training.steps
            case "best":
                return self.best.steps.get(self.primary)
            case checkpoint:
                assert_never(checkpoint)

    def _earlier_steps(self) -> list[int]:
        """Returns, latest first, the steps before the last whose weights are loaded again: with
        `evaluation: {best: on}` the one best step of each metric, else the best step of the first metric where the
        record keeps its weights.
        """
        steps = set(self.best.weights)
        if not self.training.evaluation.best:
            steps &= {self._kept_step}
        return sorted(steps - {self.training.steps}, reverse=True)

    def _test(self) -> TestEvaluation:
        """Evaluates the model with its current weights on the test split of the trial's seed and on the slices that the
        model can read.
        """
        return evaluate_on_test(self.model, self.task, self.trial.seed, self.device)

    def _completed(self, tests: Mapping[int, TestEvaluation], weights: bytes | None) -> Record:
        """Returns the completed record with the metrics on test, the kept weights as bytes and, unless each seed has
        test examples of its own, the metrics of every test example.

        tests: step → the test with its weights, the last step among them.
        """
        last = tests[self.training.steps]
        # Column → the test that it is of, and the metric there.
        columns = {name: (last, name) for name in last.metrics}
        if self.training.evaluation.best:
            for name in last.metrics:
                # What validation does not show is taken at the best step of its metric without slice, or of the first.
                step = self.best.steps.get(plain(name), self.best.steps[self.primary])
                columns[f"{name}_at_best_validation"] = (tests[step], name)

        examples: dict[str, NDArray[np.float32]] = {}
        for column, (test, name) in columns.items():
            self.metrics[column] = test.metrics[name]
            if name in test.by_example:
                examples[f"test/{column}"] = test.by_example[name]
        self.metrics["test_loss"] = last.loss
        record = self.record("completed", weights=weights)
        if self.task.sampling.pool != "fresh":
            record.arrays |= examples
        return record

    def record(self, status: Status, reason: str = "", weights: bytes | None = None) -> Record:
        """Returns a record of the trial with all that was measured so far. Metrics that are infinite or NaN become
        None; curves and arrays keep infinite and NaN values.
        """
        self.metrics |= self.history.summary()
        for name in self.task.metrics:
            self.metrics[f"{name}_best_step"] = self.best.steps.get(name)
        self.metrics["train_seconds"] = self.state.seconds
        return Record.of(
            self.trial,
            status,
            reason=reason,
            metrics={name: _finite(value) for name, value in self.metrics.items()},
            curves=self.history.curves,
            arrays=self.history.arrays,
            data=dict(self.task.digests(self.trial.seed)),
            kept=[] if weights is None else self._kept_names(),
            weights=weights,
        )

    def _kept_names(self) -> list[str]:
        """Returns the kinds of kept weights, `final` or `best`; both where the last step is also the best for the
        first metric.
        """
        if self.best.steps.get(self.primary) == self.training.steps:
            return ["final", "best"]
        return [self.trial.checkpoint]


def _metric_names(measured: Iterable[str], *, with_best: bool) -> list[str]:
    """Returns the names of metrics that every record of a run has: `initial_loss`, `test_loss` and, for each test
    metric M in `measured`, M, `validation_M` and, where `with_best` is True, `M_at_best_validation`.
    """
    names = ["initial_loss", "test_loss", *measured]
    names += [f"validation_{name}" for name in measured]
    if with_best:
        names += [f"{name}_at_best_validation" for name in measured]
    return names


def _layer_metrics(model: Model, validation: Batch) -> dict[str, float]:
    """Returns the metrics of a model's layers, name → value, on the first `INSPECTED` examples of `validation`; where
    `layer_metrics` raises, warns and returns {}.
    """
    try:
        return layer_metrics(model, cut(validation[:INSPECTED], WEIGHTS))
    except Exception as error:
        # A plugin's part may not stand the look; what it has learned is not lost for that.
        warnings.warn(f"its layers are not measured: {described(error)[0]}", stacklevel=2)
        return {}


def _evenly_spaced(split: Batch, count: int) -> Batch:
    """Returns `count` examples at even distances in the order of a split, the first of the split among them; all
    examples where the split has fewer.

    The order of a split may mean something.
    """
    count = min(count, len(split))
    rows = torch.arange(count, device=split.targets.device) * len(split)
    return split[rows // count]


def _check_finite(metrics: Mapping[str, float], split: str, step: int) -> None:
    """Raises `_RunEnded`, as diverged, where a value of `metrics` is infinite or NaN. split and step are for the
    reason's text.
    """
    names = [name for name, value in metrics.items() if not math.isfinite(value)]
    if names:
        _diverge(f"{split} {' and '.join(names)} was not finite after step {step}")


def _diverge(reason: str) -> NoReturn:
    """Always raises `_RunEnded`, of status `diverged` and with the reason `diverged: REASON`."""
    raise _RunEnded("diverged", f"diverged: {reason}")


def _finite(value: float | None) -> float | None:
    """Returns a value; None where it is None, infinite or NaN."""
    return value if value is not None and math.isfinite(value) else None
