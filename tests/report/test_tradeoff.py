from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from synthetic import study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report.draw import style
from ablate.report.page import figures
from ablate.report.section import Material
from ablate.report.sections import cost

KNOWN = Metric("max", 0.001, 0.1, 1.0, 0.95)


def test_means_with_marginal_intervals_and_costs(evidence: Evidence) -> None:
    data = cost.tradeoff(evidence, compare(evidence), "recall", {}).set_index("variant")
    assert data.index[0] == BASELINE
    assert "placebo" not in data.index
    row = data.loc["training.lr=0.3"]
    values = evidence.trials.query("variant == 'training.lr=0.3' and status == 'completed'")["accuracy"]
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    assert (row["n"], row["label"], row["verdict"]) == (4, "lr 0.3", "inconclusive")
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((values.mean(), low, high))
    assert row["parameters"] == 25_000
    assert cost.varying(data) == ["parameters"]


def test_labels_that_are_not_unique_are_names() -> None:
    factors = {"a.size": {"1": 0.0, "2": 0.0}, "b.size": {"1": 0.0, "2": 0.0}}
    made = study(factors=factors, named={}, claims=False, num_seeds=2, trouble=False)
    data = cost.tradeoff(made, compare(made), "recall", {})
    assert list(data["label"]) == [BASELINE, "a.size=2", "b.size=2"]


def points(number: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    means = 0.9 + 0.05 * rng.random(number)
    return pd.DataFrame(
        {
            "variant": [BASELINE, *(f"v{i}" for i in range(1, number))],
            "label": [BASELINE, *(f"level={i}" for i in range(1, number))],
            "verdict": [BASELINE, *["inconclusive"] * (number - 1)],
            "parameters": 1000.0 + (np.arange(number) % 2),
            "flops": 10.0 ** (3 + np.arange(number) % 4),
            "n": 3,
            "mean": means,
            "low": means - 0.2,
            "high": means + 0.2,
        }
    )


@pytest.mark.parametrize("number", [2, 9, 40])
def test_nothing_hides_another_or_is_outside(number: int) -> None:
    data = points(number)
    with style.context():
        figure = cost.figure(data, "accuracy", KNOWN)
        figure.draw_without_rendering()
    assert len(figure.axes) == 2
    for ax in figure.axes:
        shown = np.concatenate(
            [
                np.asarray(c.get_offsets())
                for c in ax.collections
                if c.get_label() != "x" and len(c.get_facecolors())
            ]
        )
        assert len(shown) == number
        places = ax.transData.transform(shown)[:, 0]
        share = np.diff(np.sort(places)) / ax.bbox.width
        assert share.min() >= min(0.032, 0.96 / (number - 1)) - 1e-6
        assert ax.get_ylim()[1] <= 1.05, "an accuracy is at most 1"
        names = [t for t in ax.texts if t.get_text().startswith("level=")]
        assert len(names) == min(number, cost.MAX_LABELS) - 1
        boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.y0)
        assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(boxes))
        assert max(box.x1 for box in boxes) <= figure.bbox.width + 1
        assert min(box.y0 for box in boxes) >= 0


def test_a_mean_far_below_the_rest_is_an_arrow_with_its_value() -> None:
    data = points(9)
    data.loc[8, ["mean", "low", "high"]] = 0.1
    data.loc[:7, "low"] = data["mean"] - 0.01
    with style.context():
        ax = cost.figure(data, "accuracy", KNOWN).axes[0]
    assert ax.get_ylim()[0] > 0.5
    assert "level=8 .10" in [t.get_text() for t in ax.texts]
    assert [line.get_marker() for line in ax.lines].count("v") == 1


def test_a_better_variant_of_three_is_inside_and_ticks_are_exact() -> None:
    means = np.array([0.9688, 0.9823, 0.9661])
    data = points(3).assign(mean=means, low=means - 0.005, high=means + 0.005, flops=1.0)
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


def test_a_cost_that_does_not_vary_has_no_panel() -> None:
    data = points(4).assign(parameters=1000.0)
    with style.context():
        assert len(cost.figure(data, "accuracy", KNOWN).axes) == 1
    assert cost.varying(data.assign(flops=np.nan)) == []


@pytest.mark.parametrize(
    ("value", "shown"), [(950, "950"), (26_416, "26.42k"), (1_200_000, "1.2M"), (3e9, "3G"), (2e12, "2T")]
)
def test_costs_in_few_characters(value: float, shown: str) -> None:
    assert wording.compact(value) == shown


def test_a_study_without_costs_has_no_such_figure(evidence: Evidence) -> None:
    bare = [dataclasses.replace(v, parameters={}, flops={}) for v in evidence.facts.variants]
    without = Evidence(dataclasses.replace(evidence.facts, variants=bare), evidence.trials, evidence.curves)
    assert "cost" not in figures(Material(without, compare(without), judge_claims(without)))
