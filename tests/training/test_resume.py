"""A run that is cut short and goes on gives what it would have given in one piece, bit for bit."""

from dataclasses import replace

import pytest
import torch
from harness import content

from ablate.core.events import FixedPlan
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.execution.driver import drive
from ablate.execution.engines.in_process import InProcess
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised
from ablate.models.build import build_model
from ablate.records.store import Store
from ablate.training.resume import packed, unpack
from ablate.training.trial import parse, train_trial
from ablate.training.workload import SequenceWorkload

DROPOUT = {"residual": 0.1, "attention_weights": 0.2}


def same(a: Record, b: Record) -> None:
    assert a.status == "completed"
    assert content(a) == content(b)


def states(trial: Trial) -> tuple[Record, list[tuple[int, bytes]]]:
    """The record of a trial, and the states that it has handed out."""
    found: list[tuple[int, bytes]] = []

    def emit(step: int, metrics: object, state: bytes | None = None) -> bool:
        if state is not None:
            found.append((step, state))
        return False

    return train_trial(trial, emit), found


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("model", "training"),
    [
        ({"dropout": DROPOUT, "norm": "batch"}, {"evaluation": {"best": True}}),
        (
            {"position": "sincos"},
            {"optimizer": {"name": "sgd", "momentum": 0.9}, "schedule": "cosine", "lr": 0.1},
        ),
        ({"embedding": {"tied": True}}, {"decay": "l2", "weight_decay": 0.1, "warmup_steps": 5}),
    ],
)
def test_a_run_goes_on_from_any_of_its_states(resolved, model, training):
    config = resolved(model=model, training=training)
    whole = train_trial(Trial("x", config, 3, checkpoint="best"), lambda step, metrics: False)
    trial = Trial("x", config, 3, checkpoint="best", save_every=4)
    in_one, found = states(trial)
    same(in_one, whole)
    assert in_one.weights == whole.weights
    assert [step for step, _ in found] == [4, 8]
    for _, state in found:
        again, later = states(replace(trial, state=state))
        same(again, whole)
        assert again.weights == whole.weights
        assert all(step > 4 for step, _ in later)


def test_a_plugin_that_draws_from_the_global_generator_goes_on_too(resolved, monkeypatch):
    """Its draws are those that it would have made."""
    from ablate.components.feedforward import FeedForward

    forward = FeedForward.forward

    def noisy(self: FeedForward, x: torch.Tensor) -> torch.Tensor:
        return forward(self, x) + (0.01 * torch.randn_like(x) if self.training else 0)

    monkeypatch.setattr(FeedForward, "forward", noisy)
    trial = Trial("x", resolved(), 0, save_every=5)
    whole, found = states(trial)
    same(states(replace(trial, state=found[0][1]))[0], whole)


def test_kept_weights_are_those_of_the_last_step_or_of_the_best(resolved):
    config = resolved(training={"steps": 40, "lr": 0.3, "eval_every": 1, "evaluation": {"best": True}})
    trial = Trial("x", config, 0)
    for kind, names in (
        ("final", {"accuracy": "accuracy", "loss": "loss"}),
        ("best", {"accuracy": "accuracy_at_best_validation"}),
    ):
        record = train_trial(replace(trial, checkpoint=kind), lambda s, m: False)
        assert record.kept == [kind]
        assert record.metrics["accuracy_best_step"] < 40
        assert record.weights is not None
        found = SequenceWorkload().evaluate(trial, record.weights, config["task"]).metrics
        assert all(found[name] == record.metrics[column] for name, column in names.items())


def test_weights_come_back_also_where_parts_share_them(resolved):
    config = parse(resolved(model={"embedding": {"tied": True}, "mixer": {"num_heads": 2, "tied": True}}))
    signature = config.task.build().signature
    one, other = (build_model(config.model, signature, seed=seed) for seed in (0, 1))
    content = packed(one)
    unpack(content, other)
    assert packed(other) == content
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name
    assert other.output.weight is other.embedding.weight
    stranger = build_model(parse(resolved()).model, signature)
    with pytest.raises(ValueError, match="another model's weights"):
        unpack(content, stranger)


def test_the_driver_keeps_the_state_of_what_fails_and_hands_it_on(resolved, tmp_path, monkeypatch):
    from ablate.training import step

    trial = Trial("x", resolved(), 0, save_every=5)
    store, workload = Store(tmp_path), SequenceWorkload()
    made = []
    clip = step.clip_gradients

    def counted(*arguments: object) -> torch.Tensor:
        made.append(0)
        if len(made) == 8:
            raise RuntimeError("struck")
        return clip(*arguments)

    monkeypatch.setattr(step, "clip_gradients", counted)

    def run(fresh: bool = False) -> Record:
        engine = Supervised(InProcess(WorkloadRef("sequence"), workload))
        cell = Cell("baseline", "recall", 0, trial, "x")
        return drive(FixedPlan([cell]), engine, store, lambda event: None, fresh=fresh)["x"]

    assert run().status == "failed"
    assert store.load_state("x") is not None
    second = run()
    assert len(made) == 8 + (12 - 5)
    assert store.load_state("x") is None
    same(second, states(trial)[0])
    store.save_state("x", b"nothing that could be read")
    same(run(fresh=True), second)
