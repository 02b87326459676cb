import pytest
import torch

from ablate.models.build import build_model
from ablate.training import loop as module
from ablate.training.loop import evaluate, outcomes
from ablate.training.trial import parse


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
    for chunk in (module.CHUNK, 48):  # the last one weighs what it holds
        monkeypatch.setattr(module, "CHUNK", chunk)
        metrics = evaluate(model, task, split)
        assert metrics["accuracy"] == right / 100
        assert metrics["loss"] == pytest.approx(losses.mean().item(), rel=1e-6)
        assert outcomes(model, task, split)[1] == pytest.approx(metrics["loss"], rel=1e-6)
    assert all(each.training == mode for each in model.modules())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
