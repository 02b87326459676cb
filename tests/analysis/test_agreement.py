"""Claims whose verdict differs from that of their comparison say why."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from made_evidence import claim, study

from ablate.analysis.agreement import explained
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.core.metric import Metric

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
BETWEEN = "the difference is not 0, and not shown to lie within the .02 that the claim allows or beyond"


def reason(values, made, margin=None, **options) -> str:
    evidence = study({"baseline": BASE, **values}, margin=margin, claims=[made], **options)
    comparisons, claims = compare(evidence), judge_claims(evidence)
    found = explained(claims, comparisons, evidence.facts)
    assert list(found.drop(columns="reason")) == list(claims.drop(columns="reason"))
    assert found["reason"][0].startswith(claims["reason"][0])
    return found["reason"][0].removeprefix(claims["reason"][0])


@pytest.mark.parametrize(
    ("difference", "made", "margin", "why"),
    [
        (0.03 + WOBBLE, claim("beats"), None, ""),
        (0.03 + WOBBLE, claim("beats", by=0.05), None,
         "; the table says better: the claim asks for more than .05, a verdict for more than 0"),
        (0.006 + WOBBLE, claim("beats"), 0.02,
         "; the table says equivalent: the difference is not 0, and lies within the margin"),
        (WOBBLE, claim("beats"), 0.02,
         "; the table says equivalent: the difference may have either sign, but lies within the margin"),
        (0.03 + WOBBLE, claim("matches", by=0.05), 0.02,
         "; the table says better: the difference is not 0, and lies within the .05 that the claim allows"),
        (5 * WOBBLE, claim("matches", by=0.02), 0.005,
         "; the table says inconclusive: the claim allows .02, the margin is .005"),
        (WOBBLE, claim("matches", by=0.02), 0.02, ""),
        (3 * WOBBLE - 0.017, claim("matches", by=0.02), 0.02,
         f"; the table says worse: {BETWEEN}"),
        (3 * WOBBLE - 0.017, claim("does_not_lose", by=0.02), 0.02,
         f"; the table says worse: {BETWEEN}"),
        (5 * WOBBLE, claim("does_not_lose", by=0.02), None,
         "; the table says inconclusive: the claim allows .02, and no margin is declared"),
    ],
)  # fmt: skip
def test_why_both_hold(difference, made, margin, why):
    assert reason({"a": BASE + difference}, made, margin) == why


def test_where_no_run_solves_the_task_the_table_tests_the_mean():
    unsolved = {"accuracy": Metric("max", floor=0.1, ceiling=1.0, solved=0.99)}
    found = reason({"a": BASE - 0.1 + WOBBLE}, claim("beats"), metrics=unsolved, outcome="all_or_nothing")
    assert found == "; the table says worse: it tests the mean where no run solves the task"


def test_families_of_another_size_are_named():
    others = dict.fromkeys("bcdefgh", BASE + 5 * WOBBLE)
    near = np.array([0.004, 0.001, 0.003, 0.002, 0.0025])
    assert reason({"a": BASE + near, **others}, claim("beats")) == (
        "; the table says inconclusive: each of 8 comparisons is decided at .05/8, and 1 claim step by step, by Holm"
    )


def test_a_claim_with_the_baseline_first_is_read_the_other_way():
    turned = dataclasses.replace(claim("beats"), a=["baseline"], b=["a"])
    assert reason({"a": BASE - 0.03 + WOBBLE}, turned) == ""
    large = dataclasses.replace(claim("beats", by=0.05), a=["baseline"], b=["a"])
    assert "the table says worse: the claim asks for more than .05" in reason(
        {"a": BASE - 0.03 + WOBBLE}, large
    )
