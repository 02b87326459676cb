"""Verdicts over conditions on made evidence: comparisons, claims, the tables beside them, and looks."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import GROWING, REVERSED, SCALED, SCORE, study_over
from made_evidence import ACCURACY, claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.conditions_tables import conditions_table, trends
from ablate.analysis.further_runs import unsettled
from ablate.analysis.paired import Differences, seeds_needed
from ablate.core.facts import Less
from ablate.core.metric import Metric, Sampling
from ablate.core.over import Over
from ablate.core.provenance import Given, Planned
from ablate.core.replication import GivenSeeds

SIZES = {"c0": 64.0, "c1": 128.0, "c2": 512.0}


def first(evidence):
    return compare(evidence).iloc[0]


def beside(evidence):
    return conditions_table(evidence).iloc[0]


def beats(a="a", b="baseline", **options):
    return claim("beats", a, b, metric="score", **options)


# The mean


def test_the_mean_and_varies_are_those_of_the_reference():
    evidence = study_over(REVERSED)
    row = first(evidence)
    assert (row["task"], row["verdict"], row["n"], row["exploratory"]) == ("mean", "better", 5, False)
    assert row["p"] == pytest.approx(0.0003881713, abs=5e-11)
    assert row["diff"] == pytest.approx(REVERSED.mean())
    about = beside(evidence)
    assert (about["conditions"], about["better"], about["worse"], about["varies"]) == (3, 2, 1, True)
    assert (about["over"], about["deciding"], about["scales"]) == ("mean", "", "")
    rows = compare(evidence)
    assert rows["task"].tolist() == ["mean", "c0", "c1", "c2"]
    assert rows["exploratory"].tolist() == [False, True, True, True]
    assert set(rows["level"]) == {0.95}
    assert set(rows["verdict"][1:]) == {""}


def test_scales_are_those_of_the_reference_and_are_named():
    evidence = study_over(SCALED, scales={"c0": 1.0, "c1": 20.0})
    row = first(evidence)
    assert row["diff"] == pytest.approx(0.0625)
    assert row["p"] == pytest.approx(0.0219862, abs=5e-8)
    assert row["diff"] == pytest.approx(row["mean_variant"] - row["mean_baseline"])
    assert beside(evidence)["scales"] == "c0 1; c1 20"


def test_the_means_of_both_sides_are_of_the_seeds_whose_differences_are_added():
    d = np.array([*REVERSED, (0.03, 0.02, 0.5)])
    d[5, 1] = np.nan  # A run of `a` is missing in one condition.
    row = first(study_over(d))
    assert (row["n"], row["reason"]) == (5, "incomplete pairs=5 missing=1")
    assert row["diff"] == pytest.approx(REVERSED.mean())
    assert row["diff"] == pytest.approx(row["mean_variant"] - row["mean_baseline"])
    assert beside(study_over(d))["heaviest"] == "c0", "the sixth seed, on which c2 is far off, is not added"


def test_a_condition_in_which_all_runs_have_one_value_does_not_widen_the_mean():
    d = np.column_stack([np.zeros(5), REVERSED[:, :2]])
    evidence = study_over(d)
    solved = evidence.trials["task"] == "c0"
    evidence = replace(
        evidence, trials=evidence.trials.assign(score=evidence.trials["score"].mask(solved, 1.0))
    )
    row = first(evidence)
    known = stats.ttest_1samp(d.mean(axis=1), 0)
    assert row["p"] == pytest.approx(known.pvalue)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx([*known.confidence_interval(0.95)])
    assert (row["verdict"], beside(evidence)["heaviest"]) == ("better", "c1")
    everywhere = replace(evidence, trials=evidence.trials.assign(score=1.0))
    assert first(everywhere)["reason"] == "degenerate n=5"
    assert first(everywhere)["mde"] > 0.1


def test_a_shared_scale_leaves_the_unit_of_the_metric():
    d = REVERSED[:, :2]
    plain = first(study_over(d, noise=0.02))
    ranged = first(study_over(d, metric=Metric("max", floor=0.1, ceiling=1.0), noise=0.02))
    for column in ("diff", "ci_low", "ci_high", "p", "mde", "mean_variant"):
        assert ranged[column] == pytest.approx(plain[column]), column
    assert first(study_over(d, margin=0.05)).verdict == "equivalent"
    assert (
        first(study_over(d, margin=0.05, metric=Metric("max", floor=0.1, ceiling=1.0))).verdict
        == "equivalent"
    )


def test_of_26_games_and_5_seeds_t_of_the_mean_is_that_of_the_table_of_runs():
    rng = np.random.default_rng(26)
    gains = (
        0.12 * (1 + 0.3 * rng.normal(size=26))
        + 0.2 * rng.normal(size=(5, 26))
        + 0.02 * rng.normal(size=(5, 1))
    )
    evidence = study_over(gains)
    row = first(evidence)
    table = evidence.trials.pivot_table(index=["task", "seed"], columns="variant", values="score")
    by_seed = (table["a"] - table["baseline"]).groupby("seed").mean()
    known = stats.ttest_1samp(by_seed, 0)
    interval = known.confidence_interval(0.95)
    assert row["p"] == pytest.approx(known.pvalue)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((interval.low, interval.high))
    assert (row["n"], row["verdict"]) == (5, "better")
    assert len(compare(evidence)) == 27
    each = compare(study_over(gains, "each"))
    assert set(each["level"].round(12)) == {round(1 - 0.05 / 26, 12)}
    assert (each["verdict"] == "better").sum() < 13, "alone most games stay open"


def test_a_condition_that_lacks_runs_leaves_the_mean_incomplete_and_is_named():
    d = REVERSED[:, :2].copy()
    d[:, 1] = np.nan
    for form in ("mean", "every"):
        row = first(study_over(d, form))
        assert (row["verdict"], row["reason"]) == ("inconclusive", "incomplete pairs=0 missing=5"), form
        assert beside(study_over(d, form))["deciding"] == "c1"
        assert unsettled(study_over(d, form)) == set(), "no seed makes it good"
    d = REVERSED[:, :2].copy()
    d[3, 1] = np.nan
    row = first(study_over(d))
    assert (row["verdict"], row["reason"], row["n"]) == ("inconclusive", "incomplete pairs=4 missing=1", 4)
    assert np.isfinite(row["diff"])


def test_what_solves_or_does_not_has_no_mean_and_is_judged_in_every_condition():
    solved = np.repeat([[0.95, 0.96]], 12, axis=0)
    failed = np.repeat([[0.2, 0.3]], 12, axis=0)
    names = ("c0", "c1")
    values = {
        "baseline": dict(zip(names, failed.T, strict=True)),
        "a": dict(zip(names, solved.T, strict=True)),
    }
    evidence = study(values, tasks={name: {"accuracy": ACCURACY} for name in names}, outcome="all_or_nothing")

    def under(form):
        return replace(evidence, facts=replace(evidence.facts, over=Over(form)))

    row = first(under("mean"))
    assert (row["verdict"], row["reason"]) == ("inconclusive", "no_mean")
    assert np.isnan(row["diff"])
    every = first(under("every"))
    assert (every["task"], every["verdict"]) == ("every", "better")
    assert (every["only_variant"], every["only_baseline"]) == (12, 0)


def test_conditions_without_a_common_seed_have_no_mean():
    evidence = study_over(REVERSED[:, :2])
    trials = evidence.trials.copy()
    trials.loc[trials["task"] == "c1", "seed"] += 5
    seeds = {"c0": [*range(5)], "c1": [*range(5, 10)]}
    given = Given(own_seeds={"baseline": seeds, "a": seeds})
    facts = replace(evidence.facts, seeds=[*range(10)], provenance=given, replication=GivenSeeds())
    apart = replace(evidence, facts=facts, trials=trials)
    row = first(apart)
    assert (row["verdict"], row["reason"]) == ("inconclusive", "no_shared_seeds")
    declared = replace(apart, facts=replace(facts, over=replace(facts.over, independent_seeds=True)))
    row = first(declared)
    about = beside(declared)
    assert (row["verdict"], row["n"], row["p"]) == ("better", 5, about["p_independent"])
    known = stats.ttest_1samp(REVERSED[:, :2].mean(axis=1), 0).pvalue
    assert about["p_shared"] == pytest.approx(known)
    shared = replace(
        study_over(REVERSED),
        facts=replace(study_over(REVERSED).facts, over=Over("mean", independent_seeds=True)),
    )
    assert first(shared)["reason"] == "shared_seeds"


def test_test_examples_that_conditions_share_widen_the_mean():
    rng = np.random.default_rng(5)
    by_example = rng.normal(0.05, 0.3, 40) + rng.normal(0, 0.02, (5, 40))
    examples = {"baseline": np.zeros((5, 40)), "a": by_example}
    values = {name: of.mean(axis=1) for name, of in examples.items()}
    tasks = {name: {"score": SCORE} for name in ("c0", "c1", "c2")}
    one = study(values, metric="score", tasks=tasks, sampling=Sampling("held_out", 40), examples=examples)
    alone = compare(one).iloc[0]
    mean = first(replace(one, facts=replace(one.facts, over=Over("mean"))))
    low, high = alone["diff"] - alone["ci_low"], mean["diff"] - mean["ci_low"]
    assert high == pytest.approx(low * stats.t.ppf(0.975, 39) / stats.t.ppf(1 - 0.025 / 3, 39), rel=0.05)


def test_a_sample_of_conditions_takes_eight():
    assert first(study_over(REVERSED, "sample"))["reason"] == "few conditions=3 least=8"
    rng = np.random.default_rng(3)
    row = first(study_over(rng.normal(0.05, 0.02, (5, 10)), "sample"))
    assert (row["task"], row["n"], row["verdict"]) == ("sample", 10, "better")


# Every


@pytest.mark.parametrize(
    ("shifts", "reason"),
    [
        ((0.05, 0.0002), "open seeds=108"),
        ((0.05, -0.0002), "both_signs"),
        ((-0.05, 0.0002), "both_signs"),
        ((0.0, 0.0094), "open seeds=14"),
    ],
)
def test_seeds_needed_are_those_of_the_verdict_that_the_other_condition_supports(shifts, reason):
    noise = 0.001 * np.array([-1.0, 0.2, 1.1, -0.6, 0.3, 0.0])
    row = first(study_over(np.array(shifts) + noise[:, None], "every", margin=0.01))
    assert (row["verdict"], row["reason"]) == ("inconclusive", reason)


def test_every_shows_the_condition_that_decides():
    d = REVERSED[:, :2]
    evidence = study_over(d, "every")
    row = first(evidence)
    p = stats.ttest_1samp(d, 0).pvalue
    assert (row["task"], row["verdict"], row["p"]) == ("every", "better", pytest.approx(p.max()))
    assert row["diff"] == pytest.approx(d[:, p.argmax()].mean())
    assert beside(evidence)["deciding"] == f"c{p.argmax()}"
    mixed = study_over(REVERSED, "every")
    row, about = first(mixed), beside(mixed)
    assert (row["verdict"], row["reason"]) == ("inconclusive", "varies")
    assert (about["deciding"], about["better"], about["worse"], about["varies"]) == ("c2", 2, 1, True)
    assert unsettled(mixed) == set(), "more seeds change nothing"


def test_every_needs_the_seeds_of_the_condition_that_needs_most_and_none_where_signs_differ():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, (6, 2))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1)
    alike = study_over(0.1 + noise * [0.1, 0.3], "every")
    assert first(alike)["reason"] == "open seeds=73", "d_z is one third in the condition that decides"
    opposed = study_over(np.array([0.1, -0.05]) + noise * [0.1, 0.1], "every")
    assert first(opposed)["reason"] == "both_signs"
    assert unsettled(opposed), "looks go on: a sign may be by chance"
    within = replace(opposed, facts=replace(opposed.facts, margin=0.2))
    assert first(within)["reason"].startswith("open seeds=")
    noisy = study_over(np.array([0.001, -0.001]) + noise * 0.5, "every", margin=0.01)
    assert first(noisy)["reason"] == "open seeds=1001", "some number, which is too large to name"


# Claims


def test_a_claim_follows_its_study():
    asked = [beats(), replace(beats(), condition="c2", text="a beats baseline on score at c2")]
    mean = judge_claims(study_over(REVERSED, claims=asked))
    row = first(study_over(REVERSED, claims=asked))
    assert mean["verdict"].tolist() == ["supported", "refuted"]
    assert mean["task"].tolist() == ["mean", "c2"]
    for column in ("diff", "ci_low", "ci_high", "n"):
        assert mean[column][0] == pytest.approx(row[column]), "it is about the row"
    assert row["level"] == pytest.approx(1 - 0.05 / 2), "the other is about no row"
    every = judge_claims(study_over(REVERSED, "every", claims=asked))
    assert every["task"].tolist() == ["c2", "c2"]
    assert every["verdict"].tolist() == ["refuted", "refuted"]


def test_an_open_claim_in_every_condition_needs_the_seeds_that_refute_it_at_their_share_of_the_level():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 1, (6, 1))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1)
    loses = -0.1 + noise * 0.15
    seeds = [
        judge_claims(study_over(np.tile(loses, conditions), "every", claims=[beats()])).iloc[0]["reason"]
        for conditions in (1, 3)
    ]
    alphas = [0.05, 0.05 / 3]
    needed = [seeds_needed(Differences.between(loses[:, 0], 0 * loses[:, 0]), alpha) for alpha in alphas]
    assert seeds == [f"open seeds={number:.0f}" for number in needed]
    assert needed[0] < needed[1]


def test_a_claim_by_more_in_one_condition_is_the_difference_of_both():
    more = replace(
        beats(),
        kind="interaction",
        condition="c2",
        less=Less(["a"], ["baseline"], "score", condition="c0"),
    )
    row = judge_claims(study_over(GROWING, "each", claims=[more])).iloc[0]
    d = GROWING[:, 2] - GROWING[:, 0]
    known = stats.ttest_1samp(d, 0).confidence_interval(1 - 0.05 / 4)
    assert (row["task"], row["verdict"]) == ("c2", "supported")
    assert (row["diff"], row["ci_low"], row["ci_high"]) == pytest.approx((d.mean(), known.low, known.high))
    back = replace(more, condition="c0", less=replace(more.less, condition="c2"))
    assert judge_claims(study_over(GROWING, "each", claims=[back])).iloc[0]["verdict"] == "refuted"
    assert first(study_over(GROWING, "mean", claims=[more, back], family="claims"))["level"] == 0.95


def test_the_trend_is_that_of_the_reference_in_the_table_and_in_a_claim():
    gains = replace(beats(by=0.01), kind="gains", along="model.d_model")
    evidence = study_over(GROWING, "mean", along="model.d_model", sizes=SIZES, claims=[gains])
    row = trends(evidence).iloc[0]
    assert row["diff"] == pytest.approx(0.01457142857, abs=5e-12)
    assert row["p"] == pytest.approx(0.005400046408, abs=5e-13)
    assert (row["along"], row["n"], row["level"], row["reason"]) == ("model.d_model", 5, 0.95, "")
    judged = judge_claims(evidence).iloc[0]
    assert (judged["task"], judged["diff"]) == ("trend", pytest.approx(row["diff"]))
    assert judged["verdict"] == "inconclusive"
    assert judged["reason"].startswith("open seeds=")
    assert len(trends(study_over(GROWING, "mean"))) == 0
    each = study_over(GROWING, "each", along="model.d_model", sizes=SIZES)
    assert trends(each)["p"].tolist() == pytest.approx([row["p"]])
    assert len(conditions_table(each)) == 0


def test_a_trend_without_numbers_says_so():
    evidence = study_over(GROWING, along="model.d_model", sizes={"c0": 64.0, "c1": 64.0, "c2": 128.0})
    assert trends(evidence)["reason"].tolist() == ["sizes"]


# Looks


def test_looks_are_taken_at_all_conditions_until_the_mean_is_decided():
    rng = np.random.default_rng(7)
    d = rng.normal(0.002, 0.02, (10, 3))
    d[:5] = rng.normal(0.05, 0.005, (5, 3))
    evidence = study_over(d)
    taken = replace(evidence.facts, provenance=Planned(looks=[5, 10]))
    row = first(replace(evidence, facts=taken))
    assert (row["look"], row["n"], row["verdict"]) == (1, 5, "better")
    assert row["level"] == pytest.approx(1 - 0.05 / 3), "the first look of two has a third of the level"
    weak = study_over(rng.normal(0.002, 0.02, (5, 3)))
    still = replace(weak, facts=replace(weak.facts, provenance=Planned(looks=[5, 10])))
    assert unsettled(still) == {
        (variant, task) for variant in ("baseline", "a") for task in ("c0", "c1", "c2")
    }
    assert first(still)["reason"].startswith("open seeds=")
