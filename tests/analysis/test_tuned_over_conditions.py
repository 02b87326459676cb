"""Verdicts over conditions at the runner-ups of settings that were tuned in them."""

from dataclasses import replace

import numpy as np
import pytest
from made_conditions import SCORE
from made_evidence import claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.further_runs import depends_on_tuning
from ablate.analysis.paired import Differences, seeds_needed
from ablate.analysis.power import ALPHA
from ablate.analysis.search_table import SearchFacts
from ablate.core.over import Over
from ablate.core.reason import Reason


def first(evidence):
    return compare(evidence).iloc[0]


def tuned(at="", num_conditions=2):
    """Evidence of conditions in each of which the baseline has a runner-up, and its values by condition."""
    rng = np.random.default_rng(4)
    names = [f"c{t}" for t in range(num_conditions)]
    chosen = {name: 0.5 + rng.normal(0, 0.05, 6) for name in names}
    other = {name: chosen[name] + 0.03 * (-0.5) ** t + rng.normal(0, 0.01, 6) for t, name in enumerate(names)}
    made = {name: chosen[name] + 0.05 + rng.normal(0, 0.01, 6) for name in names}
    tasks = {name: {"score": SCORE} for name in names}
    evidence = study({"baseline": chosen, "a": made}, metric="score", tasks=tasks)
    beside = study({"baseline at lr=2": other}, metric="score", tasks=tasks).trials
    baseline, variant = evidence.facts.variants
    rivals = {name: ["baseline at lr=2"] for name in names}
    facts = replace(evidence.facts, over=Over("mean"), variants=[replace(baseline, rivals=rivals), variant])
    evidence = replace(evidence, facts=facts, frames={"rivals": beside})
    search = SearchFacts([], [], "grid", "none", 2, [0, 1, 2], 2, at=at)
    return evidence.having(search), chosen, other, made


def test_a_mean_holds_at_the_runner_ups_of_each_condition_in_all_combinations():
    evidence, chosen, other, made = tuned()
    p_values = []
    for first_setting in (chosen, other):
        for second_setting in (chosen, other):
            gains = (made["c0"] - first_setting["c0"] + made["c1"] - second_setting["c1"]) / 2
            p_values.append(stats.ttest_1samp(gains, 0).pvalue)
    row = first(evidence)
    assert row["p"] == pytest.approx(max(p_values))
    assert row["verdict"] == "better"
    assert depends_on_tuning(evidence) == {("baseline", "c0"), ("baseline", "c1")}


def test_settings_that_were_tuned_in_one_condition_are_varied_in_all_at_once():
    evidence, chosen, other, made = tuned(at="c0")
    p_values = []
    for setting in (chosen, other):
        gains = (made["c0"] - setting["c0"] + made["c1"] - setting["c1"]) / 2
        p_values.append(stats.ttest_1samp(gains, 0).pvalue)
    assert first(evidence)["p"] == pytest.approx(max(p_values))
    without = replace(evidence, frames={})
    assert first(without)["reason"] == "incomplete pairs=0 missing=6"


@pytest.mark.slow
def test_too_many_combinations_of_settings_are_refused_unless_one_condition_chose_for_all():
    many, *_ = tuned(num_conditions=13)
    assert first(many)["reason"] == "combinations"
    at_one, *_ = tuned(at="c0", num_conditions=13)
    assert first(at_one)["verdict"] == "better"


@pytest.mark.parametrize("spreads", [(0.04, 0.1), (0.1, 0.04)])
def test_a_claim_that_a_runner_up_reverses_everywhere_needs_the_seeds_of_the_condition_that_needs_most(
    spreads,
):
    rng = np.random.default_rng(5)
    noise = rng.normal(0, 1, 6)
    gains = [0.02 + spread * (noise - noise.mean()) / noise.std(ddof=1) for spread in spreads]
    names = ["c0", "c1"]
    tasks = {name: {"score": SCORE} for name in names}
    made = {name: 0.5 + gain for name, gain in zip(names, gains, strict=True)}
    evidence = study(
        {"baseline": dict.fromkeys(names, np.full(6, 0.5)), "a": made}, metric="score", tasks=tasks
    )
    beside = study({"baseline at lr=2": dict.fromkeys(names, np.full(6, 0.6))}, metric="score", tasks=tasks)
    baseline, variant = evidence.facts.variants
    tuned_baseline = replace(baseline, rivals={name: ["baseline at lr=2"] for name in names})
    facts = replace(
        evidence.facts,
        over=Over("every"),
        variants=[tuned_baseline, variant],
        claims=[claim("beats", metric="score")],
    )
    evidence = replace(evidence, facts=facts, frames={"rivals": beside.trials})
    (row,) = judge_claims(evidence).to_dict("records")
    needed = [seeds_needed(Differences.between(gain, 0 * gain), ALPHA) for gain in gains]
    assert Reason.parse(row["reason"]) == Reason("open", {"seeds": max(needed)})
