"""The answer to a study's question: what it says of each verdict, in which units, and when it cannot answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from made_evidence import ACCURACY, LOSS, study

from ablate.analysis.answer import MAX_NAMES, answer
from ablate.analysis.compare import compare

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def told(evidence) -> str:
    (only,) = answer(evidence, compare(evidence))
    return only


def test_each_verdict_has_its_words():
    values = {
        "baseline": BASE,
        "no lost": BASE - 0.5 + WOBBLE,
        "won": BASE + 0.03 + WOBBLE,
        "same": BASE + WOBBLE,
        "open": BASE + 5 * WOBBLE,
        "idle": BASE,
        "wild": BASE,
        "late": BASE,
    }
    statuses = {("wild", 0): "diverged", ("late", 0): "failed"}
    assert told(study(values, margin=0.005, statuses=statuses)) == (
        "On these 5 seeds, accuracy fell by 50.0 points without lost, and rose by 3.0 points with won. "
        "Within .5 points of the baseline: same. Still open: open. "
        "Some runs diverged, too few to tell: wild. No change at all: idle. "
        "No verdict, since runs failed or are missing: late."
    )


def test_the_largest_effect_comes_first_and_exploratory_rows_stay_out():
    values = {"baseline": BASE, "small": BASE - 0.1 + WOBBLE, "large": BASE - 0.5 + WOBBLE}
    evidence = study(values, metrics={"accuracy": ACCURACY, "loss": LOSS}, others={"loss": values})
    assert (
        told(evidence)
        == "On these 5 seeds, accuracy fell by 50.0 points with large and by 10.0 points with small."
    )


def test_a_sweep_says_first_what_won():
    evidence = study({"baseline": BASE, "winner-2": BASE - 0.5 + WOBBLE, "winner": BASE + 0.03 + WOBBLE})
    swept = dataclasses.replace(evidence, facts=dataclasses.replace(evidence.facts, searched="sweep"))
    assert (
        told(swept)
        == "On these 5 seeds, accuracy rose by 3.0 points with the winner, and fell by 50.0 points with winner-2."
    )


def test_a_loss_is_in_its_own_units_and_worsens_where_it_grows():
    values = {"baseline": [1.0, 1.1, 1.2], "a": [2.0, 2.2, 2.1]}
    evidence = study(values, metric="loss", metrics={"loss": LOSS})
    assert told(evidence) == "On these 3 seeds, loss worsened by 1.0 with a."


def test_solved_seeds_are_counted_where_they_decide():
    values = {"baseline": [0.99] * 8, "a": [0.3] * 8}
    evidence = study(values, outcome="all_or_nothing")
    assert told(evidence) == "8 of 8 seeds solved recall with the baseline, none with a."


def test_what_every_seed_solves_is_an_answer_too():
    values = {"baseline": [0.99] * 8, "no a": [0.98] * 8, "b": [0.97] * 8, "c": [0.3] * 8}
    assert told(study(values, outcome="all_or_nothing")) == (
        "8 of 8 seeds solved recall with the baseline, none with c. "
        "Recall was solved every time with b and without a, as with the baseline."
    )


def test_a_rate_that_was_not_tuned_is_named_before_the_effect():
    evidence = study({"baseline": BASE, "a": BASE - 0.5 + WOBBLE})
    facts = dataclasses.replace(evidence.facts, rate="lr 0.003")
    found = told(dataclasses.replace(evidence, facts=facts))
    assert found.startswith(
        "On these 5 seeds, at lr 0.003, which was not tuned, accuracy fell by 50.0 points"
    )


def test_a_baseline_that_did_not_learn_leaves_open_what_no_verdict_decides():
    found = told(study({"baseline": 0.12 + WOBBLE, "a": 0.12 - WOBBLE}))
    assert found.startswith("The baseline did not learn: it reached accuracy")
    assert found.endswith("That leaves the question open.")


def test_what_is_decided_beside_a_baseline_that_did_not_learn_is_said():
    rescued = told(study({"baseline": 0.12 + WOBBLE, "a": BASE}))
    assert rescued.endswith("(guessing: .10). On these 5 seeds, accuracy rose by 83.1 points with a.")
    evidence = study({"baseline": [0.99] * 7 + [0.3], "a": [0.3] * 8}, outcome="all_or_nothing")
    assert told(evidence) == (
        "The baseline did not learn: it solved recall on 7 of 8 seeds (accuracy ≥ .9). "
        "7 of 8 seeds solved recall with the baseline, none with a."
    )


def test_tasks_are_answered_one_by_one():
    tasks = {name: {"accuracy": ACCURACY} for name in ("recall", "sort")}
    values = {
        "baseline": {"recall": BASE, "sort": 0.12 + WOBBLE},
        "a": {"recall": BASE - 0.5 + WOBBLE, "sort": BASE},
    }
    evidence = study(values, tasks=tasks)
    first, second = answer(evidence, compare(evidence))
    assert first == "recall: On these 5 seeds, accuracy fell by 50.0 points with a."
    assert second.startswith("sort: The baseline did not learn")


@pytest.mark.parametrize(("count", "more"), [(MAX_NAMES, ""), (MAX_NAMES + 3, " and 3 more")])
def test_of_many_names_some_are_counted(count, more):
    values = {"baseline": BASE} | {f"v{i}": BASE + 5 * WOBBLE for i in range(count)}
    assert told(study(values, margin=0.005)).endswith(f"{more}.")
    assert ("more" in told(study(values, margin=0.005)).rpartition(":")[2]) == bool(more)


def test_nothing_is_answered_where_nothing_is_compared():
    evidence = study({"baseline": BASE})
    assert answer(evidence, compare(evidence)) == []
