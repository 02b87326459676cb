"""The steps that each variant takes to a value on validation data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_evidence import ACCURACY, LOSS, claim, study
from made_speed import speed_frame, timed
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.speed import speeds
from ablate.analysis.target import COLUMNS, targets
from ablate.core.evidence import Evidence
from ablate.core.facts import VariantFacts

# Reports after 0, 100, … 400 steps; accuracy is at .9 from the second, third, … on.
RISES = {1: [0.1, 0.9, 0.95, 0.95, 0.95], 2: [0.1, 0.5, 0.9, 0.8, 0.95], 3: [0.1, 0.2, 0.5, 0.9, 0.9]}
RISES |= {4: [0.1, 0.2, 0.5, 0.8, 0.9], 5: [0.1, 0.1, 0.1, 0.1, 0.899]}
SOONER = (1, 1, 2, 1, 2, 1, 1, 1)
LATER = (3, 4, 3, 3, 4, 3, 3, 2)


def made(
    target: dict[str, float] | None = None, statuses: dict | None = None, **at: tuple[int, ...]
) -> Evidence:
    """Variant → by seed the number of the report at which accuracy is first .9; 5 for never."""
    curves = {(variant, seed): RISES[k] for variant, of in at.items() for seed, k in enumerate(of)}
    evidence = study(
        {variant: [0.5] * len(of) for variant, of in at.items()}, curves=curves, statuses=statuses
    )
    return replace(
        evidence, facts=replace(evidence.facts, target={"accuracy": 0.9} if target is None else target)
    )


def row(evidence: Evidence, variant: str = "a", timed: pd.DataFrame | None = None) -> pd.Series:
    found = targets(evidence, speeds(evidence) if timed is None else timed)
    return found[found["variant"] == variant].iloc[0]


def test_steps_are_those_of_the_first_report_at_the_value() -> None:
    evidence = made(baseline=LATER, a=SOONER)
    a, base = 100.0 * np.array(SOONER), 100.0 * np.array(LATER)
    found = row(evidence)
    assert (found["n"], found["reached"], found["target"], found["metric"]) == (8, 8, 0.9, "accuracy")
    assert found["steps"] == pytest.approx(a.mean())
    interval = stats.ttest_1samp(a, 0.0).confidence_interval()
    assert (found["steps_low"], found["steps_high"]) == pytest.approx(tuple(interval))
    # Reports 100 steps apart tell no smaller spread.
    assert (base - a).std(ddof=1) < 100
    t = (base - a).mean() / (100 / math.sqrt(8))
    assert found["p"] == pytest.approx(2 * stats.t.sf(t, 7))
    assert found["diff"] == pytest.approx((base - a).mean())
    assert (found["verdict"], found["note"]) == ("better", "evaluated every 100 steps")
    assert (row(evidence, "baseline")["verdict"], row(evidence, "baseline")["steps"]) == ("", base.mean())


def test_what_never_gets_there_counts_with_all_its_steps() -> None:
    evidence = made(baseline=SOONER, a=(5, 5, 2, 5, 2, 1, 1, 1), statuses={("a", 7): "diverged"})
    found = row(evidence)
    assert (found["n"], found["reached"]) == (8, 4)
    assert found["steps"] == pytest.approx(np.mean([400, 400, 200, 400, 200, 100, 100, 400]))
    assert found["note"].startswith(
        "4 of 8 runs never get there and count with all 400 steps; evaluated every"
    )
    d = 100.0 * np.array(SOONER) - [400, 400, 200, 400, 200, 100, 100, 400]
    assert (found["diff"], found["p"]) == (
        pytest.approx(d.mean()),
        pytest.approx(stats.ttest_1samp(d, 0).pvalue),
    )
    assert found["verdict"] == "worse"


def test_runs_that_never_get_there_may_leave_it_open() -> None:
    found = row(made(baseline=(1, 2, 1, 2), a=(5, 1, 2, 1)))
    assert found["verdict"] == "inconclusive"
    assert (
        "1 of 4 runs (rate .25, 95 % interval [.01, .81]) of a did not get there in all of its steps"
        in found["note"]
    )
    last = row(made(baseline=(4, 4, 4), a=(4, 4, 4)))
    assert (last["verdict"], last["note"]) == (
        "degenerate",
        "evaluated every 100 steps; every difference is 0",
    )
    never = row(made(baseline=(5, 5, 5), a=(5, 5, 5)))
    assert (never["verdict"], never["reached"], never["steps"]) == ("inconclusive", 0, 400)


def test_a_run_without_an_outcome_leaves_it_incomplete() -> None:
    found = row(made(baseline=LATER, a=SOONER, statuses={("a", 2): "failed"}))
    assert (found["verdict"], found["n"]) == ("incomplete", 7)
    assert found["note"].endswith("7 of 8 planned seeds with a usable pair")
    blind = made(baseline=LATER, a=SOONER)
    blind = replace(blind, curves=blind.curves[blind.curves["id"] != "a-recall-3"])
    assert (row(blind)["verdict"], row(blind)["n"]) == ("incomplete", 7)


def test_less_may_be_better_and_the_name_plain() -> None:
    evidence = made({"loss": 0.5}, baseline=(1, 4, 2), a=(4, 3, 2))
    task = replace(evidence.facts.tasks[0], metrics={"accuracy": ACCURACY, "loss": LOSS})
    curves = evidence.curves.assign(metric="loss", value=lambda rows: 1.4 - rows["value"])
    evidence = replace(evidence, curves=curves, facts=replace(evidence.facts, tasks=[task]))
    assert row(evidence)["steps"] == pytest.approx(300)
    assert row(evidence, "baseline")["steps"] == pytest.approx(700 / 3)


def test_seconds_and_flops_are_those_of_so_many_steps() -> None:
    evidence = made(baseline=LATER, a=SOONER)
    aa = np.array([0.001, -0.001, 0.0])
    measured = timed(
        speed_frame({"baseline": aa, "a": aa + math.log(2)}, seconds=0.01, size=8),
        speed_frame({"baseline": aa, "a": aa + math.log(4)}, seconds=0.1, size=16, own=False),
    )
    cost = {"training_flops": {"recall": 1000}, "examples": {"recall": 400 * 64}}
    variants = [VariantFacts("baseline", {}, {}), VariantFacts("a", {}, {}, **cost)]
    evidence = replace(evidence, facts=replace(evidence.facts, variants=variants))
    found = row(evidence, timed=speeds(measured))
    assert found["seconds"] == pytest.approx(found["steps"] * 0.02)
    assert found["flops"] == pytest.approx(found["steps"] * 64 * 1000)
    base = row(evidence, "baseline", speeds(measured))
    assert base["seconds"] == pytest.approx(base["steps"] * 0.01)
    assert math.isnan(base["flops"])
    assert math.isnan(row(evidence)["seconds"])


def test_without_a_target_or_reports_there_are_the_columns() -> None:
    learned = made(baseline=LATER, a=SOONER)
    others = [made(target, baseline=LATER, a=SOONER) for target in ({}, {"loss": 0.5})]
    for evidence in (*others, replace(learned, trials=learned.trials[:0], curves=learned.curves[:0])):
        found = targets(evidence, pd.DataFrame())
        assert (len(found), list(found.columns)) == (0, list(COLUMNS))


def claimed(kind: str, by: float = 0.0, of: tuple[str, str] = ("a", "baseline"), **at: Any) -> pd.Series:
    evidence = made(**at)
    claims = [claim(kind, *of, by, metric="steps_to_target")]
    return judge_claims(replace(evidence, facts=replace(evidence.facts, claims=claims))).iloc[0]


def test_a_claim_of_steps_is_decided_by_their_paired_differences() -> None:
    found = claimed("beats", baseline=LATER, a=SOONER)
    expected = row(made(baseline=LATER, a=SOONER))
    assert (found["verdict"], found["n"]) == ("supported", 8)
    assert (
        found[["diff", "ci_low", "ci_high", "p"]].tolist()
        == expected[["diff", "ci_low", "ci_high", "p"]].tolist()
    )
    assert claimed("beats", baseline=SOONER, a=LATER)["verdict"] == "refuted"
    assert claimed("matches", 150.0, baseline=SOONER, a=SOONER[::-1])["verdict"] == "supported"


def test_no_match_is_supported_where_a_run_never_gets_there() -> None:
    found = claimed("matches", 350.0, baseline=LATER, a=(1, 1, 1, 1, 1, 1, 1, 5))
    assert (found["verdict"], found["n"], found["p_supported"]) == ("inconclusive", 8, 1.0)
    assert "a match cannot be supported where runs did not get there in all of its steps" in found["reason"]
    beaten = claimed("beats", 0.0, ("baseline", "a"), baseline=SOONER, a=(5, 5, 5, 5, 5, 5, 5, 4))
    assert (beaten["verdict"], beaten["diff"]) == ("supported", pytest.approx(np.mean([4] * 8) * 100 - 125))


def test_runs_that_had_less_time_than_others_are_not_compared() -> None:
    evidence = made(baseline=LATER, a=(5, 1, 1, 1, 1, 1, 1, 1))
    short = evidence.curves["id"].str.startswith("a-") & (evidence.curves["step"] > 200)
    evidence = replace(evidence, curves=evidence.curves[~short])
    found = row(evidence)
    assert (found["verdict"], found["steps"]) == ("inconclusive", pytest.approx(112.5))
    assert "a: 1 of 8 runs never get there in 200 steps, and others train for 400" in found["note"]
