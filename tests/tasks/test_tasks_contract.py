"""What every registered task promises."""

from __future__ import annotations

import itertools

import pytest
import torch

from ablate.registry import CATALOGUE
from ablate.tasks.task import Task, digest

CATALOGUE.load_builtin()


@pytest.fixture(params=CATALOGUE.names("task"))
def task(request) -> Task:
    return CATALOGUE.get("task", request.param).Config(name=request.param).build()


def batches_of(task: Task):
    return [
        next(task.train_batches(0, 24, "cpu")),
        task.split(0, "validation", "cpu"),
        task.split(0, "test", "cpu"),
    ]


def test_data_have_the_shapes_of_the_signature(task):
    signature = task.signature
    for batch in batches_of(task):
        assert batch.targets.dtype == torch.int64
        assert 0 <= batch.targets.min() <= batch.targets.max() < signature.num_outputs
        if signature.vocab_size is not None:
            assert batch.inputs.shape == (len(batch), signature.seq_len)
            assert 0 <= batch.inputs.min() <= batch.inputs.max() < signature.vocab_size
        else:
            assert batch.inputs.shape == (len(batch), signature.seq_len, signature.num_features)
            assert batch.inputs.dtype == torch.float32
            assert batch.inputs.isfinite().all()


def test_data_repeat_and_differ_between_seeds(task):
    def stream(seed):
        return [digest(batch) for batch in itertools.islice(task.train_batches(seed, 24, "cpu"), 5)]

    assert stream(0) == stream(0)
    assert len(set(stream(0) + stream(1))) == 10
    assert task.digests(0) == task.digests(0)
    assert task.digests(0)["test"] == digest(task.split(0, "test", "cpu"))
    assert (task.digests(0)["test"] == task.digests(1)["test"]) == task.data_fixed
    assert len(set(task.digests(0).values())) == len(task.digests(0))


def test_metrics_are_measured_for_each_example(task):
    test = task.split(0, "test", "cpu")
    shape = (
        (len(test), task.signature.num_outputs)
        if task.signature.readout != "all"
        else (len(test), task.signature.seq_len, task.signature.num_outputs)
    )
    logits = torch.randn(shape, generator=torch.Generator().manual_seed(0), requires_grad=True)
    measured = task.measure(logits, test)
    assert list(measured) == list(task.metrics)
    assert {values.shape for values in measured.values()} == {(len(test),)}
    loss = task.loss(logits, test)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert loss.shape == ()
    assert loss > 0


def test_metrics_know_their_range(task):
    for metric in task.metrics.values():
        assert metric.floor is not None
        assert metric.ceiling is not None
        assert (metric.floor < metric.ceiling) == (metric.direction == "max")
    accuracy = task.metrics["accuracy"]
    assert accuracy.floor < accuracy.solved < accuracy.ceiling
    assert accuracy.resolution == 1 / len(task.split(0, "test", "cpu"))


def test_a_split_in_chunks_is_the_split(task):
    test = task.split(0, "test", "cpu")
    chunks = list(test.chunks(77))
    assert [len(chunk) for chunk in chunks[:-1]] == [77] * (len(chunks) - 1)
    assert torch.equal(torch.cat([chunk.inputs for chunk in chunks]), test.inputs)
    assert torch.equal(torch.cat([chunk.targets for chunk in chunks]), test.targets)
