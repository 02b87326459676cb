import numpy as np
import pytest
import torch
from harness import content
from pydantic import ValidationError
from refused import refused

from ablate.base.registry import CATALOGUE
from ablate.core.record import Record
from ablate.core.trial import Trial
from ablate.models import flops
from ablate.study.schema import config_model
from ablate.tasks.digits import Digits
from ablate.tasks.recall import Recall
from ablate.training.workload import SequenceWorkload


def quiet(step, metrics) -> bool:
    return False


def run(config, seed=0, stream="") -> Record:
    return SequenceWorkload().train(Trial("id", config, seed, stream), quiet)


CONFIGS = {
    "dropout": {"model": {"dropout": {"attention_weights": 0.1, "residual": 0.2}}},
    "batch norm": {"model": {"norm": "batch"}, "training": {"optimizer": "sgd"}},
    "digits": {"task": {"name": "digits", "representation": "patches", "patch_size": 4}},
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("case", CONFIGS)
def test_a_repeat_is_bitwise_equal_whatever_ran_before(resolved, case):
    config = resolved(**CONFIGS[case])
    first = content(run(config, seed=2))
    run(resolved(model={"d_model": 16}), seed=5)
    torch.rand(3)
    assert content(run(config, seed=2)) == first
    assert content(run(config, seed=3)) != first


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_trial_leaves_global_state_alone_and_trains_on_the_threads_it_asks_for(
    resolved, threads, monkeypatch
):
    monkeypatch.setattr(SequenceWorkload, "threads", threads)
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(3 - threads)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    trial = Trial("id", resolved(model={"dropout": {"residual": 0.2}}), 0)
    try:
        SequenceWorkload().train(trial, lambda step, metrics: seen.append(torch.get_num_threads()))
        assert (set(seen), torch.get_num_threads()) == ({threads}, 3 - threads)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002


@pytest.mark.slow
def test_a_trial_repeats_although_a_plugin_draws_from_the_global_generator(resolved, monkeypatch):
    class Noisy(Recall):
        def loss(self, logits, batch):
            return super().loss(logits, batch) + torch.rand(())

    config = resolved()
    monkeypatch.setattr(Recall.Config, "part", Noisy)
    torch.manual_seed(1)
    first = content(run(config))
    torch.manual_seed(2)
    assert content(run(config)) == first
    assert content(run(config, stream="placebo")) != first


def test_the_record_says_what_was_run_and_a_placebo_sees_the_same_data(resolved):
    config = resolved("digits")
    record, other = (run(config, 7, stream) for stream in ("placebo", ""))
    assert (record.id, record.seed, record.stream) == ("id", 7, "placebo")
    assert record.config == config
    assert (record.status, record.reason, record.error) == ("completed", "", "")
    assert record.data == other.data == Digits(Digits.Config()).digests(7)
    assert record.arrays["train_loss"][0] != other.arrays["train_loss"][0]


def test_the_schema_fills_in_defaults_and_needs_a_task():
    model = config_model(SequenceWorkload())
    config = model.model_validate({"task": "recall"}).model_dump()
    assert config["model"]["mixer"]["score"] == {"name": "scaled_dot"}
    assert config["training"]["optimizer"]["name"] == "adamw"
    assert model.model_validate(config).model_dump() == config
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"training": {"optimizer": {"name": "sgd", "beta1": 0.5}}})
    paths = {error["loc"] for error in caught.value.errors()}
    assert paths == {("task",), ("training", "optimizer", "beta1")}


def test_a_description_is_known_without_training(resolved):
    config = resolved({"name": "digits", "split": "fixed"})
    description = SequenceWorkload().describe(config)
    assert list(description.metrics) == ["accuracy", "loss"]
    assert description.sampling.pool == "held_out"
    assert description.flops > 0
    # Two heads, 8 rows of pixels.
    assert description.beside["exp"] == 2 * 8 * 8
    # D = 8: embedding 8·8 + 8, output 8·10 + 10, positions 8·8.
    by_part = description.parameters_by_part
    assert (by_part["embedding"], by_part["output"], by_part["position"]) == (72, 90, 64)
    assert description.parameters == sum(by_part.values())


@pytest.mark.parametrize(
    ("steps", "every", "reports"), [(12, 5, (5, 10, 12)), (10, 5, (5, 10)), (3, 5, (3,)), (1, 1, (1,))]
)
def test_the_reports_that_a_description_promises_are_made(resolved, steps, every, reports):
    config = resolved(training={"steps": steps, "eval_every": every})
    description = SequenceWorkload().describe(config)
    made = []
    SequenceWorkload().train(Trial("id", config, 0), lambda step, metrics: made.append(step))
    assert tuple(made) == description.reports == reports
    assert description.examples == steps * 16
    assert description.compute == description.training_flops * steps * 16


def test_a_part_that_looks_at_values_has_no_flops_and_is_described(resolved, monkeypatch):
    relu = CATALOGUE.get("activation", "relu")
    monkeypatch.setattr(relu, "forward", lambda self, x: x.relu() * x.max().item())
    assert SequenceWorkload().describe(resolved(task="recall")).flops == 10_880
    # One that is too large to be tried is told by its shapes, and has no values.
    monkeypatch.setattr(flops, "LARGE", 0)
    found = SequenceWorkload().describe(resolved(task="recall"))
    assert (found.flops, found.training_flops, found.beside) == (None, None, {})
    assert found.parameters > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_refused(resolved):
    problems = refused(SequenceWorkload().check, resolved(training={"device": "cuda"}))
    assert problems == {"training.device": ("cuda", "auto, cpu")}


def test_the_identity_names_what_else_a_result_depends_on(resolved):
    workload = SequenceWorkload()
    identity = workload.identity(resolved(training={"device": "cpu"}))
    assert identity == {"torch": torch.__version__, "device": "cpu", "dtype": "float32"}
    assert type(identity["torch"]) is str
    assert workload.irrelevant() == ("training.device",)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_repeat_on_a_gpu_is_bitwise_equal(resolved):
    dropout = {"dropout": {"attention_weights": 0.1}}
    config = resolved(model=dropout, training={"device": "cuda", "steps": 120})
    assert content(run(config)) == content(run(config))


@pytest.mark.slow
def test_a_fingerprint_is_that_of_the_model_alone(resolved):
    def fingerprint(lr=0.1, **model):
        config = resolved(model={"num_layers": 2, **model}, training={"lr": lr})
        return SequenceWorkload().fingerprint(config)

    before = torch.get_rng_state()
    same = {"norm": {"name": "layer", "eps": 1e-5}, "dropout": {"residual": 0.0}}
    assert fingerprint() == fingerprint(lr=1.0) == fingerprint(**same)
    dropped = {"dropout": {"residual": 0.1, "attention_weights": 0.2}}
    assert fingerprint(**dropped) == fingerprint(**dropped)
    swaps = [{"position": "sincos"}, {"residual": False}, {"dropout": {"residual": 0.1}}, {"num_layers": 3}]
    assert len({fingerprint(), *(fingerprint(**swap) for swap in swaps)}) == len(swaps) + 1
    assert torch.equal(torch.get_rng_state(), before)
