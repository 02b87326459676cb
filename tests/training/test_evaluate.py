import pytest
import torch

from ablate.models.build import build_model
from ablate.training import evaluate as module
from ablate.training.loop import evaluate, outcomes
from ablate.training.trial import parse


@pytest.fixture
def model_and_task(resolved):
    config = parse(
        resolved(
            {"name": "recall", "validation_size": 100, "test_size": 100},
            {"norm": "batch", "dropout": {"embedding": 0.5}},
        )
    )
    task = config.task.build()
    return build_model(config.model, task.signature), task


def test_metrics_are_means_over_examples_in_evaluation_mode(model_and_task):
    model, task = model_and_task
    split = task.split(0, "test", "cpu")
    metrics = evaluate(model, task, split)
    model.eval()
    logits = model(split.inputs)
    model.train()
    right = sum(int(row.argmax() == target) for row, target in zip(logits, split.targets, strict=True))
    losses = -torch.log_softmax(logits.double(), -1)[torch.arange(100), split.targets]
    assert metrics["accuracy"] == right / 100
    assert metrics["loss"] == pytest.approx(losses.mean().item(), rel=1e-6)


def test_the_last_chunk_weighs_what_it_holds(model_and_task, monkeypatch):
    model, task = model_and_task
    split = task.split(0, "test", "cpu")
    whole, loss = evaluate(model, task, split), outcomes(model, task, split)[1]
    monkeypatch.setattr(module, "CHUNK", 48)
    parts = evaluate(model, task, split)
    assert outcomes(model, task, split)[1] == pytest.approx(loss, rel=1e-6)
    assert loss == pytest.approx(whole["loss"], rel=1e-6)
    assert parts["accuracy"] == whole["accuracy"]
    assert parts["loss"] == pytest.approx(whole["loss"], rel=1e-6)


@pytest.mark.parametrize("mode", [True, False])
def test_the_mode_is_restored_and_no_state_moves(model_and_task, mode):
    model, task = model_and_task
    model.train(mode)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    evaluate(model, task, task.split(0, "test", "cpu"))
    assert all(module.training == mode for module in model.modules())
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
