"""The training loop: a model, a task, a seed → metrics, curves and arrays."""

import math
import time
import warnings
from collections.abc import Mapping
from itertools import islice

import torch

from ablate.base.errors import described
from ablate.core.metric import plain
from ablate.core.record import Record, Status
from ablate.core.trial import Emit, Trial
from ablate.models.inspection import cut, layer_metrics
from ablate.models.model import Model, decay_groups
from ablate.tasks.task import Batch, Task
from ablate.training.evaluation import Tested, evaluate, metrics_of, outcomes, tested
from ablate.training.history import Best, History
from ablate.training.optimizers import Optimizer, WeightDecay, clip_gradients
from ablate.training.resume import Run, packed
from ablate.training.schedules import learning_rates
from ablate.training.section import INITIAL, TrainingSection

# Losses are read, and so checked, this many at a time; on a GPU, reading waits for the device.
STEPS_BEFORE_SYNC = {"cpu": 1, "cuda": 50}
INSPECTED = 64  # Validation examples on which layers are measured, where the study asks for that.
WEIGHTS = 1 << 20  # Largest number of attention weights of one head that are computed together for that.


def train(model: Model, task: Task, training: TrainingSection, trial: Trial, emit: Emit) -> Record:
    """Trains `model` in place on its device, with the data of the trial's seed.

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
    started = time.perf_counter()
    device = model.device.type
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer: Optimizer = training.optimizer.build(parameters)
    decay = WeightDecay(training.decay, training.weight_decay, decay_groups(model)[0])
    primary = next(iter(task.metrics))
    asks_best = training.evaluation.best
    # Those of the first metric always: a state may be taken up by a trial that keeps its best weights.
    best = Best(task.metrics, [*task.metrics] if asks_best else [primary])
    history = History()
    forms = ("{}", "validation_{}", *(["{}_at_best_validation"] if asks_best else []))
    measured = metrics_of(model, task)
    names = ["initial_loss", "test_loss", *(form.format(name) for form in forms for name in measured)]
    run = Run(model, optimizer, history, best, started, dict.fromkeys(names))
    metrics, unread = run.metrics, run.unread
    validation_split = task.split(trial.seed, "validation", device)
    batches = task.train_batches(trial.seed, training.batch_size, device)

    def outcome(status: Status, reason: str = "", weights: bytes | None = None) -> Record:
        metrics.update(history.summary())
        metrics.update({f"{name}_best_step": best.steps.get(name) for name in task.metrics})
        metrics["train_seconds"] = run.seconds
        kept = ["final", "best"] if best.steps.get(primary) == training.steps else [trial.checkpoint]
        finite = {name: value is not None and math.isfinite(value) for name, value in metrics.items()}
        return Record.of(
            trial,
            status,
            reason=reason,
            metrics={name: value if finite[name] else None for name, value in metrics.items()},
            curves=history.curves,
            arrays=history.arrays,
            data=dict(task.digests(trial.seed)),
            kept=[] if weights is None else kept,
            weights=weights,
        )

    model.train()
    if trial.state is not None:
        run.load(trial.state, batches)
    else:
        metrics["initial_loss"] = outcomes(model, task, _spread(validation_split, INITIAL))[1]
    validation_split = _spread(validation_split, training.validation_size(task))
    for step, lr in islice(enumerate(learning_rates(training)), run.done, None):
        batch = next(batches)
        model.start_step(step)
        loss = task.loss(model(**batch.model_inputs()), batch)
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        decay.add_gradient()
        norm = clip_gradients(parameters, training.clip_norm)
        decay.shrink(lr)
        optimizer.step(lr)

        run.done = done = step + 1
        last = done == training.steps
        evaluating = last or done % training.eval_every == 0
        unread += [loss.detach(), norm]
        if evaluating or len(unread) >= 2 * STEPS_BEFORE_SYNC[device]:
            numbers = iter(torch.stack(unread).tolist())
            unread.clear()
            if not all(history.add(*pair) for pair in zip(numbers, numbers, strict=True)):
                return outcome(
                    "diverged", f"diverged: training loss was not finite at step {len(history.losses)}"
                )
        if evaluating:
            validation = evaluate(model, task, validation_split)
            point = history.evaluated(lr, validation)
            best.offer(done, validation, model)
            metrics |= {f"validation_{name}": value for name, value in validation.items()}
            if reason := _not_finite(validation, "validation", done):
                return outcome("diverged", reason)
            if emit(done, point) and not last:
                return outcome("pruned", f"stopped after step {done} of {training.steps}")
        if trial.save_every and done % trial.save_every == 0 and not last:
            emit(done, {}, run.save())

    if reason := history.risen(task.chance_loss):
        return outcome("diverged", reason)
    if training.evaluation.layers:
        metrics |= _of_layers(model, validation_split)
    keep = {"final": training.steps, "best": best.steps.get(primary)}.get(trial.checkpoint)
    on_test: dict[int, Tested] = {}
    weights = None
    # The last step first: its weights are those that the model has.
    others = best.weights if asks_best else {keep} & best.weights.keys()
    for step in sorted({training.steps, *others}, reverse=True):
        if step != training.steps:
            model.load_state_dict(best.weights[step])
        if step == training.steps or asks_best:
            on_test[step] = tested(model, task, trial.seed, device)
        if step == training.steps and (reason := _not_finite(on_test[step].finite, "test", step)):
            return outcome("diverged", reason)
        if step == keep:
            weights = packed(model)
    at_end = on_test[training.steps]
    judged = {name: (at_end, name) for name in at_end.metrics}
    if asks_best:
        # What validation does not show is as at the best step of the metric that it belongs to, or of the first.
        steps = {name: best.steps.get(plain(name), best.steps[primary]) for name in at_end.metrics}
        judged |= {f"{name}_at_best_validation": (on_test[step], name) for name, step in steps.items()}
    metrics |= {column: of.metrics[name] for column, (of, name) in judged.items()}
    metrics["test_loss"] = at_end.loss
    record = outcome("completed", weights=weights)
    if task.sampling.pool != "fresh":
        kept = {column: of.by_example.get(name) for column, (of, name) in judged.items()}
        record.arrays |= {f"test/{column}": values for column, values in kept.items() if values is not None}
    return record


def _of_layers(model: Model, validation: Batch) -> dict[str, float]:
    """`layer_metrics` on the first examples of a split; none where they cannot be had."""
    try:
        return layer_metrics(model, cut(validation[:INSPECTED], WEIGHTS))
    except Exception as error:
        # A plugin's part may not stand the look; what it has learned is not lost for that.
        warnings.warn(f"its layers are not measured: {described(error)[0]}", stacklevel=2)
        return {}


def _spread(split: Batch, count: int) -> Batch:
    """So many examples from all over a split, whose order may mean something."""
    rows = torch.arange(min(count, len(split)), device=split.targets.device) * len(split)
    return split[rows // min(count, len(split))]


def _not_finite(metrics: Mapping[str, float], split: str, step: int) -> str:
    """Why such an evaluation means divergence, or nothing."""
    names = [name for name, value in metrics.items() if not math.isfinite(value)]
    return f"diverged: {split} {' and '.join(names)} was not finite after step {step}" if names else ""
