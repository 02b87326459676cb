"""The answer to a study's question: which verdicts it names, in which units, and what stands beside it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, claim, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, Sampling
from ablate.core.reason import Reason
from ablate.report.answer import answer, conditions, remarks
from ablate.report.reason_words import TEMPLATES, words_of

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def told(evidence) -> str:
    (only,) = answer(evidence, compare(evidence))
    return only


def sentences(evidence: Evidence) -> list[str]:
    return [*remarks(evidence, judge_claims(evidence)), *conditions(evidence, compare(evidence))]


def test_each_verdict_is_said_with_its_variants():
    values = {
        "baseline": BASE,
        "no lost": BASE - 0.5 + WOBBLE,
        "won": BASE + 0.03 + WOBBLE,
        "same": BASE + WOBBLE / 2,
        "open": BASE + 5 * WOBBLE,
        "idle": BASE,
        "wild": BASE,
    }
    found = told(study(values, margin=0.005, statuses={("wild", 0): "diverged"})).split(". ")
    assert found[0] == "Accuracy fell by 50.0 points without lost, and rose by 3.0 points with won"
    assert found[1] == "Within .5 points of the baseline: same"
    assert [sentence.rpartition(": ")[2].rstrip(".") for sentence in found[2:]] == [
        "open",
        "idle",
        "wild",
    ] or {sentence.rpartition(": ")[2].rstrip(".") for sentence in found[2:]} == {"open", "idle", "wild"}


def test_the_largest_effect_comes_first_and_exploratory_rows_stay_out():
    values = {"baseline": BASE, "small": BASE - 0.1 + WOBBLE, "large": BASE - 0.5 + WOBBLE}
    evidence = study(values, metrics={"accuracy": ACCURACY, "loss": LOSS}, others={"loss": values})
    assert told(evidence).index("large") < told(evidence).index("small")
    assert "loss" not in told(evidence)


def test_a_sweep_says_first_what_won():
    evidence = study({"baseline": BASE, "winner-2": BASE - 0.5 + WOBBLE, "winner": BASE + 0.03 + WOBBLE})
    swept = dataclasses.replace(evidence, facts=dataclasses.replace(evidence.facts, searched="sweep"))
    assert told(swept).index("the winner") < told(swept).index("winner-2")


def test_a_loss_is_in_its_own_units_and_worsens_where_it_grows():
    values = {"baseline": [1.0, 1.1, 1.2], "a": [2.0, 2.2, 2.1]}
    assert "worsened by 1.0 with a" in told(study(values, metric="loss", metrics={"loss": LOSS}))


def test_solved_seeds_are_counted_where_they_decide():
    evidence = study({"baseline": [0.99] * 8, "a": [0.3] * 8}, outcome="all_or_nothing")
    assert told(evidence) == "8 of 8 seeds solved recall with the baseline, none with a."


def test_a_placebo_that_differs_and_a_baseline_that_did_not_learn_open_the_answer():
    odd = study({"baseline": BASE, "again": BASE - 0.1 + WOBBLE, "a": BASE}, placebos=["again"])
    assert told(odd).startswith("The placebo differs")
    assert told(study({"baseline": 0.12 + WOBBLE, "a": 0.12 - WOBBLE})).startswith(
        "The baseline did not learn"
    )


@pytest.mark.parametrize(
    ("level", "statuses", "learned"),
    [(0.95, {}, True), (0.2, {}, False), (0.95, {("baseline", 0): "diverged"}, False)],
)
def test_whether_the_baseline_learned(level, statuses, learned):
    evidence = study({"baseline": level + WOBBLE, "a": BASE}, statuses=statuses, outcome="all_or_nothing")
    assert any(line.startswith("The baseline learned") for line in sentences(evidence)) == learned


def test_nothing_is_said_of_learning_without_threshold_or_runs():
    metrics = {"accuracy": Metric("max")}
    assert "learn" not in " ".join(sentences(study({"baseline": BASE, "a": BASE}, metrics=metrics)))
    assert "learn" not in " ".join(sentences(study({"baseline": [math.nan] * 2, "a": [math.nan] * 2})))


def test_claims_are_counted_by_verdict():
    claims = [claim("beats"), claim("matches", by=0.01), claim("does_not_lose", by=0.01)]
    found = sentences(study({"baseline": BASE, "a": BASE + 0.03 + WOBBLE}, claims=claims))
    assert any("1 of 3 claims refuted" in line for line in found)
    assert any("2 of 3 claims supported" in line for line in found)


def test_what_limits_the_verdicts():
    curves = {("a", i): np.linspace(0, 0.9, 20) + 0.001 * i for i in range(5)}
    values = {"baseline": BASE, "a": BASE - 0.1 + WOBBLE}
    evidence = study(values, planned=6, curves=curves, sampling=Sampling("held_out", 500))
    facts = dataclasses.replace(evidence.facts, rate="lr 0.003", cautions=["An output sees five positions."])
    found = " ".join(sentences(dataclasses.replace(evidence, facts=facts)))
    for words in (
        "Not converged",
        "2 of 12",
        "on these examples",
        "lr 0.003",
        "An output sees five positions.",
    ):
        assert words in found
    resplit = sentences(
        study(values, sampling=Sampling("resplit", 300, 1000), claims=[claim("beats", "b")] * 0)
    )
    assert any("n_test/n_train" in line for line in resplit)


@pytest.mark.parametrize("code", sorted(TEMPLATES))
def test_every_code_has_words(code):
    names = (
        "pairs",
        "missing",
        "n",
        "least",
        "diverged",
        "failures",
        "seeds",
        "of",
        "runs",
        "steps",
        "longest",
        "rate",
    )
    numbers = dict.fromkeys((*names, "slack"), 2.0) if code != "few" else {"n": 1, "least": 2}
    said = words_of(str(Reason(code, numbers)))
    assert said
    assert "{" not in said
    assert "=" not in said


def test_sentences_of_older_tables_stay():
    assert words_of("8 seeds detect .012 with 80 % power") == "8 seeds detect .012 with 80 % power"
    assert words_of(float("nan")) == ""
