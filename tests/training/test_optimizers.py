"""Optimisers, weight decay and clipping against the formulas, written out in float64."""

import math

import pytest
import torch
from refused import refused
from torch import nn

from ablate.training.clipping import clip_gradients
from ablate.training.decay import WeightDecay
from ablate.training.optimizers import SGD, AdamW

LR, DECAY, STEPS = 0.05, 0.3, 7
SHAPES = [(3, 4), (4,), (2, 1, 5)]


def start() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64)) for shape in SHAPES]


def gradient(step: int, w: torch.Tensor) -> torch.Tensor:
    """Of the loss Σ (1 + step)·w⁴/4 − sin(step)·w."""
    return (1 + step) * w.detach() ** 3 - math.sin(step)


def by_hand(update, kind: str) -> list[torch.Tensor]:
    """`update(g, memory, t)` → step taken, per entry; decay on all but the second parameter."""
    results = []
    for number, parameter in enumerate(start()):
        weights = parameter.detach().flatten().tolist()
        decay = 0.0 if number == 1 else DECAY
        memories: list[dict] = [{} for _ in weights]
        for step in range(STEPS):
            for i, w in enumerate(weights):
                g = (1 + step) * w**3 - math.sin(step)
                if kind == "l2":
                    g += 2 * decay * w
                shrink = LR * decay * w if kind == "decoupled" else 0.0
                weights[i] = w - shrink - LR * update(g, memories[i], step + 1)
        results.append(torch.tensor(weights, dtype=torch.float64).reshape(SHAPES[number]))
    return results


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


def adam(g, memory, t, beta1=0.8, beta2=0.95, eps=1e-3):
    memory["m"] = beta1 * memory.get("m", 0.0) + (1 - beta1) * g
    memory["v"] = beta2 * memory.get("v", 0.0) + (1 - beta2) * g * g
    mean, square = memory["m"] / (1 - beta1**t), memory["v"] / (1 - beta2**t)
    return mean / (math.sqrt(square) + eps)


def heavy_ball(g, memory, t, momentum=0.9, nesterov=False):
    memory["b"] = momentum * memory["b"] + g if t > 1 else g
    return g + momentum * memory["b"] if nesterov else memory["b"]


NESTEROV = SGD.Config(momentum=0.9, nesterov=True)
CASES = {
    "adamw": (AdamW.Config(beta1=0.8, beta2=0.95, eps=1e-3), adam),
    "sgd": (SGD.Config(), lambda g, memory, t: g),
    "momentum": (SGD.Config(momentum=0.9), heavy_ball),
    "nesterov": (NESTEROV, lambda g, memory, t: heavy_ball(g, memory, t, nesterov=True)),
}


@pytest.mark.parametrize("kind", ["decoupled", "l2"])
@pytest.mark.parametrize("case", CASES)
def test_optimisers_and_decays_follow_their_formulas(case, kind):
    config, update = CASES[case]
    for given, expected in zip(trained(config, kind), by_hand(update, kind), strict=True):
        torch.testing.assert_close(given, expected, rtol=1e-10, atol=1e-12)


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
    for given, fused in zip(trained(config, "decoupled"), expected, strict=True):
        torch.testing.assert_close(given, fused, rtol=1e-12, atol=1e-14)


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


def test_nesterov_needs_momentum():
    problems = refused(SGD.Config(nesterov="on").build, start())
    assert problems == {"momentum": (0.0, "above 0, below 1")}


@pytest.mark.parametrize(("max_norm", "factor"), [(None, 1.0), (26.0, 1.0), (13.0, 1.0), (6.5, 0.5)])
def test_clipping_bounds_the_norm_over_all_parameters_and_returns_what_it_was(max_norm, factor):
    parameters = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1, 1)), nn.Parameter(torch.zeros(1))]
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
