"""What every registered optimizer and schedule must satisfy; found by walking the registry."""

from itertools import pairwise
from typing import Any

import pytest
import torch

from ablate.base.registry import CATALOGUE
from ablate.models.reference import settings_for

CATALOGUE.load_builtin()


def config_of(slot: str, name: str) -> Any:
    config: Any = CATALOGUE.get(slot, name).Config
    return config.model_validate({"name": name} | settings_for(config))


def descent(name: str, steps: int = 200, lr: float = 0.05) -> list[torch.Tensor]:
    """What a parameter is after each step on ½‖A w − b‖²."""
    generator = torch.Generator().manual_seed(0)
    matrix, target = torch.randn((6, 3), generator=generator), torch.randn(6, generator=generator)
    weight = torch.randn(3, generator=generator).requires_grad_()
    optimizer = config_of("optimizer", name).build([weight])
    path = []
    for _ in range(steps):
        weight.grad = None
        (matrix @ weight - target).square().mean().backward()
        optimizer.step(lr)
        path.append(weight.detach().clone())
    solution = torch.linalg.lstsq(matrix, target.unsqueeze(1)).solution[:, 0]
    return [*path, solution]


@pytest.mark.parametrize("name", CATALOGUE.names("optimizer"))
def test_an_optimizer_descends_and_repeats(name):
    *path, solution = descent(name)
    distances = [(weight - solution).norm() for weight in (path[0], path[-1])]
    assert distances[1] < 0.2 * distances[0]
    assert all(map(torch.equal, path, descent(name)))
    first, *rest, _ = descent(name, steps=3, lr=0.0)
    assert all(torch.equal(first, weight) for weight in rest)


def test_no_two_optimizers_or_schedules_are_alike():
    names = CATALOGUE.names("schedule")
    assert len({config_of("schedule", name).build().factor(0.3) for name in names}) == len(names)
    names = CATALOGUE.names("optimizer")
    assert len({tuple(descent(name, steps=2)[1].tolist()) for name in names}) == len(names)


@pytest.mark.parametrize("name", CATALOGUE.names("schedule"))
def test_a_schedule_starts_at_the_peak_and_never_rises(name):
    schedule = config_of("schedule", name).build()
    factors = [schedule.factor(i / 100) for i in range(101)]
    assert factors[0] == 1
    assert all(0 <= later <= factor for factor, later in pairwise(factors))
