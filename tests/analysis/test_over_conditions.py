"""Verdicts over conditions, against reference values."""

import numpy as np
import pytest
from made_conditions import REVERSED, SCORE, blocked, conditions
from made_evidence import ACCURACY, study
from scipy import stats

from ablate.analysis.agreeing import IntersectionUnion
from ablate.analysis.conditions import Condition
from ablate.analysis.estimates import Rate
from ablate.analysis.judge import Judged, judge
from ablate.analysis.measure import Measure
from ablate.analysis.over_conditions import (
    InCondition,
    claim_in_every,
    judge_every,
    judge_mean,
    scaled_margin,
)
from ablate.analysis.paired import Differences
from ablate.analysis.runs import runs_of
from ablate.analysis.sums_of_conditions import mean_over
from ablate.core.reason import Block, Reason


def by_mean(d, margin=None, alpha=0.05):
    made = conditions(d)
    return judge_mean(mean_over(made), made, margin, alpha)


def in_every(d, margin=None, alpha=0.05):
    made = [InCondition(one.name, one.difference, margin) for one in conditions(d)]
    return judge_every(made, alpha)


def test_mean_and_varies_are_those_of_the_reference():
    found = by_mean(REVERSED)
    assert found.row.verdict == "better"
    assert found.row.p == pytest.approx(0.0003881713, abs=5e-11)
    third = conditions(REVERSED)[2].difference
    assert third.interval(0.05 / 3) == pytest.approx((-0.0325251066, -0.0074748934), abs=5e-11)
    assert (found.better, found.worse, found.varies) == (2, 1, True)


def test_every_is_refuted_by_t_times_the_smallest_p_of_the_reference():
    judged = {one.name: judge(one.difference, "beats") for one in conditions(REVERSED)}
    claim = claim_in_every(judged)
    assert claim.judged.refuted / 2 == pytest.approx(0.004797303, abs=5e-10), "the reference is one-sided"
    assert (claim.judged.outcome, claim.deciding) == ("refuted", "c2")
    del judged["c2"]
    assert claim_in_every(judged).judged.outcome == "supported"


def test_in_every_condition_the_largest_p_supports_and_so_many_times_the_smallest_refutes():
    weak = Judged(0.04, 1.0, 0.05, Reason("open"))
    strong = Judged(0.01, 1.0, 0.05, Reason("open"))
    supported = claim_in_every({"strong": strong, "weak": weak})
    assert (supported.judged.supported, supported.judged.outcome) == (0.04, "supported")
    assert supported.deciding == "weak"
    against = claim_in_every({"against": Judged(1.0, 0.02, 0.05, Reason("open")), "one": strong, "two": weak})
    assert against.judged.refuted == pytest.approx(0.06)
    assert against.judged.outcome == "inconclusive"
    unclear = Judged(0.5, 1.0, 0.05, Reason("open"))
    blocked_in_one = claim_in_every({"unclear": unclear, "full": Judged(1.0, 1.0, 0.05, Reason("ceiling"))})
    assert (blocked_in_one.deciding, blocked_in_one.judged.reason) == ("full", Reason("ceiling"))


def test_every_says_what_each_condition_supports_and_else_names_the_one_that_decides():
    up = REVERSED[:, :2]
    assert (in_every(up).row.verdict, in_every(-up).row.verdict) == ("better", "worse")
    found = in_every(up)
    p = stats.ttest_1samp(up, 0).pvalue
    assert (found.row.p, found.deciding) == (pytest.approx(p.max()), f"c{p.argmax()}")
    assert in_every(up, margin=0.1).row.verdict == "equivalent"
    assert in_every(up, margin=0.04).row.verdict == "better", "one alone is equivalent, both are better"
    mixed = in_every(REVERSED)
    assert (mixed.row.verdict, mixed.deciding, mixed.row.reason) == ("inconclusive", "c2", Reason("varies"))
    assert (mixed.better, mixed.worse) == (2, 1)
    assert [one.verdict for one in mixed.conditions] == ["better", "better", "worse"]


def test_a_blocked_condition_keeps_every_open_with_its_reason():
    missing = Block(Reason("incomplete", {"pairs": 4, "missing": 1}))
    first, second = conditions(REVERSED[:, :2])
    made = [InCondition(one.name, one.difference) for one in (first, blocked(second, missing))]
    found = judge_every(made)
    assert (found.row.verdict, found.deciding, found.row.reason) == ("inconclusive", "c1", missing.reason)


def test_every_takes_rates_and_settings_that_must_agree():
    d = Differences.between(np.r_[np.ones(6), np.zeros(4)], np.zeros(10))
    rate = Rate((6, 0), 10, 1.0, d, d.on(d.values == 0))
    up = conditions(REVERSED)[0].difference
    assert judge_every([InCondition("a", rate), InCondition("b", up)]).row.verdict == "better"
    other = (Reason("rivals"), conditions(REVERSED)[2].difference)
    disagreeing = IntersectionUnion(up, [other], [])
    found = judge_every([InCondition("a", rate), InCondition("b", disagreeing)])
    assert (found.row.verdict, found.deciding, found.row.reason) == ("inconclusive", "b", Reason("rivals"))
    assert found.conditions[1].must_agree == (True, False)


def test_the_condition_with_most_of_the_variance_and_the_one_that_blocks_are_named():
    d = REVERSED * [1, 1, 10]
    assert by_mean(d).heaviest == "c2"
    assert by_mean(REVERSED).heaviest == "c0"
    assert by_mean(np.c_[REVERSED[:, 0], -REVERSED[:, 0]]).heaviest == ""
    made = conditions(REVERSED, metric=ACCURACY)
    floor = Block(Reason("floor", {"n": 5}), wholly=False)
    made[1] = blocked(made[1], floor)
    found = judge_mean(mean_over(made), made, margin=0.001)
    assert (found.scales, found.blocking) == ([0.9] * 3, "")
    equal = conditions(REVERSED - REVERSED.mean(axis=0))
    equal[1] = blocked(equal[1], floor)
    found = judge_mean(mean_over(equal), equal, margin=1.0)
    assert (found.row.verdict, found.row.reason, found.blocking) == ("inconclusive", floor.reason, "c1")


def test_a_margin_is_in_the_units_of_the_metric_where_all_share_its_scale():
    assert scaled_margin(conditions(REVERSED, metric=ACCURACY), 0.09) == pytest.approx(0.1)
    assert scaled_margin(conditions(REVERSED), 0.09) == 0.09
    assert scaled_margin(conditions(REVERSED, [1, 2, 3]), 0.09) == 0.09


def test_tasks_of_a_study_are_conditions_by_their_contrasts():
    rng = np.random.default_rng(9)
    base = rng.normal(0.5, 0.05, (2, 5))
    made = base + 0.05 + rng.normal(0, 0.005, (2, 5))
    made[0, 3] = np.nan
    tasks = {name: {"accuracy": ACCURACY} for name in ("recall", "sort")}
    values = {"baseline": dict(zip(tasks, base, strict=True)), "a": dict(zip(tasks, made, strict=True))}
    runs = runs_of(study(values, tasks=tasks))
    contrasts = [
        Measure("accuracy", "mean", task).contrast(runs, [["a"], ["baseline"]]) for task in runs.facts.tasks
    ]
    found = [
        Condition.of_contrast(name, contrast, "accuracy")
        for name, contrast in zip(tasks, contrasts, strict=True)
    ]
    assert [list(one.seeds) for one in found] == [[0, 1, 2, 4], [0, 1, 2, 3, 4]]
    mean = mean_over(found)
    gains = (made - base)[:, [0, 1, 2, 4]].mean(axis=0) / 0.9
    assert mean.interval() == pytest.approx(tuple(stats.ttest_1samp(gains, 0).confidence_interval()))
    verdict = judge_mean(mean, found, margin=None)
    assert (verdict.row.verdict, verdict.row.reason.code) == ("inconclusive", "incomplete")
    assert verdict.blocking == "recall"
    assert not any(one.near_bound for one in found)
    assert contrasts[1].has_mean_near_bound(margin=0.5)


def test_the_margin_is_in_the_scaled_unit():
    made = [
        Condition("small", conditions(REVERSED)[0].difference, "a", SCORE, range(5), declared_scale=1.0),
        Condition("large", Differences.between(20 * REVERSED[:, 1], np.zeros(5)), "b", SCORE, range(5), 20.0),
    ]
    mean = mean_over(made)
    high = mean.interval()[1]
    assert judge_mean(mean, made, margin=1.001 * high).row.verdict == "equivalent"
    assert judge_mean(mean, made, margin=0.999 * high).row.verdict == "better"
