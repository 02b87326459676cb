import copy
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ablate.core.metric import Sampling
from ablate.core.trial import Trial
from ablate.models.build import build_model
from ablate.models.inspection import layer_metrics
from ablate.training import evaluation
from ablate.training import loop as module
from ablate.training.evaluation import evaluate_split, measure_examples
from ablate.training.loop import INSPECTED, train
from ablate.training.section import INITIAL, TrainingSection
from ablate.training.trial import parse

MEASURED = {"accuracy", "loss"}
METRICS = {
    *(f"{name}{at}" for name in MEASURED for at in ("", "_best_step")),
    *(f"validation_{name}" for name in MEASURED),
    *("initial_loss", "test_loss", "train_loss", "train_seconds"),
    *("loss_spikes", "grad_norm_median", "grad_norm_max"),
}
LAYERS = {
    "attention_entropy": "mixer",
    "head_similarity": "mixer",
    "attention_logit_max": "mixer",
    "dead_units": "feedforward",
}
OF_BEST = {f"{name}_at_best_validation" for name in MEASURED}
ALL = {"best": True, "layers": True}
OF_LAYERS = {f"{name}{path}" for name, at in LAYERS.items() for path in ("", f"/stack.blocks.0.{at}")}


def parts(config, seed=0):
    trial = parse(config)
    task = trial.task.build()
    return build_model(trial.model, task.signature, seed=seed), task, trial.training


def quiet(step, metrics):
    return False


def trained(model, task, training, seed=0, emit=quiet):
    return train(model, task, training, Trial("", {}, seed), emit)


def run(config, seed=0, emit=quiet):
    return trained(*parts(config, seed), seed, emit)


def test_a_run_measures_everything(resolved):
    points = []
    settings = {"evaluation": ALL}
    outcome = run(resolved(training=settings), emit=lambda step, point: points.append((step, dict(point))))
    assert (outcome.status, outcome.reason) == ("completed", "")
    assert set(outcome.metrics) == METRICS | OF_LAYERS | OF_BEST
    assert set(run(resolved()).metrics) == METRICS
    assert outcome.metrics.pop("loss_spikes") is None  # no step has a hundred before it
    assert all(isinstance(value, (int, float)) for value in outcome.metrics.values())
    names = {"train_loss", "grad_norm", "lr", "validation_loss", "validation_accuracy"}
    assert set(outcome.curves) == names
    for name in names:
        assert outcome.curves[name].steps.tolist() == [5, 10, 12]
        assert outcome.curves[name].values.tolist() == [point[name] for _, point in points]
    assert [step for step, _ in points] == [5, 10, 12]
    losses = outcome.arrays["train_loss"].astype(np.float64)
    assert losses.shape == outcome.arrays["grad_norm"].shape == (12,)
    means = [losses[:5].mean(), losses[5:10].mean(), losses[10:].mean()]
    assert outcome.curves["train_loss"].values.tolist() == means
    assert outcome.metrics["train_loss"] == losses[-1]
    assert outcome.metrics["validation_loss"] == outcome.curves["validation_loss"].values[-1]


@pytest.mark.parametrize("decay", ["l2", "decoupled"])
def test_the_loop_is_gradient_descent(resolved, decay):
    """Against autograd on a copy of the model: clipped SGD with a schedule, written out."""
    settings = {"optimizer": "sgd", "lr": 0.5, "schedule": "linear", "warmup_steps": 3, "clip_norm": 0.7}
    model, task, training = parts(resolved(training=settings | {"weight_decay": 0.1, "decay": decay}))
    reference = copy.deepcopy(model)
    outcome = trained(model, task, training)

    rates = [0.5 / 3, 1 / 3, 0.5, *(0.5 * (1 - i / 9) for i in range(1, 10))]
    losses, norms = [], []
    for lr, batch in zip(rates, task.train_batches(0, 16, "cpu"), strict=False):
        loss = task.loss(reference(batch.inputs), batch)
        named = reference.named_parameters()
        decayed = [p for name, p in named if "norm" not in name and not name.endswith("bias")]
        penalty = 0.1 * sum(p.pow(2).sum() for p in decayed) if decay == "l2" else 0.0
        gradients = torch.autograd.grad(loss + penalty, list(reference.parameters()))
        norm = torch.sqrt(sum(g.double().pow(2).sum() for g in gradients))
        losses.append(loss.item())
        norms.append(norm.item())
        with torch.no_grad():
            for parameter in decayed if decay == "decoupled" else []:
                parameter -= lr * 0.1 * parameter
            for parameter, gradient in zip(reference.parameters(), gradients, strict=True):
                parameter -= lr * gradient * min(1.0, 0.7 / norm.item())
    assert max(norms) > 0.7
    np.testing.assert_allclose(outcome.arrays["train_loss"], losses, rtol=1e-4)
    np.testing.assert_allclose(outcome.arrays["grad_norm"], norms, rtol=1e-4)
    np.testing.assert_allclose(outcome.curves["lr"].values, [rates[4], rates[9], 0.0], atol=1e-12)


@pytest.mark.parametrize("decay", ["l2", "decoupled"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_stronger_the_weight_decay_the_smaller_the_weights(resolved, decay, seed):
    norms = []
    for strength in (0.0, 0.3, 1.0, 3.0):
        settings = {"steps": 30, "lr": 0.01, "decay": decay, "weight_decay": strength}
        model, task, training = parts(resolved(training=settings), seed)
        trained(model, task, training, seed)
        weights = [p for name, p in model.named_parameters() if "norm" not in name]
        norms.append(sum(p.detach().pow(2).sum().item() for p in weights if p.dim() > 1))
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 0.9 * norms[0]


@pytest.mark.parametrize(
    ("settings", "sampling", "validation", "forwarded"),
    [
        ({"steps": 400}, Sampling("fresh", 4096, validation=1024), 512, 6400),
        ({"steps": 400, "batch_size": 8}, Sampling("fresh", 4096, validation=1024), 128, 4864),
        ({"steps": 2000}, Sampling("fresh", 4096, validation=1024), 1024, 24_832),
        ({"steps": 400}, Sampling("held_out", 100, 400, 50), 50, 350),
        ({"steps": 400, "evaluation": {"best": True}}, Sampling("fresh", 1000), 786, 6400),
        ({"steps": 450, "evaluation": {"validation": 9}}, Sampling("fresh", 1000), 9, 1301),
    ],
)
def test_evaluation_has_a_budget(settings, sampling, validation, forwarded):
    """A quarter of the examples that are trained, as long as an evaluation has 128, or all that the task has."""
    training, task = (
        TrainingSection(**settings),
        SimpleNamespace(sampling=sampling, metrics=MEASURED, slices=dict),
    )
    assert training.validation_size(task) == validation
    assert training.forwarded(task) == forwarded


def test_no_more_is_forwarded_than_said(resolved, monkeypatch):
    read = []

    def counted(model, task, split, **options):
        read.append(len(split))
        return measure_examples(model, task, split, **options)

    for place in (module, evaluation):
        monkeypatch.setattr(place, "measure_examples", counted)
    config = resolved(training={"steps": 40, "evaluation": {"best": True}, "lr": 0.4, "optimizer": "sgd"})
    _, task, training = parts(config)
    run(config)
    assert read == [INITIAL, *[128] * 8, *[task.sampling.test] * (len(read) - 9)]
    assert 10 <= len(read) <= 11
    assert sum(read) <= training.forwarded(task)


def test_every_step_has_dropout_of_its_own(resolved):
    config = resolved(model={"dropout": {"residual": 0.3}}, training={"optimizer": "sgd", "lr": 1e-30})
    model, task, training = parts(config)
    losses = trained(model, task, training).arrays["train_loss"]
    for step, batch in enumerate(itertools.islice(task.train_batches(0, 16, "cpu"), 12)):
        model.start_step(step)
        assert task.loss(model.train()(batch.inputs), batch).item() == losses[step]


@pytest.mark.slow
def test_test_metrics_are_of_the_last_step_and_of_the_best_validation(resolved):
    """Each by the metric itself; the best evaluation is found again by training just as long."""
    settings = {"steps": 40, "eval_every": 5, "lr": 0.4, "optimizer": {"name": "sgd", "momentum": 0.9}}
    settings["evaluation"] = {"best": True, "validation": 1024}
    outcome = run(resolved(training=settings), seed=9)
    steps = {}
    for name, best in (("accuracy", np.argmax), ("loss", np.argmin)):
        curve = outcome.curves[f"validation_{name}"]
        steps[name] = int(curve.steps[best(curve.values)])
        assert outcome.metrics[f"{name}_best_step"] == steps[name] < 40
        shorter = run(resolved(training=settings | {"steps": steps[name]}), seed=9)
        assert outcome.metrics[f"{name}_at_best_validation"] == shorter.metrics[name]
        assert outcome.metrics[f"{name}_at_best_validation"] != outcome.metrics[name]
    assert steps["accuracy"] != steps["loss"]


@pytest.mark.parametrize("split", ["held_out", "per_seed"])
def test_a_record_keeps_what_each_shared_test_example_gave(resolved, split):
    task = {"name": "digits", "split": split, "test_size": 700, "train_size": 100}
    outcome = run(resolved(task, training={"steps": 30, "eval_every": 3, "lr": 0.03, "evaluation": ALL}))
    names = [f"{name}{at}" for name in ("accuracy", "loss") for at in ("", "_at_best_validation")]
    assert {name for name in outcome.arrays if name.startswith("test/")} == {f"test/{n}" for n in names}
    for name in names:
        values = outcome.arrays[f"test/{name}"]
        assert values.shape == (700,)
        assert values.dtype == np.float32
        assert np.mean(values, dtype=np.float64) == outcome.metrics[name]


def test_examples_that_no_other_seed_is_tested_on_are_not_kept(resolved):
    assert set(run(resolved()).arrays) == {"train_loss", "grad_norm"}


def test_metrics_are_those_of_the_model_before_its_first_and_after_its_last_step(resolved):
    model, task, training = parts(
        resolved(model={"dropout": {"residual": 0.5}}, training={"eval_every": 100, "evaluation": ALL})
    )
    validation = task.split(0, "validation", "cpu")
    before = evaluate_split(model, task, validation[torch.arange(INITIAL) * len(validation) // INITIAL])[
        "loss"
    ]
    outcome = trained(model, task, training)
    assert outcome.metrics["initial_loss"] == pytest.approx(before, rel=1e-6)
    assert outcome.metrics["initial_loss"] != outcome.metrics["test_loss"]
    test = evaluate_split(model, task, task.split(0, "test", "cpu"))
    assert {name: outcome.metrics[name] for name in test} == test
    assert {name: outcome.metrics[f"{name}_at_best_validation"] for name in test} == test
    assert outcome.metrics["accuracy_best_step"] == outcome.metrics["loss_best_step"] == 12
    assert outcome.metrics["test_loss"] == pytest.approx(test["loss"], rel=1e-6)
    rows = torch.arange(128) * len(validation) // 128
    inspected = layer_metrics(model, [validation[rows][:INSPECTED]])
    assert {name: outcome.metrics[name] for name in OF_LAYERS} == pytest.approx(inspected, rel=1e-6)


def test_a_part_that_cannot_be_looked_into_costs_no_trial(resolved, monkeypatch):
    def closed(*args):
        raise TypeError("no weights here")

    monkeypatch.setattr("ablate.models.attention.Attention.weights", closed)
    with pytest.warns(UserWarning, match="its layers are not measured: TypeError: no weights here"):
        outcome = run(resolved(training={"evaluation": {"layers": True}}))
    assert outcome.status == "completed"
    assert set(outcome.metrics) == METRICS


def test_a_loss_that_is_not_finite_ends_the_run_as_diverged(resolved):
    settings = {"optimizer": "sgd", "lr": 1e12, "clip_norm": None, "evaluation": ALL}
    outcome = run(resolved(model={"norm": "none"}, training=settings))
    assert outcome.status == "diverged"
    losses = outcome.arrays["train_loss"]
    assert len(losses) < 12
    assert np.isfinite(losses[:-1]).all()
    assert not np.isfinite(losses[-1])
    assert outcome.reason == f"diverged: training loss was not finite at step {len(losses)}"
    assert set(outcome.metrics) == METRICS | OF_BEST
    unknown = {*MEASURED, "test_loss", "accuracy_at_best_validation", "train_loss", "loss_best_step"}
    assert {outcome.metrics[name] for name in unknown} == {None}
    norms = outcome.arrays["grad_norm"]
    assert outcome.metrics["grad_norm_max"] == max(norm for norm in norms if math.isfinite(norm))
    assert outcome.metrics["initial_loss"] > 1
    assert all(value is None or math.isfinite(value) for value in outcome.metrics.values())


@pytest.mark.parametrize("best", [False, True])
def test_weights_that_leave_the_numbers_in_the_last_step_are_diverged(resolved, best):
    settings = {"optimizer": "sgd", "lr": 1e30, "clip_norm": None, "steps": 1, "evaluation": {"best": best}}
    outcome = run(resolved(model={"norm": "none"}, training=settings))
    assert np.isfinite(outcome.arrays["train_loss"]).all()
    assert outcome.status == "diverged"
    assert outcome.reason == "diverged: validation loss was not finite after step 1"
    assert outcome.metrics["accuracy"] is None


def test_a_loss_that_has_risen_is_diverged(resolved):
    outcome = run(resolved(training={"optimizer": "sgd", "lr": 100.0, "evaluation": ALL}))
    losses = outcome.arrays["train_loss"]
    assert np.isfinite(losses).all()
    assert losses[-1] > 1.1 * max(losses[0], math.log(8))
    assert outcome.status == "diverged"
    assert outcome.reason.startswith("diverged: training loss ")
    assert f"over the last 5 % of 12 steps; it began at {losses[0]:.4g}, chance is 2.079" in outcome.reason
    assert outcome.metrics["accuracy"] is outcome.metrics["loss_at_best_validation"] is None
    assert outcome.metrics["validation_loss"] is not None


def test_the_driver_can_stop_a_run_but_not_one_that_is_finished(resolved):
    outcome = run(resolved(), emit=lambda step, metrics: step == 10)
    assert (outcome.status, outcome.reason) == ("pruned", "stopped after step 10 of 12")
    assert outcome.curves["lr"].steps.tolist() == [5, 10]
    assert len(outcome.arrays["train_loss"]) == 10
    assert outcome.metrics["accuracy"] is None
    assert outcome.metrics["validation_accuracy"] == outcome.curves["validation_accuracy"].values[-1]
    assert run(resolved(), emit=lambda step, metrics: step == 12).status == "completed"


def test_losses_that_are_read_late_give_the_same_record(resolved, monkeypatch):
    """As on an accelerator, where losses are read some steps at a time."""
    config = resolved(model={"norm": "none"}, training={"optimizer": "sgd", "lr": 1e12, "clip_norm": None})
    for settings in (config, resolved()):
        at_once = run(settings)
        with monkeypatch.context() as patch:
            patch.setattr("ablate.training.loop.STEPS_BEFORE_SYNC", {"cpu": 7})
            late = run(settings)
        assert (late.status, late.reason) == (at_once.status, at_once.reason)
        for name in at_once.arrays:
            np.testing.assert_array_equal(late.arrays[name], at_once.arrays[name])


@pytest.mark.parametrize("mode", [True, False])
def test_metrics_are_means_over_all_chunks_in_evaluation_mode_and_no_state_moves(resolved, monkeypatch, mode):
    task = {"name": "recall", "validation_size": 100, "test_size": 100}
    config = parse(resolved(task, {"norm": "batch", "dropout": {"embedding": 0.5}}))
    task = config.task.build()
    model, split = build_model(config.model, task.signature), task.split(0, "test", "cpu")
    logits = model.eval()(split.inputs)
    right = sum(int(row.argmax() == target) for row, target in zip(logits, split.targets, strict=True))
    losses = -torch.log_softmax(logits.double(), -1)[torch.arange(100), split.targets]
    before = {name: tensor.clone() for name, tensor in model.train(mode).state_dict().items()}
    for chunk in (evaluation.CHUNK, 48):  # the last one weighs what it holds
        monkeypatch.setattr(evaluation, "CHUNK", chunk)
        metrics = evaluate_split(model, task, split)
        assert metrics["accuracy"] == right / 100
        assert metrics["loss"] == pytest.approx(losses.mean().item(), rel=1e-6)
        assert measure_examples(model, task, split)[1] == pytest.approx(metrics["loss"], rel=1e-6)
    assert all(each.training == mode for each in model.modules())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
