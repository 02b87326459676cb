from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from made_evidence import ACCURACY, claim, study

from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.headline import conditions, headline
from ablate.core.evidence import Evidence
from ablate.core.metric import Metric, Sampling

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def sentences(evidence: Evidence) -> list[str]:
    comparisons = compare(evidence)
    return [*headline(evidence, judge_claims(evidence)), *conditions(evidence, comparisons)]


def test_a_baseline_that_learned():
    found = sentences(study({"baseline": BASE, "a": BASE}, outcome="all_or_nothing"))
    assert found[0] == "The baseline learned: it solved recall on 5 of 5 seeds (accuracy ≥ .9)."


@pytest.mark.parametrize("statuses", [{}, {("baseline", 0): "diverged"}])
def test_a_baseline_that_missed_one_seed_opens_the_report(statuses):
    missed = [BASE[0] if statuses else 0.4, *BASE[1:]]
    found = sentences(study({"baseline": missed, "a": BASE}, statuses=statuses, outcome="all_or_nothing"))
    assert found[0] == "The baseline did not learn: it solved recall on 4 of 5 seeds (accuracy ≥ .9)."


def test_tasks_learned_and_not_learned():
    tasks = {name: {"accuracy": ACCURACY} for name in ("recall", "sort")}
    found = sentences(
        study({"baseline": {"recall": BASE, "sort": BASE - 0.5}}, tasks=tasks, outcome="all_or_nothing")
    )
    assert found[0] == "The baseline did not learn: it solved sort on 0 of 5 seeds (accuracy ≥ .9)."
    assert found[1] == "The baseline learned otherwise: it solved recall on 5 of 5 seeds (accuracy ≥ .9)."


@pytest.mark.parametrize(("level", "learned"), [(0.2, "learned"), (0.12, "did not learn")])
def test_a_graded_task_is_learned_beyond_guessing(level, learned):
    found = sentences(study({"baseline": level + WOBBLE, "a": level + WOBBLE}))
    assert found[
        0
    ] == f"The baseline {learned}: it reached accuracy {level:.4f} on recall (guessing: .10).".replace(
        " 0.", " ."
    )


def test_nothing_is_said_of_learning_without_threshold_or_runs():
    metrics = {"accuracy": Metric("max")}
    assert "learn" not in " ".join(sentences(study({"baseline": BASE, "a": BASE}, metrics=metrics)))
    assert "learn" not in " ".join(sentences(study({"baseline": [math.nan] * 2, "a": [math.nan] * 2})))


def test_claims_with_their_reasons():
    claims = [claim("beats"), claim("matches", by=0.01), claim("does_not_lose", by=0.01)]
    found = sentences(study({"baseline": BASE, "a": BASE + 0.03 + WOBBLE}, claims=claims))
    assert sum("1 of 3 claims refuted: “['a'] matches" in s for s in found) == 1
    assert sum("2 of 3 claims supported" in s for s in found) == 1
    alone = sentences(study({"baseline": BASE, "a": BASE + 0.03 + WOBBLE}, claims=claims[:1]))
    assert sum(s.startswith("The claim is supported: “") for s in alone) == 1


def test_caveats():
    curves = {("a", i): np.linspace(0, 0.9, 20) + 0.001 * i for i in range(5)}
    evidence = study(
        {"baseline": BASE, "a": BASE}, planned=6, curves=curves, sampling=Sampling("held_out", 500)
    )
    found = sentences(evidence)
    assert "Not converged, still improving when training ended: a." in found
    assert "Planned trials without a result: 2 of 12." in found
    assert (
        "The test examples are the same for every seed: the verdicts are conditional on this pool of examples."
        in found
    )
    assert not [s for s in sentences(study({"baseline": BASE, "a": BASE})) if "Planned" in s or "split" in s]


def test_what_limits_every_verdict_is_said():
    values = {"baseline": BASE, "a": BASE - 0.1 + WOBBLE, "b": [0.3, 0.3, 0.3, 0.7, 0.7]}
    evidence = study(values, sampling=Sampling("resplit", 300, 1000), margin=0.02)
    facts = dataclasses.replace(evidence.facts, rate="lr 0.003", cautions=["An output sees five positions."])
    found = sentences(dataclasses.replace(evidence, facts=facts))
    assert "Every verdict holds at lr 0.003, which was not tuned." in found
    assert "An output sees five positions." in found
    assert sum(s.startswith("Runs on recall fall into groups") for s in found) == 1
    assert sum("variances are enlarged by n_test/n_train" in s for s in found) == 1
