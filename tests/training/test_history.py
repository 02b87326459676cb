import math
from statistics import stdev

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ablate.core.metric import Metric
from ablate.training import history as spikes
from ablate.training.history import Best, History, loss_spikes


def history(losses, norms=None) -> History:
    made = History()
    for loss, norm in zip(losses, norms or losses, strict=True):
        made.add(loss, norm)
    return made


def test_points_hold_means_since_the_last_evaluation():
    made = History()
    for loss, norm in [(4.0, 1.0), (2.0, 3.0)]:
        assert made.add(loss, norm)
    first = made.add_evaluation(0.1, {"accuracy": 0.5})
    assert first == {"train_loss": 3.0, "grad_norm": 2.0, "lr": 0.1, "validation_accuracy": 0.5}
    made.add(1.0, 5.0)
    second = made.add_evaluation(0.2, {"accuracy": 0.75})
    assert second == {"train_loss": 1.0, "grad_norm": 5.0, "lr": 0.2, "validation_accuracy": 0.75}
    for name, curve in made.curves.items():
        assert (curve.steps.tolist(), curve.values.tolist()) == ([2, 3], [first[name], second[name]])
    assert made.arrays["train_loss"].tolist() == [4.0, 2.0, 1.0]
    assert made.arrays["grad_norm"].dtype == np.float32


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_is_kept_and_told(loss):
    made = History()
    assert made.add(1.0, 1.0)
    assert not made.add(loss, 1.0)
    np.testing.assert_equal(made.arrays["train_loss"], np.float32([1.0, loss]))


@pytest.mark.parametrize(("steps", "window"), [(1, 1), (19, 1), (20, 1), (21, 2), (100, 5), (600, 30)])
def test_the_final_loss_is_the_mean_over_the_last_twentieth(steps, window):
    losses = [float(i) for i in range(steps)]
    assert history(losses).final_loss() == pytest.approx(np.mean(losses[-window:]))


def test_the_summary_of_a_run_that_diverged_keeps_what_it_had():
    made = history([1.0] * 120 + [9.0] + [1.0] * 39 + [math.nan], [4.0, 1.0, 9.0, 2.0] * 40 + [math.nan])
    assert made.summary()["loss_spikes"] == 1 / 60
    assert (made.summary()["grad_norm_median"], made.summary()["grad_norm_max"]) == (3.0, 9.0)


@pytest.mark.parametrize(
    ("initial", "final", "chance", "diverged"),
    [
        *((2.0, 2.19, 1.0, False), (2.0, 2.21, 1.0, True), (1.0, 2.19, 2.0, False)),
        *((1.0, 2.21, 2.0, True), (2.0, 2.0, 2.0, False)),
    ],
)
def test_risen_means_a_tenth_above_the_larger_of_initial_and_chance(initial, final, chance, diverged):
    made = history([initial] + [9.0] * 20 + [final, final])
    assert bool(made.risen(chance)) == diverged


def test_the_best_evaluation_of_each_metric_is_the_first_on_ties_and_keeps_its_weights():
    model = nn.Linear(1, 1, bias=False)
    metrics = {"up": Metric("max"), "down": Metric("min"), "also": Metric("min")}
    best, one = Best(metrics, metrics), Best(metrics, ["up"])
    up, down = [0.2, 0.9, 0.9, 0.1, 0.3], [3.0, 2.0, 1.0, 1.0, 2.0]
    for step, (rising, falling) in enumerate(zip(up, down, strict=True)):
        nn.init.constant_(model.weight, step)
        best.offer(step, {"up": rising, "down": falling, "also": falling - rising}, model)
        assert set(best.weights) == set(best.steps.values())
        one.offer(step, {"up": rising, "down": falling, "also": falling - rising}, model)
        assert set(one.weights) == {one.steps["up"]}
    assert one.steps == best.steps
    assert best.steps == {"up": 1, "down": 2, "also": 2}
    for step in (1, 2):
        assert torch.equal(best.weights[step]["weight"], torch.full((1, 1), float(step)))
    best.offer(9, {"up": math.nan, "down": math.nan, "also": math.nan}, model)
    assert best.steps == {"up": 1, "down": 2, "also": 2}
    half = Best(metrics, metrics)
    half.offer(1, {"up": 0.5, "down": math.nan, "also": math.nan}, model)
    assert half.steps == {"up": 1}
    assert set(half.weights) == {1}
    none = Best({"up": Metric("max")}, ["up"])
    none.offer(1, {"up": math.nan}, model)
    assert none.steps == none.weights == {}


def by_definition(losses: list[float]) -> float | None:
    found = []
    for step in range(100, len(losses)):
        before = np.array(losses[step - 100 : step])
        above = losses[step] - before.mean()
        found.append(above > 0 and above >= 7 * before.std(ddof=1))
    return sum(found) / len(found) if found else None


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 260), st.lists(st.tuples(st.integers(0, 259), st.floats(1, 60))))
def test_the_share_of_spikes_is_that_of_their_definition(seed, steps, jumps):
    losses = np.random.default_rng(seed).normal(2.0, 0.1, steps)
    for step, size in jumps:
        if step < steps:
            losses[step] += 0.1 * size
    assert loss_spikes(losses.tolist()) == by_definition(losses.tolist())


def test_a_step_is_no_part_of_its_own_window():
    """With itself, a step of a hundred and one lies at most 10 deviations off: one of 7.5 without would be hidden."""
    losses = [1.0, 1.2] * 50
    edge = 1.1 + 7.001 * stdev(losses)
    assert loss_spikes([*losses, edge]) == 1
    assert loss_spikes([*losses, 1.1 + 6.999 * stdev(losses)]) == 0


@pytest.mark.parametrize(
    ("last", "share"), [(1.0, 0.0), (0.5, 0.0), (1.0 + 1e-9, 1.0), (math.nan, None), (math.inf, None)]
)
def test_over_a_constant_loss_only_a_rise_to_a_number_is_a_spike(last, share):
    assert loss_spikes([1.0] * 100 + [last]) == share


def test_long_runs_are_counted_piece_by_piece(monkeypatch):
    losses = np.random.default_rng(0).normal(2.0, 0.1, 400)
    losses[[150, 220, 221, 399]] += 3
    whole = loss_spikes(losses.tolist())
    monkeypatch.setattr(spikes, "_TOGETHER", 7)
    assert loss_spikes(losses.tolist()) == whole == by_definition(losses.tolist())
