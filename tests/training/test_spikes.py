"""Spikes of a training loss, against their definition written out."""

import math
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ablate.training import history as spikes
from ablate.training.history import loss_spikes


def by_definition(losses: list[float]) -> float | None:
    found = []
    for step in range(100, len(losses)):
        before = np.array(losses[step - 100 : step])
        above = losses[step] - before.mean()
        found.append(above > 0 and above >= 7 * before.std(ddof=1))
    return sum(found) / len(found) if found else None


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 260), st.lists(st.tuples(st.integers(0, 259), st.floats(1, 60))))
def test_the_share_of_spikes_is_that_of_their_definition(
    seed: int, steps: int, jumps: list[tuple[int, float]]
) -> None:
    losses = np.random.default_rng(seed).normal(2.0, 0.1, steps)
    for step, size in jumps:
        if step < steps:
            losses[step] += 0.1 * size
    assert loss_spikes(losses.tolist()) == by_definition(losses.tolist())


def test_a_step_is_no_part_of_its_own_window() -> None:
    """With itself, a step of a hundred and one lies at most 10 deviations off: one of 7.5 without would be hidden."""
    losses = [1.0, 1.2] * 50
    edge = 1.1 + 7.001 * stdev(losses)
    assert loss_spikes([*losses, edge]) == 1
    assert loss_spikes([*losses, 1.1 + 6.999 * stdev(losses)]) == 0


@pytest.mark.parametrize(
    ("last", "share"), [(1.0, 0.0), (0.5, 0.0), (1.0 + 1e-9, 1.0), (math.nan, None), (math.inf, None)]
)
def test_over_a_constant_loss_only_a_rise_to_a_number_is_a_spike(last: float, share: float | None) -> None:
    assert loss_spikes([1.0] * 100 + [last]) == share


def test_long_runs_are_counted_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = np.random.default_rng(0).normal(2.0, 0.1, 400)
    losses[[150, 220, 221, 399]] += 3
    whole = loss_spikes(losses.tolist())
    monkeypatch.setattr(spikes, "_TOGETHER", 7)
    assert loss_spikes(losses.tolist()) == whole == by_definition(losses.tolist())
