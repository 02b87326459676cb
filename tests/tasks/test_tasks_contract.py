"""What every registered task promises."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from ablate.base.registry import CATALOGUE, PartConfig
from ablate.components.masks import real_positions
from ablate.core.metric import sign
from ablate.tasks.digits import Digits
from ablate.tasks.generated import Generated
from ablate.tasks.labelling import Labelling
from ablate.tasks.recall import Recall
from ablate.tasks.reverse import Reverse
from ablate.tasks.segments import Segments
from ablate.tasks.task import IGNORED, Classification, Task, digest
from ablate.tasks.transduction import Transduction

CATALOGUE.load_builtin()


# For each task of a user's file: its content, and what else the task must be given.
PROSE = "\n\n".join(f"{n} and {n * n % 97}, so it goes;\nbut {n * n % 89} is not {n}." for n in range(400))
REVIEWS = "\n".join(f"{n % 3},{'very ' * (n % 5)}good film {n}" for n in range(600))
CARS = "\n".join(f"{n % 7 or ''},{'abc'[n % 3]},{n},{n * n % 97 + n / 10}" for n in range(600))
PAIRS = "\n".join(f"{n} squared\tis about {n * n + n % 7}" for n in range(300))
FILES = {
    "text_pairs": ({"file": PAIRS}, {}),
    "text_file": ({"file": PROSE}, {}),
    "text_classification": ({"file": f"label,text\n{REVIEWS}"}, {}),
    "table": ({"file": f"doors,make,id,price\n{CARS}"}, {"target": "price"}),
}


def config_of(name: str, folder: Path) -> PartConfig:
    files, others = FILES.get(name, ({}, {}))
    for field, content in files.items():
        (folder / field).write_text(content)
    given = {"name": name, **others, **{field: str(folder / field) for field in files}}
    return CATALOGUE.get("task", name).Config.model_validate(given)


NAMES = CATALOGUE.names("task")
CASES = [(name, "") for name in NAMES]
CASES += [(name, "decoder") for name in NAMES if issubclass(CATALOGUE.get("task", name), Transduction)]


@pytest.fixture(params=CASES, ids="-".join)
def task(request, tmp_path) -> Task:
    """Builds each task, and again for a decoder where its layout differs."""
    name, topology = request.param
    return config_of(name, tmp_path).build().for_topology(topology)


def logits_for(task: Task, batch) -> torch.Tensor:
    shape = (*batch.targets.shape, task.signature.num_outputs)
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def check_sequence(signature, inputs: torch.Tensor, mask: torch.Tensor | None) -> None:
    """Checks shapes and ranges, and that masks stand where the signature says so and hide no whole sequence."""
    shape = (len(inputs), signature.seq_len)
    if signature.vocab_size is not None:
        assert inputs.shape == shape
        assert 0 <= inputs.min() <= inputs.max() < signature.vocab_size
    else:
        assert inputs.shape == (*shape, signature.num_features)
        assert inputs.dtype == torch.float32
        assert inputs.isfinite().all()
    assert (mask is not None) == signature.padded
    if mask is not None:
        assert mask.dtype == torch.bool
        assert len(mask) == len(inputs)
        mask.expand(len(inputs), 1, signature.seq_len, signature.seq_len)
        real = real_positions(mask, signature.seq_len)
        assert real.any(1).all()
        assert not real.all()


def test_data_have_the_shapes_of_the_signature(task):
    signature = task.signature
    splits = (task.split(0, name, "cpu") for name in ("validation", "test"))
    for batch in (next(task.train_batches(0, 24, "cpu")), *splits):
        shape = (len(batch), signature.seq_len) if signature.readout == "all" else (len(batch),)
        assert batch.targets.shape == shape
        if batch.targets.is_floating_point():
            assert batch.targets.dtype == torch.float32
            assert signature.num_outputs == 1
            assert batch.targets.isfinite().all()
        else:
            asked = batch.targets[batch.targets != IGNORED]
            assert batch.targets.dtype == torch.int64
            assert 0 <= asked.min() <= asked.max() < signature.num_outputs
            assert ((batch.targets != IGNORED).reshape(len(batch), -1)).any(1).all()
        check_sequence(signature, batch.inputs, batch.mask)
        assert (batch.source is not None) == (signature.source is not None)
        if signature.source is not None:
            check_sequence(signature.source, batch.source, batch.source_mask)
        assert (batch.segments is not None) == (signature.num_segments is not None)
        if signature.num_segments is not None:
            assert batch.segments.shape == (len(batch), signature.seq_len)
            assert 0 <= batch.segments.min() <= batch.segments.max() < signature.num_segments


@pytest.mark.fast_cases(12)
def test_data_repeat_and_differ_between_seeds_and_leave_global_state_alone(task):
    def stream(seed):
        return [digest(batch) for batch in itertools.islice(task.train_batches(seed, 24, "cpu"), 5)]

    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    assert stream(0) == stream(0)
    assert len(set(stream(0) + stream(1))) == 10
    assert task.digests(0) == task.digests(0)
    assert task.digests(0)["test"] == digest(task.split(0, "test", "cpu"))
    assert (task.digests(0)["test"] == task.digests(1)["test"]) == (task.sampling.pool == "held_out")
    assert len(set(task.digests(0).values())) == len(task.digests(0))
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002


@pytest.mark.fast_cases(8)
def test_metrics_are_measured_for_each_example(task):
    test = task.split(0, "test", "cpu")
    logits = logits_for(task, test).requires_grad_()
    measured = task.measure(logits, test)
    means = task.summarise({name: values.detach().numpy() for name, values in measured.items()})
    assert list(means) == list(task.metrics)
    assert {values.shape for values in measured.values()} == {(len(test),)}
    loss = task.loss(logits, test)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert loss.shape == ()
    assert loss > 0


def test_what_the_model_says_at_padding_does_not_count(task):
    if task.signature.readout != "all" or not task.signature.padded:
        pytest.skip("every logit counts")
    test = task.split(0, "test", "cpu")
    logits = logits_for(task, test)
    padding = ~real_positions(test.mask, task.signature.seq_len)
    changed = torch.where(padding[..., None], -logits, logits)
    for name, values in task.measure(logits, test).items():
        assert torch.equal(values, task.measure(changed, test)[name])
    assert task.loss(changed, test) == task.loss(logits, test)


KNOWN = [
    (Recall.Config(vocab_size=16), 1 / 8, math.log(8), 0.95, (16, 16, "last")),
    (Reverse.Config(vocab_size=8, min_len=5, max_len=5), 5**-5, 5 * math.log(5) / 6, 0.95, (8, 8, "all")),
    (Segments.Config(vocab_size=16), 0.5, math.log(2), 0.95, (16, 2, "last")),
    (Digits.Config(), 0.1, math.log(10), 0.98, (None, 10, "mean")),
]


@pytest.mark.parametrize(("config", "floor", "chance", "solved", "signature"), KNOWN)
def test_what_is_known_in_advance(config, floor, chance, solved, signature):
    task = type(config)(**config.model_dump(exclude={"name", "test_size"}), test_size=200).build()
    accuracy, loss = task.metrics["accuracy"], task.metrics["loss"]
    assert next(iter(task.metrics)) == "accuracy"
    assert (accuracy.direction, accuracy.resolution, accuracy.floor) == ("max", 1 / 200, floor)
    assert (accuracy.ceiling, accuracy.solved) == (1.0, solved)
    assert (loss.direction, loss.floor, loss.ceiling) == ("min", pytest.approx(chance), 0.0)
    assert task.chance_loss == pytest.approx(chance)
    found = task.signature
    assert (found.vocab_size, found.num_outputs, found.readout) == signature
    if found.source is not None:
        assert task.topologies == ("encoder_decoder", "decoder")
        assert (found.seq_len, found.source.seq_len) == (6, 5)
        assert list(task.metrics) == ["accuracy", "token_accuracy", "loss"]
        assert task.metrics["token_accuracy"].floor == pytest.approx((5 * (1 / 5) + 1) / 6)


def test_metrics_know_their_range(task):
    for metric in task.metrics.values():
        assert metric.floor is not None
        assert metric.ceiling is not None
        assert (metric.floor < metric.ceiling) == (metric.direction == "max")
    judged = next(iter(task.metrics.values()))
    scale = [value for value in (judged.floor, judged.solved, judged.ceiling) if value is not None]
    assert scale == sorted(scale, reverse=judged.direction == "min")
    assert judged.resolution <= 1 / len(task.split(0, "test", "cpu"))


def test_a_split_in_chunks_is_the_split(task):
    test = task.split(0, "test", "cpu")
    chunks = list(test.chunks(77))
    assert [len(chunk) for chunk in chunks[:-1]] == [77] * (len(chunks) - 1)
    for name, given in test.model_inputs().items():
        parts = [chunk.model_inputs()[name] for chunk in chunks]
        assert parts == [None] * len(chunks) if given is None else torch.equal(torch.cat(parts), given)
    assert torch.equal(torch.cat([chunk.targets for chunk in chunks]), test.targets)


def test_it_says_how_its_runs_may_be_judged(task):
    task.check_declared()
    assert task.sampling.test == len(task.split(0, "test", "cpu"))
    assert task.support >= task.sampling.test or task.sampling.pool == "fresh"
    name, judged = next(iter(task.metrics.items()))
    for constant, best in task.constants().items():
        assert sign(judged) * best[name] <= sign(judged) * judged.ceiling
        assert sign(judged) * judged.floor <= sign(judged) * best[name] or not constant.startswith("without_")


def rows(batch):
    given = [x.flatten(1).double() for x in (batch.inputs, batch.source, batch.segments) if x is not None]
    return set(map(tuple, torch.cat(given, 1).tolist()))


@pytest.mark.fast_cases(9)
def test_coverage_is_the_share_of_test_examples_that_were_trained_on(task):
    drawn = set().union(*map(rows, itertools.islice(task.train_batches(3, 500, "cpu"), 20)))
    test = rows(task.split(3, "test", "cpu"))
    assert len(test & drawn) / len(test) == pytest.approx(task.coverage(10_000), abs=0.01)


@pytest.mark.fast_cases(10)
def test_slices_are_drawn_and_none_of_their_examples_is_trained_on(task):
    drawn = set().union(*map(rows, itertools.islice(task.train_batches(3, 500, "cpu"), 10)))
    for name in task.slices():
        test = task.sliced(name).split(3, "test", "cpu")
        assert len(test) == task.sliced(name).sampling.test
        # Windows of a text may recur in it.
        assert not rows(test) & drawn or not isinstance(task, Generated)


def test_a_perfect_answer_reaches_the_ceiling_and_a_shuffled_one_chance(task):
    name = next(iter(task.metrics))
    unequal = "majority" in task.constants()
    if unequal or not isinstance(task, Classification | Labelling) or name != "accuracy":
        pytest.skip("it is not judged by its share of right classes, equally likely ones")
    test = task.split(0, "test", "cpu")
    asked = test.targets != IGNORED
    answers, classes = test.targets[asked], task.signature.num_outputs
    order = torch.randperm(len(answers), generator=torch.Generator().manual_seed(0))
    for given, expected in (
        (answers, task.metrics[name].ceiling),
        (answers[order], task.metrics[name].floor),
    ):
        logits = torch.zeros(*test.targets.shape, classes)
        logits[asked] = torch.nn.functional.one_hot(given, classes).float()
        assert task.measure(logits, test)[name].mean().item() == pytest.approx(expected, abs=0.03)
