"""The answer to a study's question: which verdicts it names, in which units; and that every reason has words."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
from made_evidence import ACCURACY, LOSS, study

import ablate
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.report.section import Material
from ablate.report.sections.headline import answers, of_task
from ablate.report.words import codes

BASE = np.array([0.950, 0.955, 0.948, 0.951, 0.953])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])


def told(evidence) -> str:
    (only,) = answers(Material(evidence, compare(evidence), judge_claims(evidence)))
    return only


def in_order(words: str, *parts: str) -> bool:
    """Whether all parts are there, each after the one before."""
    places = [words.find(part) for part in parts]
    return min(places) >= 0 and places == sorted(places)


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
    found = told(study(values, margin=0.005, statuses={("wild", 0): "diverged"}))
    assert in_order(
        found, "50.0 points", "without lost", "3.0 points", "with won", ".5 points", "same", "nconclusive"
    )
    assert {"open", "idle", "wild"} <= set(re.findall(r"\w+", found.partition("nconclusive")[2]))


def test_the_largest_effect_comes_first_and_exploratory_rows_stay_out():
    values = {"baseline": BASE, "small": BASE - 0.1 + WOBBLE, "large": BASE - 0.5 + WOBBLE}
    found = told(study(values, metrics={"accuracy": ACCURACY, "loss": LOSS}, others={"loss": values}))
    assert in_order(found, "large", "small")
    assert "loss" not in found


def test_a_sweep_says_first_what_won():
    evidence = study({"baseline": BASE, "winner-2": BASE - 0.5 + WOBBLE, "winner": BASE + 0.03 + WOBBLE})
    material = Material(evidence, compare(evidence), judge_claims(evidence))
    assert in_order(answers(material)[0], "winner-2", "the winner")
    facts = dataclasses.replace(evidence.facts, searched="sweep")
    swept = dataclasses.replace(evidence, facts=facts)
    assert in_order(_first(swept), "the winner", "winner-2")


def _first(evidence) -> str:
    """The sentences of a sweep without the table of its search, which its own section needs."""
    (task,) = evidence.facts.tasks
    found = compare(evidence)
    return of_task(found.to_dict("records"), task, Material(evidence, found, found[:0]))


def test_a_loss_is_in_its_own_units_and_worsens_where_it_grows():
    values = {"baseline": [1.0, 1.1, 1.2], "a": [2.0, 2.2, 2.1]}
    found = told(study(values, metric="loss", metrics={"loss": LOSS}))
    assert in_order(found, "worsened", "1.0", "a")
    assert "point" not in found


def test_solved_seeds_are_counted_where_they_decide():
    found = told(study({"baseline": [0.99] * 8, "a": [0.3] * 8}, outcome="all_or_nothing"))
    assert in_order(found, "8 of 8", "recall", "none")


def test_a_placebo_that_differs_and_a_baseline_that_did_not_learn_open_the_answer():
    odd = study({"baseline": BASE, "again": BASE - 0.1 + WOBBLE, "a": BASE}, placebos=["again"])
    assert in_order(told(odd), "placebo", "nconclusive")
    assert "learn" in told(study({"baseline": 0.12 + WOBBLE, "a": 0.12 - WOBBLE})).partition(":")[0]


def emitted() -> set[str]:
    """The codes of reasons that the package has."""
    text = "".join(path.read_text() for path in Path(ablate.__file__).parent.rglob("*.py"))
    return {*re.findall(r'Reason\(\s*"(\w+)"', text), "unknown", "pool"}


def test_every_code_of_a_reason_has_words_and_no_other_has():
    assert emitted() == codes("reasons")
