"""The steps that each variant takes to a value on validation data."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.runs import Runs

# Reports after 0, 100, … 400 steps; accuracy is at 0.9 from the second, third, … on.
RISES = {1: [0.1, 0.9, 0.95, 0.95, 0.95], 2: [0.1, 0.5, 0.9, 0.8, 0.95], 3: [0.1, 0.2, 0.5, 0.9, 0.9]}
RISES |= {4: [0.1, 0.2, 0.5, 0.8, 0.9], 5: [0.1, 0.1, 0.1, 0.1, 0.899]}
SOONER = (1, 1, 2, 1, 2, 1, 1, 1)
LATER = (3, 4, 3, 3, 4, 3, 3, 2)


def made(target=None, statuses=None, **at):
    """Variant → by seed the number of the report at which accuracy is first 0.9; 5 for never."""
    curves = {(variant, seed): RISES[k] for variant, of in at.items() for seed, k in enumerate(of)}
    evidence = study(
        {variant: [0.5] * len(of) for variant, of in at.items()}, curves=curves, statuses=statuses
    )
    return replace(
        evidence, facts=replace(evidence.facts, target={"accuracy": 0.9} if target is None else target)
    )


def arrived(evidence, variant="a"):
    return Runs(evidence).of(variant, evidence.facts.tasks[0]).arrived


def claimed(evidence, kind="beats", by=0.0, of=("a", "baseline")):
    claims = [claim(kind, *of, by, metric="steps_to_target")]
    return judge_claims(replace(evidence, facts=replace(evidence.facts, claims=claims))).iloc[0]


def test_steps_are_those_of_the_first_report_at_the_value():
    evidence = made(baseline=LATER, a=SOONER)
    a, base = 100.0 * np.array(SOONER), 100.0 * np.array(LATER)
    of = arrived(evidence)
    assert of.first.tolist() == a.tolist()
    assert (of.trained, of.longest, of.every) == (400, 400, 100)
    # Reports 100 steps apart tell no smaller spread.
    assert (base - a).std(ddof=1) < 100
    found = claimed(evidence)
    half = stats.t.isf(0.05 / 2 / 2, 7) * 100 / math.sqrt(8)
    assert found["ci_high"] - found["ci_low"] == pytest.approx(2 * half)
    assert found["diff"] == pytest.approx((base - a).mean())
    assert (found["verdict"], found["n"]) == ("supported", 8)
    assert claimed(made(baseline=SOONER, a=LATER))["verdict"] == "refuted"
    alike = made(baseline=SOONER, a=SOONER[::-1])
    assert claimed(alike, "matches", 150.0)["verdict"] == "supported"


def test_what_never_gets_there_counts_with_all_its_steps():
    evidence = made(baseline=SOONER, a=(5, 5, 2, 5, 2, 1, 1, 1), statuses={("a", 7): "diverged"})
    assert int(np.isinf(arrived(evidence).first).sum()) == 4
    found = claimed(evidence)
    d = 100.0 * np.array(SOONER) - [400, 400, 200, 400, 200, 100, 100, 400]
    assert found["n"] == 8
    assert found["diff"] == pytest.approx(d.mean())
    bounds = stats.ttest_1samp(d, 0).confidence_interval(1 - 0.05 / 2)
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((bounds.low, bounds.high))
    assert found["verdict"] == ("refuted" if bounds.high < 0 else "inconclusive")
    late = claimed(made(baseline=(1, 2, 1, 2), a=(5, 1, 2, 1)))
    assert (late["verdict"], late["reason"]) == ("inconclusive", "unreached runs=1")
    assert claimed(made(baseline=(5, 5, 5), a=(5, 5, 5)))["verdict"] == "inconclusive"


def test_a_run_without_an_outcome_leaves_it_incomplete():
    found = claimed(made(baseline=LATER, a=SOONER, statuses={("a", 2): "failed"}))
    assert (found["verdict"], found["n"]) == ("inconclusive", 7)
    blind = made(baseline=LATER, a=SOONER)
    blind = replace(blind, curves=blind.curves[blind.curves["id"] != "a-recall-3"])
    found = claimed(blind)
    assert (found["verdict"], found["n"]) == ("inconclusive", 7)


def test_less_may_be_better_and_the_name_plain():
    evidence = made({"loss": 0.5}, baseline=(1, 4, 2), a=(4, 3, 2))
    task = replace(evidence.facts.tasks[0], metrics={"accuracy": ACCURACY, "loss": LOSS})
    curves = evidence.curves.assign(metric="loss", value=lambda rows: 1.4 - rows["value"])
    evidence = replace(evidence, curves=curves, facts=replace(evidence.facts, tasks=[task]))
    assert arrived(evidence).first.mean() == pytest.approx(300)
    assert arrived(evidence, "baseline").first.mean() == pytest.approx(700 / 3)


def test_no_match_is_supported_where_a_run_never_gets_there():
    found = claimed(made(baseline=LATER, a=(1, 1, 1, 1, 1, 1, 1, 5)), "matches", 350.0)
    assert (found["verdict"], found["n"], found["reason"]) == ("inconclusive", 8, "unreached runs=1")
    beaten = claimed(made(baseline=SOONER, a=(5, 5, 5, 5, 5, 5, 5, 4)), of=("baseline", "a"))
    assert (beaten["verdict"], beaten["diff"]) == ("supported", pytest.approx(np.mean([4] * 8) * 100 - 125))


def test_runs_that_had_less_time_than_others_are_not_compared():
    evidence = made(baseline=LATER, a=(5, 1, 1, 1, 1, 1, 1, 1))
    short = evidence.curves["id"].str.startswith("a-") & (evidence.curves["step"] > 200)
    found = claimed(replace(evidence, curves=evidence.curves[~short]))
    assert found["verdict"] == "inconclusive"
    assert found["reason"] == "late runs=1 steps=200 longest=400"
