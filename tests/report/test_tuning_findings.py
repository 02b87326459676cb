"""The sentences about tuning at the beginning of a report."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from made_evidence import study
from made_searches import by_learning_rate, searched

from ablate.analysis.compare import compare
from ablate.core.evidence import Evidence
from ablate.core.search_table import SearchTable
from ablate.report.section import Material, sections

NOISE = np.array([0.0, 0.012, -0.006, 0.004, -0.01, 0.003])
FINE = {"baseline": 0.9 + NOISE, "a": 0.9 + NOISE[::-1], "b": 0.95 + NOISE}
TWO = {"baseline": [0.6, 0.8, 0.7], "a": [0.5, 0.9, 0.4], "b": [0.5, 0.9, 0.4]}


def findings(
    search: SearchTable, tuned: Evidence | None = None, untuned: Evidence | None = None
) -> list[str]:
    tuned = tuned or study(FINE)
    tuned = dataclasses.replace(tuned, facts=dataclasses.replace(tuned.facts, searched="tuning"))
    before = None if untuned is None else compare(untuned)
    material = Material(
        tuned, compare(tuned), pd.DataFrame(), searched=search, untuned=untuned, untuned_comparisons=before
    )
    tuning = [section for section in sections() if section.name.startswith("tuning")]
    return [
        sentence for section in tuning if section.applies(material) for sentence in section.findings(material)
    ]


def test_budgets_that_differ() -> None:
    (sentence,) = findings(searched({"baseline": [0.5] * 4, "a": [0.5] * 3, "b": [0.5] * 4}))
    assert sentence.startswith(
        "Not every variant was tuned with the same budget: 3 settings for a; 4 settings for baseline, b, of 4 settings"
    )


def test_a_variant_that_was_not_searched_for_has_not_had_the_same() -> None:
    (sentence,) = findings(searched({"baseline": [0.5, 0.6], "a": [0.5, 0.6]}))
    assert "0 settings for b; 2 settings for baseline, a" in sentence


def test_an_interrupted_search_says_how_far_it_came() -> None:
    (sentence,) = findings(searched(TWO, trials=12))
    assert "12 settings × 2 tuning seeds" in sentence
    assert ", of which 3 were tried;" in sentence


def test_pruning_spends_less() -> None:
    search = searched(TWO, pruner="median", statuses={("a", 2): "pruned"})
    (sentence,) = findings(search)
    assert sentence == (
        "Every variant was tuned with as many settings, not with as many trainings: 3 settings × 2 tuning seeds over "
        "training.lr (sampler random, pruner median); from 5 to 6 trainings of a variant, 17 trainings in all; 1 "
        "setting was pruned."
    )


def test_what_was_lost_is_said() -> None:
    statuses = {("a", 0): "diverged", ("b", 0): "failed", ("b", 2): "invalid"}
    (sentence,) = findings(searched(TWO, statuses=statuses))
    assert (
        "14 trainings in all, of which 1 diverged; 1 setting failed (b); 1 setting could not be built (b)."
        in sentence
    )


def test_a_variant_of_which_nothing_could_be_chosen() -> None:
    nothing = searched(
        {"baseline": [0.5, 0.6], "a": [math.nan] * 2}, statuses={("a", 0): "failed", ("a", 1): "failed"}
    )
    sentences = findings(nothing)
    assert "Judged as the study gives it, for no setting that was tried has a value: a." in sentences


def test_the_same_budget() -> None:
    assert findings(searched(TWO, seeds=2)) == [
        "Every variant was tuned with the same budget: 3 settings × 2 tuning seeds over training.lr (sampler random); "
        "18 trainings in all."
    ]
    placebo = study({**FINE, "placebo": 0.9 + NOISE[::-1]}, placebos=["placebo"])
    assert findings(searched(TWO), placebo)[0].startswith("Every variant was tuned with the same budget")
    tasks = {"recall": study(FINE).facts.tasks[0].metrics, "digits": study(FINE).facts.tasks[0].metrics}
    several = by_learning_rate(dict.fromkeys(FINE, (0.9, 3e-3)), tasks=[*tasks])
    assert "on each of 2 tasks" in findings(several, study(FINE, tasks=tasks))[0]


def test_a_best_value_at_the_edge_is_said() -> None:
    lrs = {"baseline": [1e-3, 2e-3, 3e-3], "a": [1e-3, 0.0912, 2e-3], "b": [1e-3, 0.09, 2e-3]}
    assert findings(searched(TWO, lrs=lrs))[1] == (
        "The best training.lr lies at the upper edge of the space, which may be too narrow: a (.0912), b (.09)."
    )


@pytest.mark.parametrize(("sampler", "gain"), [("random", "+.10"), ("tpe", "+.30")])
def test_a_best_that_still_rises_at_the_end(sampler: str, gain: str) -> None:
    rising = {"baseline": [0.5] * 6, "a": [0.5] * 5 + [0.8], "b": [0.8, 0.81, 0.8, 0.8, 0.8, 0.8]}
    assert findings(searched(rising, sampler=sampler), study(FINE, margin=0.02))[-1] == (
        "The budget may be too small, the best was still rising by more than the margin when it ended: a "
        f"({gain} over the last 2 of 6 settings)."
    )


def test_the_verdicts_that_changed() -> None:
    tuned = study(FINE, margin=0.02)
    untuned = study({"baseline": 0.9 + NOISE, "a": 0.8 + NOISE[::-1], "b": 0.95 + NOISE}, margin=0.02)
    assert findings(searched(TWO), tuned, untuned)[1] == (
        "Tuning changed 1 of 2 verdicts, with 95 % intervals: a was worse (−.100 [−.116, −.084]) and is equivalent "
        "once tuned (.000 [−.016, .016])."
    )
    assert findings(searched(TWO), tuned, tuned)[1] == "Tuning did not change any of 2 verdicts."
    diverged = study(FINE, statuses={("a", seed): "diverged" for seed in range(6)})
    assert "a was worse (−" in findings(searched(TWO), tuned, diverged)[1]
