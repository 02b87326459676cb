import numpy as np
import pandas as pd
import pytest
from ablate.report.draw import style
from matplotlib.collections import PathCollection
from scipy import stats

from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report.sections import cost

KNOWN = Metric("max", 0.001, 0.1, 1.0, 0.95)


def test_means_with_marginal_intervals_and_costs(evidence):
    data = cost.tradeoff(evidence, "recall", {}).set_index("variant")
    assert data.index[0] == BASELINE
    assert "placebo" not in data.index
    row = data.loc["training.lr=0.3"]
    values = evidence.trials.query("variant == 'training.lr=0.3' and status == 'completed'")["accuracy"]
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert (row["n"], row["label"]) == (4, "learning rate 0.3")
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
    assert row["parameters"] == 25_000
    assert cost.varying(data) == ["parameters"]


def points(number):
    rng = np.random.default_rng(1)
    means = 0.9 + 0.05 * rng.random(number)
    return pd.DataFrame(
        {
            "variant": [BASELINE, *(f"v{i}" for i in range(1, number))],
            "label": [BASELINE, *(f"level={i}" for i in range(1, number))],
            "parameters": 1000.0 + (np.arange(number) % 2),
            "step_seconds": 10.0 ** (3 + np.arange(number) % 4),
            "n": 3,
            "mean": means,
            "low": means - 0.2,
            "high": means + 0.2,
        }
    )


@pytest.mark.parametrize("number", [2, 9, 40])
def test_every_variant_is_a_point_and_few_are_named(number):
    with style.context():
        figure = cost.figure(points(number), "accuracy", KNOWN)
        figure.draw_without_rendering()
    assert len(figure.axes) == 2
    for ax in figure.axes:
        marks = [c for c in ax.collections if isinstance(c, PathCollection)]
        assert sum(len(c.get_offsets()) for c in marks) == number
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == (["baseline", "variant"] if number > cost.MAX_NAMED else list(points(number)["label"]))
    looks = {(handle.get_marker(), handle.get_color()) for handle in legend.legend_handles}
    assert len(looks) == len(names), "no two look alike"
    assert legend.get_window_extent().x1 <= figure.bbox.width + 1


def test_a_better_variant_of_three_is_inside_and_ticks_are_exact():
    means = np.array([0.9688, 0.9823, 0.9661])
    data = points(3).assign(mean=means, low=means - 0.005, high=means + 0.005, step_seconds=1.0)
    data = data.assign(parameters=[26_087.0, 26_093.0, 25_930.0])
    with style.context():
        (ax,) = cost.figure(data, "accuracy", KNOWN).axes
        ax.figure.draw_without_rendering()
    low, high = ax.get_ylim()
    assert low < 0.9611 < 0.9873 < high
    ticks = [
        (tick, label.get_text()) for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    ]
    assert len(ticks) > 2
    for tick, label in ticks:
        assert float(label.removesuffix("k")) * 1000 == pytest.approx(tick, rel=1e-9)


def test_a_cost_that_does_not_vary_has_no_panel():
    data = points(4).assign(parameters=1000.0)
    with style.context():
        assert len(cost.figure(data, "accuracy", KNOWN).axes) == 1
    assert cost.varying(data.assign(step_seconds=np.nan)) == []


@pytest.mark.parametrize(
    ("value", "shown"), [(950, "950"), (26_416, "26.42k"), (1_200_000, "1.2M"), (3e9, "3G"), (2e12, "2T")]
)
def test_costs_in_few_characters(value, shown):
    assert wording.compact(value) == shown
