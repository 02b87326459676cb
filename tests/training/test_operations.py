"""What is timed is what a training does, and repeating it changes nothing that costs."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from ablate.core.trial import Trial
from ablate.models.build import build_model
from ablate.training.loop import train
from ablate.training.operations import SEED, Repeated
from ablate.training.trial import parse
from ablate.training.workload import SequenceWorkload

WORKLOAD = SequenceWorkload()


MOMENTUM = {"optimizer": {"name": "sgd", "momentum": 0.9}, "decay": "l2", "clip_norm": None}


@pytest.mark.parametrize("training", [{"clip_norm": 0.05}, MOMENTUM])
def test_a_step_is_a_step_of_the_training_loop(resolved, training):
    settings = {"steps": 3, "eval_every": 3, "weight_decay": 0.1, **training}
    config = parse(resolved(model={"dropout": {"residual": 0.2}}, training=settings))
    task = config.task.build()
    batch = next(task.train_batches(SEED, 16, "cpu"))

    class Fixed(type(task)):
        def train_batches(self, *_: object) -> Iterator[Any]:
            while True:
                yield batch

    looped, repeated = (build_model(config.model, task.signature, seed=SEED) for _ in range(2))
    task.__class__ = Fixed
    train(looped, task, config.training, Trial("", {}, SEED), lambda *_: False)
    ours = Repeated(repeated, task, config.training, batch, lr=config.training.lr)
    for _ in range(3):
        ours.step()
    for (path, one), other in zip(looped.state_dict().items(), repeated.state_dict().values(), strict=True):
        assert torch.equal(one, other), path


def test_a_batch_keeps_no_other_data_in_memory(resolved):
    """A block of examples, from which tasks cut batches, would be most of the memory of a small model's step."""
    step = WORKLOAD.operations(resolved())["step"].run
    tensors = [x for x in step.__self__.batch.tensors() if x is not None]
    assert [x.untyped_storage().nbytes() for x in tensors] == [x.nbytes for x in tensors]


@pytest.mark.slow
def test_hundreds_of_steps_leave_the_weights_and_gradients_where_they_began(resolved):
    config = parse(resolved(training={"lr": 10.0, "clip_norm": None}))
    task = config.task.build()
    model = build_model(config.model, task.signature, seed=SEED)
    before = [p.detach().clone() for p in model.parameters()]
    repeated = Repeated(model, task, config.training, next(task.train_batches(SEED, 16, "cpu")))
    repeated.step()
    gradients = [p.grad.clone() for p in model.parameters()]
    for _ in range(200):
        repeated.step()
    torch.testing.assert_close([p.detach() for p in model.parameters()], before, rtol=0, atol=1e-6)
    torch.testing.assert_close([p.grad for p in model.parameters()], gradients, rtol=1e-3, atol=1e-6)


def test_forward_and_step_know_their_cost(resolved):
    config = resolved()
    described, operations = WORKLOAD.describe(config), WORKLOAD.operations(config)
    assert list(operations) == ["forward", "step"]
    flops_of = {"forward": described.flops, "step": described.training_flops}
    for operation, flops in ((operations[name], flops_of[name]) for name in operations):
        assert (operation.examples, operation.tokens, operation.device) == (16, 16 * 5, "cpu")
        assert operation.flops() == flops * 16


def test_forward_leaves_no_gradients_and_takes_the_evaluation_mode(resolved):
    config = parse(resolved(model={"dropout": {"residual": 0.5}, "norm": "batch"}))
    task = config.task.build()
    model = build_model(config.model, task.signature, seed=SEED)
    seen = []
    model.register_forward_hook(lambda module, _, out: seen.append((module.training, out)))
    repeated = Repeated(model, task, config.training, next(task.train_batches(SEED, 16, "cpu")))
    repeated.step()
    repeated.forward()
    repeated.forward()
    repeated.step()
    assert [training for training, _ in seen] == [True, False, False, True]
    assert torch.equal(seen[1][1], seen[2][1])
    assert not seen[1][1].requires_grad


REVERSE = {"name": "reverse", "test_size": 16, "validation_size": 16}


@pytest.mark.parametrize(
    ("task", "topology", "causal"),
    [(REVERSE, "encoder_decoder", True), ("recall", "decoder", True), ("recall", "encoder", False)],
)
def test_a_causal_model_generates_a_sequence_position_by_position(resolved, task, topology, causal):
    config = resolved(task=task, model={"topology": topology, "dropout": {"residual": 0.5}})
    operations = WORKLOAD.operations(config)
    assert ("generation" in operations) == causal
    if causal:
        operations["step"].run()
        generation = operations["generation"]
        length = parse(config).task.build().signature.seq_len
        assert (generation.tokens, generation.flops()) == (16 * length, None)
        repeated = generation.run.__self__
        model, batch = repeated.model, repeated.batch
        found, step = [], model.step
        model.step = lambda *given: found.append(step(*given)) or found[-1]
        generation.run()
        last = model.eval()(**{**batch.model_inputs(), "mask": None})
        last = last[:, -1] if last.ndim == 3 else last
        assert len(found) == length
        assert torch.allclose(found[-1][0], last, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu(resolved):
    import numpy as np

    from ablate.stages.speed.blocks import time_blocks
    from ablate.stages.speed.step_memory import peak_of_step

    config = resolved(training={"device": "cuda"})
    peak = peak_of_step(lambda: WORKLOAD.operations(config))
    assert peak is not None
    assert peak > 4 * 4 * WORKLOAD.parameters(config)
    operations = WORKLOAD.operations(config)
    for name, operation in operations.items():
        pair = {"one": operation, "two": WORKLOAD.operations(config)[name]}
        assert time_blocks(pair, np.random.default_rng(0))["one"].seconds > 0
    torch.use_deterministic_algorithms(False)
