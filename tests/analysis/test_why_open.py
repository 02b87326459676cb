"""Why a verdict is open: the condition furthest from deciding it, in whatever order, and what would decide it."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import study_over
from made_evidence import claim, study

from ablate.analysis.claims import judge_claims, judged_claims
from ablate.analysis.clusters import Clustered
from ablate.analysis.compare import compare
from ablate.analysis.family import planned_pairs
from ablate.analysis.further_runs import unsettled
from ablate.analysis.over_conditions import InCondition, judge_every
from ablate.analysis.paired import Differences, seeds_needed
from ablate.analysis.power import ALPHA
from ablate.analysis.prospects import Terms, outlook_of_mean
from ablate.analysis.runs import runs_of
from ablate.analysis.seeds_to_settle import with_needed_seeds_in_every
from ablate.core.facts import Less
from ablate.core.metric import Metric
from ablate.core.over import Over
from ablate.core.provenance import Given
from ablate.core.reason import Block, Reason
from ablate.core.replication import GivenSeeds

SHAPE = np.array([-1.0, 0.2, 1.1, -0.6, 0.3, 0.0])
Z = (SHAPE - SHAPE.mean()) / SHAPE.std(ddof=1)
"""Six differences of mean 0 and standard deviation 1."""
PERCENT = Metric("max", resolution=0.1, floor=0.0, ceiling=100.0)


def paired(mean, sd):
    return Differences.between(mean + sd * Z, 0 * Z)


def over(*means, sd=0.1, **facts):
    """A study over conditions with these mean differences."""
    columns = np.stack([mean + sd * Z for mean in means], axis=1)
    return study_over(columns, "every", claims=[claim("beats", metric="score")], **facts)


@pytest.mark.parametrize("means", [(-0.001, -0.07), (-0.07, -0.001)])
def test_of_conditions_that_speak_against_a_claim_the_clearest_is_shown(means):
    row = judge_claims(over(*means)).iloc[0]
    needed = seeds_needed(paired(-0.07, 0.1), ALPHA / 2)
    assert row["diff"] == pytest.approx(-0.07)
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": needed})


@pytest.mark.parametrize("means", [(0.1, 0.04), (0.04, 0.1)])
def test_a_claim_that_all_conditions_lean_to_needs_the_seeds_of_the_one_that_needs_most(means):
    row = judge_claims(over(*means, sd=0.12)).iloc[0]
    needed = [seeds_needed(paired(mean, 0.12), ALPHA) for mean in (0.1, 0.04)]
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": max(needed)})
    assert needed[0] < needed[1]


@pytest.mark.parametrize("spreads", [(0.05, 0.2), (0.2, 0.05)])
def test_likeness_in_every_condition_needs_the_seeds_of_the_one_that_needs_most(spreads):
    columns = np.stack([spread * Z for spread in spreads], axis=1)
    likeness = claim("matches", metric="score", by=0.04)
    row = judge_claims(study_over(columns, "every", claims=[likeness])).iloc[0]
    wider = seeds_needed(paired(0.0, 0.2), ALPHA, 0.04, None)
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": wider})


@pytest.mark.parametrize("means", [(-0.11, -0.06), (-0.06, -0.11)])
def test_a_claim_that_two_conditions_speak_against_needs_the_seeds_of_the_one_that_needs_fewest(means):
    row = judge_claims(over(*means, sd=0.12)).iloc[0]
    fewest = seeds_needed(paired(-0.11, 0.12), ALPHA / 2)
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": fewest})


@pytest.mark.parametrize("means", [(-0.11, 0.05), (0.05, -0.11)])
def test_a_condition_that_refutes_a_claim_alone_says_which_seeds_would_refute_it(means):
    row = judge_claims(over(*means)).iloc[0]
    needed = seeds_needed(paired(-0.11, 0.1), ALPHA / 2)
    assert row["verdict"] == "inconclusive"
    assert row["diff"] == pytest.approx(-0.11)
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": needed})


@pytest.mark.parametrize("means", [(0.3, -0.001, -0.06), (0.3, -0.06, -0.001)])
def test_of_conditions_that_do_not_support_a_verdict_the_clearest_decides(means):
    conditions = [InCondition(f"{mean}", paired(mean, 0.1)) for mean in means]
    assert judge_every(conditions).deciding == "-0.06"


@pytest.mark.parametrize("order", [(0.2, -0.001, 0.1), (0.2, 0.1, -0.001)])
def test_pairs_that_are_missing_in_one_condition_end_a_study_over_every_one(order):
    differences = np.stack([mean + 0.1 * Z for mean in order], axis=1)
    differences[3, order.index(0.1)] = np.nan
    evidence = study_over(differences, "every", claims=[claim("beats", metric="score")])
    assert Reason.parse(compare(evidence).iloc[0]["reason"]).code == "incomplete"
    assert unsettled(evidence) == set()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_condition_without_any_difference_is_open_and_not_blocked(order):
    columns = [np.array([0.02, -0.02, 0.01, -0.01, 0.03, -0.03]), -0.095 + 0.1 * Z]
    differences = np.stack([columns[place] for place in order], axis=1)
    row = judge_claims(study_over(differences, "every", claims=[claim("beats", metric="score")])).iloc[0]
    assert row["diff"] == pytest.approx(-0.095)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
def test_a_condition_that_no_seed_decides_is_the_reason_of_a_verdict_on_every_one(order):
    seedless = replace(paired(0.05, 0.01), blocks=(Block(Reason("seedless")),))
    made = [paired(0.3, 0.1), seedless, paired(-0.06, 0.1)]
    conditions = [InCondition(f"{place}", made[place], 0.02) for place in order]
    assert judge_every(conditions).deciding == "1"
    assert judge_every(conditions).row.reason == Reason("seedless")
    found = with_needed_seeds_in_every(Reason("open", {"seeds": 16.0}), conditions, ALPHA)
    assert found == Reason("seedless")


def test_missing_pairs_end_a_study_over_a_mean_of_which_another_condition_is_blocked():
    differences = np.stack([np.full(6, 0.05), 0.05 + 0.1 * Z], axis=1)
    differences[3, 1] = np.nan
    evidence = study_over(differences, "mean", claims=[claim("beats", metric="score")])
    assert unsettled(evidence) == set()


def test_the_reason_of_a_condition_that_supports_a_claim_is_none():
    runs_in_two_groups = np.array([0.10, 0.12, 0.11, 0.45, 0.47, 0.46])
    score = Metric("max", floor=0.0, ceiling=1.0)
    evidence = over(0.3, -0.11, metric=score)
    trials = evidence.trials
    for variant, added in [("baseline", 0.0), ("a", 0.3)]:
        where = (trials["variant"] == variant) & (trials["task"] == "c0")
        trials.loc[where, "score"] = runs_in_two_groups + added + (0.01 * Z if added else 0.0)
    row = judge_claims(evidence).iloc[0]
    assert row["task"] == "c1"
    assert Reason.parse(row["reason"]) == Reason(
        "open", {"seeds": seeds_needed(paired(-0.11, 0.1), ALPHA / 2)}
    )


def test_documents_of_few_sources_need_as_many_as_their_degrees_of_freedom_say():
    sources = np.repeat(np.arange(4), 25)
    effects = np.array([0.9, 0.3, 0.6, 0.2])
    noise = np.random.default_rng(3).normal(0, 0.2, 100)
    values = effects[sources] + noise
    differences = Clustered.of_documents(
        Differences.between(values - values.mean() + 0.654, 0 * values, 0.0), sources
    )
    alpha = ALPHA / 4
    needed = int(seeds_needed(differences, alpha))
    assert needed > differences.n
    assert differences.mde(alpha, needed) <= 0.654 < differences.mde(alpha, needed - 1)


def test_below_one_degree_of_freedom_no_number_of_documents_is_enough():
    sources = np.repeat(np.arange(4), 15000)
    values = np.random.default_rng(3).normal(0.01, 1.0, 60000)
    differences = Clustered.of_documents(Differences.between(values, 0 * values, 0.0), sources)
    assert seeds_needed(differences, ALPHA) == np.inf


def test_a_condition_that_cannot_be_equivalent_needs_no_seeds_for_it():
    grouped = replace(paired(0.005, 0.002), blocks=(Block(Reason("groups"), wholly=False),))
    conditions = [InCondition("c0", grouped, 0.01), InCondition("c1", paired(-0.001, 0.012), 0.01)]
    found = with_needed_seeds_in_every(Reason("open", {"seeds": 18.0}), conditions, ALPHA)
    assert found == Reason("both_signs")


def test_a_plan_of_a_mean_over_conditions_is_in_the_units_of_the_metric():
    differences = np.stack([1.0 + 3 * Z, 0.5 + 3 * np.roll(Z, 1), 0.7 + 3 * np.roll(Z, 2)], axis=1)
    evidence = study_over(differences, "mean", metric=PERCENT, noise=1.0, margin=1.0)
    evidence.trials["score"] += 50
    facts = evidence.facts
    terms = Terms(n=6, alpha=ALPHA, margin=1.0, detect=2.0)
    outlook = outlook_of_mean(facts.tasks, "score", planned_pairs(facts), evidence, terms, facts.over.scales)
    (prospect,) = outlook.prospects
    of_means = Differences.between(differences.mean(axis=1), np.zeros(6))
    assert prospect.spread == pytest.approx(of_means.sd)
    assert prospect.detectable == pytest.approx(of_means.mde(ALPHA, 6))
    assert prospect.detectable == pytest.approx(compare(evidence).iloc[0]["mde"], rel=0.01)
    assert prospect.equivalent == pytest.approx(of_means.equivalence_power(1.0, 6, 0.0))
    assert of_means.mde(ALPHA, int(prospect.seeds)) <= 2.0 < of_means.mde(ALPHA, int(prospect.seeds) - 1)


def test_a_plan_of_a_mean_promises_no_difference_beyond_the_range():
    differences = np.stack([300 * Z, 300 * np.roll(Z, 1), 300 * np.roll(Z, 2)], axis=1)
    evidence = study_over(differences, "mean", metric=PERCENT, noise=1.0, margin=1.0)
    facts = evidence.facts
    terms = Terms(n=3, alpha=ALPHA, margin=1.0)
    outlook = outlook_of_mean(facts.tasks, "score", planned_pairs(facts), evidence, terms, facts.over.scales)
    assert [prospect.detectable for prospect in outlook.prospects] == [np.inf]


@pytest.mark.parametrize(("detect", "is_told"), [(90.0, True), (110.0, False)])
def test_a_plan_of_a_mean_names_no_seeds_for_a_difference_beyond_the_range(detect, is_told):
    differences = np.stack([1.0 + 3 * Z, 0.5 + 3 * np.roll(Z, 1), 0.7 + 3 * np.roll(Z, 2)], axis=1)
    evidence = study_over(differences, "mean", metric=PERCENT, noise=1.0, margin=1.0)
    evidence.trials["score"] += 50
    facts = evidence.facts
    terms = Terms(n=6, alpha=ALPHA, margin=1.0, detect=detect)
    (prospect,) = outlook_of_mean(
        facts.tasks, "score", planned_pairs(facts), evidence, terms, facts.over.scales
    ).prospects
    assert (prospect.seeds is not None) == is_told


def test_a_claim_on_two_conditions_of_which_one_has_no_runs_is_open():
    more = replace(
        claim("beats", metric="score"),
        kind="interaction",
        condition="c2",
        less=Less(["a"], ["baseline"], "score", condition="c0"),
    )
    evidence = study_over(np.stack([0.1 + 0.1 * Z] * 3, axis=1), "each", claims=[more])
    trials = evidence.trials
    gone = (trials["variant"] == "a") & (trials["task"] == "c0")
    own_seeds = {
        "baseline": {name: [*range(6)] for name in ("c0", "c1", "c2")},
        "a": {name: [*range(6)] for name in ("c1", "c2")},
    }
    facts = replace(evidence.facts, provenance=Given(own_seeds=own_seeds), replication=GivenSeeds())
    row = judge_claims(replace(evidence, trials=trials[~gone], facts=facts)).iloc[0]
    assert (row["verdict"], row["reason"]) == ("inconclusive", "unknown")
    assert not judged_claims(runs_of(replace(evidence, trials=trials[~gone], facts=facts)))[0].open


def test_a_task_that_supports_a_claim_already_needs_no_seeds():
    score = Metric("max", floor=0.0, ceiling=1.0, solved=0.95)
    before = 0.5 + 0.05 * np.roll(Z, 1)
    made = study(
        {
            "baseline": {"hard": 0.3 + 0.01 * Z, "soft": before},
            "a": {"hard": np.full(6, 0.99), "soft": before + 0.05 + 0.1 * Z},
        },
        metric="score",
        tasks={"hard": {"score": score}, "soft": {"score": Metric("max")}},
        claims=[claim("beats", metric="score")],
    )
    hard, soft = made.facts.tasks
    facts = replace(made.facts, tasks=[replace(hard, outcome="all_or_nothing"), soft], over=Over("every"))
    row = judge_claims(replace(made, facts=facts)).iloc[0]
    needed = seeds_needed(paired(0.05, 0.1), ALPHA)
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": needed})
