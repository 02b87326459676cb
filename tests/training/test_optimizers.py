"""Optimisers, weight decay, clipping and schedules, against torch's own optimisers and the formulas of the decays."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ablate.base.registry import CATALOGUE
from ablate.training.optimizers import SGD, AdamW, WeightDecay, clip_gradients
from ablate.training.schedules import learning_rates
from ablate.training.section import TrainingSection

LR, DECAY, STEPS = 0.05, 0.3, 7
SHAPES = [(3, 4), (4,), (2, 1, 5)]


def start() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in SHAPES]


def gradient(step: int, w: torch.Tensor) -> torch.Tensor:
    """Of the loss Σ (1 + step)·w⁴/4 − sin(step)·w."""
    return (1 + step) * w.detach() ** 3 - math.sin(step)


def trained(config, kind: str) -> list[torch.Tensor]:
    parameters = start()
    optimizer = config.build(parameters)
    decay = WeightDecay(kind, DECAY, [parameters[0], parameters[2]])
    for step in range(STEPS):
        for parameter in parameters:
            parameter.grad = gradient(step, parameter)
        decay.add_gradient()
        decay.shrink(LR)
        optimizer.step(LR)
    return [parameter.detach() for parameter in parameters]


def by_torch(optimizer, kind: str) -> list[torch.Tensor]:
    """Decay on all but the second parameter."""
    parameters = start()
    reference = optimizer(parameters, lr=LR, foreach=False, fused=False)
    for step in range(STEPS):
        for number, parameter in enumerate(parameters):
            decay = DECAY * (number != 1)
            parameter.grad = gradient(step, parameter) + (kind == "l2") * 2 * decay * parameter.detach()
            parameter.data -= (kind == "decoupled") * LR * decay * parameter.detach()
        reference.step()
    return [parameter.detach() for parameter in parameters]


ADAM = {"eps": 1e-3, "betas": (0.8, 0.95), "weight_decay": 0}
CASES = {
    "adamw": (AdamW.Config(beta1=0.8, beta2=0.95, eps=1e-3), partial(torch.optim.AdamW, **ADAM)),
    "sgd": (SGD.Config(), torch.optim.SGD),
    "momentum": (SGD.Config(momentum=0.9), partial(torch.optim.SGD, momentum=0.9)),
    "nesterov": (
        SGD.Config(momentum=0.9, nesterov=True),
        partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    ),
}


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
@pytest.mark.parametrize("case", CASES)
def test_optimisers_and_decays_follow_their_formulas(case, kind):
    config, optimizer = CASES[case]
    torch.testing.assert_close(trained(config, kind), by_torch(optimizer, kind), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernel", ["missing", "of other arguments"])
def test_without_torchs_private_kernels_the_updates_are_the_same(case, kernel, monkeypatch):
    def of_other_arguments(parameters):
        raise AssertionError("called with arguments that it does not take")

    config, _ = CASES[case]
    expected = trained(config, "decoupled")
    for name in ("_fused_adamw_", "_fused_sgd_"):
        if kernel == "missing":
            monkeypatch.delattr(torch, name)
        else:
            monkeypatch.setattr(torch, name, of_other_arguments)
    torch.testing.assert_close(trained(config, "decoupled"), expected, rtol=1e-12, atol=1e-14)


def test_parameters_without_a_gradient_are_left_alone():
    parameters = start()
    before = parameters[0].detach().clone()
    for parameter in parameters[1:]:
        parameter.grad = torch.ones_like(parameter)
    decay = WeightDecay("l2", DECAY, parameters)
    decay.add_gradient()
    clip_gradients(parameters, 0.1)
    WeightDecay("decoupled", DECAY, parameters).shrink(LR)
    AdamW.Config().build(parameters).step(LR)
    assert torch.equal(parameters[0], before)


@pytest.mark.parametrize(("max_norm", "factor"), [(None, 1.0), (26.0, 1.0), (13.0, 1.0), (6.5, 0.5)])
def test_clipping_bounds_the_norm_over_all_parameters_and_returns_what_it_was(max_norm, factor):
    parameters = [nn.Parameter(torch.zeros(shape)) for shape in ((2,), (1, 1), (1,))]
    parameters[0].grad = torch.tensor([3.0, 4.0])
    parameters[1].grad = torch.tensor([[12.0]])
    assert clip_gradients(parameters, max_norm).item() == 13.0
    assert parameters[0].grad.tolist() == [3 * factor, 4 * factor]
    assert parameters[1].grad.tolist() == [[12 * factor]]


def test_clipping_does_not_hide_a_gradient_that_is_not_finite():
    parameters = [nn.Parameter(torch.zeros(2))]
    parameters[0].grad = torch.tensor([math.nan, 1.0])
    assert math.isnan(clip_gradients(parameters, 1.0).item())
    assert parameters[0].grad.isnan().all()


CATALOGUE.load_builtin()
SCHEDULES = st.sampled_from(["constant", "linear", "cosine"])


def rates(schedule, steps, warmup_steps=0, lr=1.0, **params) -> list[float]:
    settings = {"schedule": {"name": schedule, **params}, "steps": steps, "warmup_steps": warmup_steps}
    return learning_rates(TrainingSection.model_validate(settings | {"lr": lr}))


def test_worked_values():
    assert rates("linear", 6, warmup_steps=2, lr=2.0) == [1, 2, 1.5, 1, 0.5, 0]
    assert rates("cosine", 3, final=0.5) == pytest.approx([1, 0.75, 0.5])
    assert rates("cosine", 1) == [1]


@settings(max_examples=50)
@given(SCHEDULES, st.integers(1, 60), st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 10))
def test_warm_up_rises_to_the_peak_and_the_rest_falls_to_the_final_share(schedule, steps, share, final, lr):
    warmup = int(share * steps)
    params = {} if schedule == "constant" else {"final": final}
    values = rates(schedule, steps, warmup, lr, **params)
    assert len(values) == steps
    first = max(warmup, 1)
    assert values[:warmup] == pytest.approx([lr * (i + 1) / warmup for i in range(warmup)])
    assert values[first - 1] == pytest.approx(lr)
    for i in range(first - 1, steps):
        p = (i + 1 - first) / max(steps - first, 1)
        expected = {
            "constant": 1.0,
            "linear": 1 - p + final * p,
            "cosine": final + (1 - final) * math.cos(math.pi * p / 2) ** 2,
        }[schedule]
        assert values[i] == pytest.approx(lr * expected, rel=1e-9, abs=1e-12)
