"""How verdicts fare on fresh seeds: counts of what repeats, the ratio of differences, and their distance."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_conditions import GROWING, study_over
from made_evidence import crossed, study
from scipy import stats

from ablate.analysis.replication import (
    EXPECTED_Z,
    ConditionVerdict,
    RepeatedVerdict,
    condition_verdicts,
    repeated_verdicts,
    replication_statistics,
)
from ablate.core.facts import ALL_PAIRS
from ablate.core.metric import Metric

FIRST = [0.05, 0.06, 0.04, 0.05, 0.06]
AGAIN = [0.02, 0.03, 0.04, 0.02, 0.03]


def evidence(differences, margin=None):
    """A study of one variant that differs from its baseline by these numbers."""
    base = np.linspace(0.5, 0.6, len(differences))
    values = {"baseline": base, "a": base + np.array(differences)}
    return study(values, metric="score", metrics={"score": Metric("max")}, margin=margin)


def test_a_comparison_is_repeated_with_the_distance_of_both_estimates_in_standard_errors():
    (repeated,) = repeated_verdicts(evidence(FIRST), evidence(AGAIN))
    errors = [stats.sem(values) for values in (FIRST, AGAIN)]
    assert (repeated.first.verdict, repeated.again.verdict) == ("better", "better")
    assert repeated.z == pytest.approx((np.mean(FIRST) - np.mean(AGAIN)) / math.hypot(*errors))
    assert repeated.ratio == pytest.approx(np.mean(AGAIN) / np.mean(FIRST))


def test_a_mean_over_the_levels_of_another_factor_is_not_repeated_by_one_of_its_cells():
    factors = {"rank": ["full", "low"], "size": ["large", "small"]}

    def accuracy(levels, seed):
        return 0.9 - 0.1 * (levels["rank"] == "low") - 0.2 * (levels["size"] == "small") + 0.01 * seed**2

    first = crossed(factors, accuracy)
    again = crossed(factors, accuracy, keep=lambda levels: levels["size"] == "large", design="one_factor")
    assert {one.variant for one in condition_verdicts(first)} == {"rank=low", "size=small"}
    assert {one.variant for one in condition_verdicts(again)} == {"rank=low"}
    assert repeated_verdicts(first, again) == []


def test_of_all_pairs_each_is_set_beside_itself_on_fresh_seeds():
    first, again = [
        study(
            {"baseline": base, "a": base + np.array(diff), "b": base + 0.2},
            metric="score",
            metrics={"score": Metric("max")},
        )
        for base, diff in [(np.linspace(0.5, 0.6, 5), FIRST), (np.linspace(0.4, 0.6, 5), AGAIN)]
    ]
    repeated = repeated_verdicts(
        *(replace(one, facts=replace(one.facts, compare=ALL_PAIRS)) for one in (first, again))
    )
    pairs = {(one.first.variant, one.first.baseline): one for one in repeated}
    assert len(pairs) == len(repeated) == 3
    assert all(one.again.comparison == one.first.comparison for one in repeated)


def test_what_repeats_is_counted_apart_for_differences_and_equivalences():
    def judged_twice(first, again, diff=0.1, diff_again=0.1):
        sides = [("a", "b", "recall", first, diff, 0.1), ("a", "b", "recall", again, diff_again, 0.1)]
        return RepeatedVerdict(*(ConditionVerdict(*side) for side in sides))

    repeated = [
        judged_twice("better", "better"),
        judged_twice("better", "inconclusive", diff_again=0.05),
        judged_twice("worse", "better", diff=-0.1),
        judged_twice("equivalent", "equivalent"),
        judged_twice("equivalent", "worse"),
        judged_twice("inconclusive", "better"),
    ]
    found = replication_statistics(repeated)
    assert (found.differences, found.differences_repeated, found.signs_kept) == (3, 1, 2)
    assert (found.equivalences, found.equivalences_repeated) == (2, 1)
    assert found.median_ratio == pytest.approx(0.5)
    assert found.num_z == 6


def test_if_only_noise_differs_the_mean_distance_is_the_expected_one():
    rng = np.random.default_rng(1)
    repeated = []
    for first, again in rng.normal(0.05, 0.02, (400, 2, 30)):
        sides = []
        for values in (first, again):
            sides.append(ConditionVerdict("a", "b", "recall", "better", values.mean(), stats.sem(values)))
        repeated.append(RepeatedVerdict(*sides))
    assert replication_statistics(repeated).mean_z == pytest.approx(EXPECTED_Z, abs=0.08)


def test_nothing_repeated_has_neither_ratio_nor_distance():
    found = replication_statistics([])
    assert math.isnan(found.median_ratio)
    assert math.isnan(found.mean_z)


def test_over_conditions_only_those_that_were_trained_again_count():
    names = ("short", "middle", "long")
    first = study_over(GROWING, "every", names=names)
    again = study_over(GROWING, "every", names=names)
    again = replace(again, trials=again.trials[again.trials["task"] == "long"])
    assert [verdict.condition for verdict in condition_verdicts(first)] == [*names]
    (repeated,) = repeated_verdicts(first, again)
    assert (repeated.first.condition, repeated.again.verdict) == ("long", "better")


def test_a_placebo_is_no_verdict_that_repeats():
    values = {"baseline": [0.5, 0.6, 0.7], "copy": [0.51, 0.6, 0.69]}
    assert condition_verdicts(study(values, placebos=["copy"])) == []
