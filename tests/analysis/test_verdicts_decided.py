"""Rules 4 to 7 in their order, each where the next one would hold too, and the intervals that say the same."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ablate.report.brief.verdicts import comparison_cells
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_evidence import ACCURACY, study
from scipy import stats
from verdict_cases import BASE, FLOOR_OF_1000, WOBBLE, of, verdict

from ablate.analysis.compare import compare
from ablate.analysis.rates import rate_p
from ablate.core.metric import Metric


def solved_by(failures: list[bool]) -> np.ndarray:
    """A run that finds the solution reaches .99, another one .3."""
    return np.where(failures, 0.3, 0.99)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_4_equivalent_before_better_and_worse(side):
    # Half-widths of the 90 and the 95 % interval: .00151 and .00196.
    a = BASE + side * 0.003 + WOBBLE
    better = "better" if side > 0 else "worse"
    assert [verdict(a, margin=m) for m in (0.00455, 0.00447, None)] == ["equivalent", better, better]


def test_4_not_of_runs_that_fall_into_groups():
    # A quarter of the range of .9 between two runs of one variant, wherever in the study it is.
    for gap, expected in ((0.224, "equivalent"), (0.226, "inconclusive")):
        other = np.array([0.3, 0.3, 0.3, 0.3, 0.3 + gap])
        frame = compare(study({"baseline": BASE, "a": BASE + WOBBLE, "b": other}, margin=0.02))
        assert frame["verdict"][0] == expected
        assert frame["p_equivalent"][0] == (1.0 if expected == "inconclusive" else pytest.approx(0, abs=1e-4))
    assert "no equivalence is claimed of a mean over runs that fall into groups" in frame["note"][0]


def test_4_on_an_all_or_nothing_task_by_the_seeds_of_one_side_alone():
    rng = np.random.default_rng(0)
    n, margin = 40, 0.3
    base, a = (solved_by([False] * n) + rng.normal(0, 0.001, n) for _ in range(2))
    base[:2], a[:2] = 0.3, 0.3
    a[2] = 0.3
    row = of(a, base, outcome="all_or_nothing", margin=margin)
    share = margin / (2 * 0.9)
    same = np.delete(a - base, 2)
    within = max(
        stats.ttest_1samp(same, -margin / 2, alternative="greater").pvalue,
        stats.ttest_1samp(same, margin / 2, alternative="less").pvalue,
    )
    failing = max(stats.binom.cdf(0, n, share), stats.binom.cdf(1, n, share))
    assert row["p_equivalent"] == pytest.approx(max(within, failing))
    assert failing > within
    assert (row["verdict"], row["only_variant"], row["only_baseline"]) == ("equivalent", 0, 1)
    # The means on the seeds that both solved may differ by more than half of the margin.
    shifted = np.where(a > 0.5, a - 0.2, a)
    row = of(shifted, base, outcome="all_or_nothing", margin=margin, metrics={"accuracy": ACCURACY_AT_7})
    assert row["p_equivalent"] > 0.5


ACCURACY_AT_7 = Metric("max", resolution=0.001, floor=0.1, ceiling=1.0, solved=0.7)


@pytest.mark.parametrize(
    ("base", "a"),
    [
        # Solved by nobody.
        ([0.3] * 60, [0.301] * 60),
        # One side alone on every seed but one: nothing is left to compare.
        ([0.95] + [0.3] * 59, [0.95] * 60),
    ],
)
def test_4_never_on_an_all_or_nothing_task_without_solutions_to_compare(base, a):
    assert of(a, base, outcome="all_or_nothing", margin=0.5)["p_equivalent"] == 1.0


def test_4_nor_where_solved_is_a_threshold_on_another_metric():
    metrics = {"loss": Metric("min", 0.001, floor=2.0, ceiling=0.0), "accuracy": ACCURACY}
    solved = {name: [0.95] * 39 + [0.3] for name in ("baseline", "a")}
    loss = {"baseline": np.full(40, 1.0), "a": np.linspace(0.999, 1.001, 40)}
    row = compare(
        study(
            loss,
            metric="loss",
            metrics=metrics,
            others={"accuracy": solved},
            margin=0.5,
            outcome="all_or_nothing",
        )
    ).iloc[0]
    assert (row["verdict"], row["p_equivalent"]) == ("inconclusive", 1.0)


@pytest.mark.parametrize(("alone", "expected"), [(3, "inconclusive"), (4, "worse"), (5, "worse")])
def test_5_on_an_all_or_nothing_task_by_the_rates(alone, expected):
    base, a = solved_by([False] * 5), solved_by([i < alone for i in range(5)])
    row = of(a, base, outcome="all_or_nothing", margin=0.02)
    assert (row["verdict"], row["decided_by"]) == (expected, "rate")
    assert row["p"] == row["p_solved"] == pytest.approx(rate_p(alone, 0, 5))
    assert (row["only_variant"], row["only_baseline"]) == (0, alone)
    assert f"0 only by the variant, {alone} only by the baseline" in row["note"]
    assert ("the size of the mean difference is exploratory" in row["note"]) == (expected == "worse")
    # The same numbers on a graded task are left to t.
    assert of(a, base)["decided_by"] == "t"


def test_5_the_rates_lead_even_against_the_mean():
    # The variant solves four seeds that the baseline does not, and is the worse for it on average.
    base = np.array([0.89] * 4 + [0.99] * 4)
    a = np.array([0.91] * 4 + [0.95] * 4)
    row = of(a, base, outcome="all_or_nothing")
    assert row["diff"] < 0
    assert row["verdict"] == "inconclusive"
    assert row["p"] == pytest.approx(0.0520, abs=5e-5)
    row = of(np.append(a, 0.91), np.append(base, 0.89), outcome="all_or_nothing")
    assert (row["verdict"], row["diff"] < 0) == ("better", True)


def test_5_neither_learned():
    row = of(BASE - 0.4 + WOBBLE, BASE - 0.3, outcome="all_or_nothing")
    assert (row["verdict"], row["decided_by"]) == ("worse", "t")
    assert "neither side learned the task" in row["note"]


def test_5_a_note_says_where_the_interval_does_not_clear_the_margin():
    near, far = (of(BASE - x + WOBBLE, margin=0.01) for x in (0.011, 0.1))
    assert near["verdict"] == far["verdict"] == "worse"
    assert near["note"].startswith("may be smaller than the margin")
    assert "smaller than the margin" not in far["note"]


def test_6_saturated_where_no_run_is_better_than_guessing():
    low = np.array([0.09, 0.11, 0.1, 0.12, 0.1])
    row = of(low + 5 * WOBBLE, low)
    assert row["verdict"] == "saturated"
    assert "no run is better than guessing" in row["note"]
    assert verdict(low + 5 * WOBBLE, [0.09, 0.11, 0.1, FLOOR_OF_1000 + 0.001, 0.1]) == "inconclusive"
    # After better, worse and equivalent.
    assert verdict(low + 0.008, low) == "better"
    assert verdict(low + 5 * WOBBLE, low, margin=0.02) == "equivalent"


def test_6_the_floor_of_a_metric_that_is_no_accuracy_is_exact():
    error = {"accuracy": Metric("min", 0.01, floor=0.9, ceiling=0.0)}
    assert verdict([0.93, 0.91, 0.9], [0.9, 0.9, 0.9], metrics=error) == "saturated"
    assert verdict([0.93, 0.91, 0.899], [0.9, 0.9, 0.9], metrics=error) == "inconclusive"


def test_7_inconclusive_says_what_could_be_seen_and_what_would_settle_it():
    row = of(BASE + 0.0015 + WOBBLE)
    assert row["verdict"] == "inconclusive"
    assert row["mde"] == pytest.approx(1.682 * WOBBLE.std(ddof=1), rel=1e-3)
    assert 5 < row["seeds_needed"] < 20
    assert f"about {row['seeds_needed']:.0f} seeds would settle it" in row["note"]
    hopeless = of(BASE + 50 * WOBBLE)
    assert hopeless["seeds_needed"] == math.inf
    assert "more than 1,000 seeds" in hopeless["note"]


def test_7_a_difference_that_the_metric_cannot_show_is_not_said_to_be_detected():
    row = of(np.array([0.9, 0.4]), np.array([0.5, 0.6]))
    assert row["verdict"] == "inconclusive"
    assert row["mde"] == math.inf
    assert "2 seeds detect no difference that the metric can show with 80 % power;" in row["note"]
    assert comparison_cells(row)["mde"] == "none"


def test_7_more_seeds_are_not_advised_where_no_run_finds_the_solution():
    none = [np.array([0.1, 0.2, 0.15, 0.12]), np.array([0.3, 0.25, 0.16, 0.15])]
    assert of(none[1], none[0])["seeds_needed"] > 4
    row = of(none[1], none[0], outcome="all_or_nothing")
    assert row["verdict"] == "inconclusive"
    assert math.isnan(row["seeds_needed"])
    assert "would settle it" not in row["note"]
    assert "neither side solved the task" in row["note"]


def test_7_under_rates_the_smallest_failure_rate():
    row = of(solved_by([True] + [False] * 7), solved_by([False] * 8), outcome="all_or_nothing")
    assert row["verdict"] == "inconclusive"
    assert math.isnan(row["seeds_needed"])
    # Five failures of eight are significant, and P(5 or more of 8) is .8 at a rate of .7.
    assert "8 seeds tell a failure rate of .7 from 0 with 80 % power" in row["note"]
    few = of(solved_by([True, False]), solved_by([False] * 2), outcome="all_or_nothing")
    assert "2 seeds cannot tell any failure rate from 0" in few["note"]


@settings(max_examples=40)
@given(
    arrays(float, (2, 6), elements=st.floats(0, 1, width=16)),
    st.sampled_from([0.005, 0.1]),
    st.integers(1, 4),
)
def test_intervals_say_what_is_decided(ab, margin, m):
    values = {"baseline": ab[0]} | {f"v{i}": ab[1] for i in range(m)}
    metrics = {"accuracy": Metric("max", 0.001)}
    row = compare(study(values, metrics=metrics, margin=margin)).iloc[0]
    low, high, inner_low, inner_high = row[["family_low", "family_high", "tost_low", "tost_high"]]
    # A bound on the threshold, to rounding, may fall either way.
    assume(min(abs(low), abs(high), *(abs(abs(x) - margin) for x in (inner_low, inner_high))) > 1e-9)
    assert (low > 0 or high < 0) == (row["p_adjusted"] <= 0.05) == (row["p"] <= 0.05 / m)
    inside = -margin < inner_low and inner_high < margin
    assert inside == (row["p_equivalent"] <= 0.05 / m)
    if (row["diff"], ab[0].tolist()) != (0.0, ab[1].tolist()):
        found = "better" if low > 0 else "worse" if high < 0 else "inconclusive"
        assert row["verdict"] == ("equivalent" if inside else found)


@settings(max_examples=40)
@given(
    arrays(float, (2, 5), elements=st.floats(0, 1, width=16)),
    st.sampled_from([None, 0.1]),
    st.sampled_from(["graded", "all_or_nothing"]),
    st.sampled_from([None, ("a", 1), ("baseline", 2)]),
)
def test_swapping_variant_and_baseline_turns_the_verdict(ab, margin, outcome, lost):
    swapped = {"a": "baseline", "baseline": "a"}
    one = of(ab[1], ab[0], margin=margin, outcome=outcome, statuses={lost: "diverged"} if lost else {})
    there = {(swapped[lost[0]], lost[1]): "diverged"} if lost else {}
    other = of(ab[0], ab[1], margin=margin, outcome=outcome, statuses=there)
    assert other["verdict"] == {"better": "worse", "worse": "better"}.get(one["verdict"], one["verdict"])
    assert other["diff"] == pytest.approx(-one["diff"], abs=1e-12)
    assert (other["solved_rate"], other["only_variant"]) == (
        one["baseline_solved_rate"],
        one["only_baseline"],
    )
