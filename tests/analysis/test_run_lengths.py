"""How long runs trained: the usual length of a variant, and the runs that trained for another one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from made_evidence import study

from ablate.analysis.compare import compare
from ablate.analysis.run_lengths import common_length, unequal_runs
from ablate.core.rows import list_as_text, list_in
from ablate.core.unequal_run import UnequalRun


def named(**lengths):
    """Variant, seed, reached and usual of the runs of a task that trained for another length."""
    of_variants = {variant: dict(enumerate(values)) for variant, values in lengths.items()}
    return [(run.variant, run.seed, run.reached, run.usual) for run in unequal_runs(of_variants, "step")]


CASES = {
    "all alike": ({"a": [1000] * 5, "b": [1000] * 5}, []),
    "one early": ({"a": [1000] * 5, "b": [1000, 1000, 600, 1000, 1000]}, [("b", 2, 600, 1000)]),
    "one step early": ({"a": [100] * 3, "b": [100, 99, 100]}, [("b", 1, 99, 100)]),
    "one longer": ({"a": [600] * 4, "b": [600, 600, 600, 1000]}, [("b", 3, 1000, 600)]),
    # That of a variant whose runs all end there is its own length: `Treatment` tells it.
    "a variant half as long": ({"a": [1000] * 5, "b": [500] * 5}, []),
    "three of five early": (
        {"a": [1000] * 5, "b": [600, 620, 640, 1000, 1000]},
        [("b", 0, 600, 1000), ("b", 1, 620, 1000), ("b", 2, 640, 1000)],
    ),
    "of two the one that others reach": ({"a": [1000, 1000], "b": [600, 1000]}, [("b", 0, 600, 1000)]),
    "of two the one that others end at": ({"a": [600, 600], "b": [600, 1000]}, [("b", 1, 1000, 600)]),
    "ends that lie near": ({"a": [9990, 10_000, 9980], "b": [9995, 6000, 9985]}, [("b", 1, 6000, 9995)]),
    "early stopping": ({"a": [340, 520, 610, 480], "b": [390, 700, 450, 560]}, []),
    "half of early stopping": ({"a": [340, 520, 610, 480], "b": [590, 700, 650, 120]}, [("b", 3, 120, 620)]),
    "one run each": ({"a": [1000], "b": [600]}, []),
}


@pytest.mark.parametrize("name", CASES)
def test_runs_of_another_length_are_named(name):
    lengths, unequal = CASES[name]
    assert named(**lengths) == unequal


@given(
    usual=some.integers(2, 10**6),
    shares=some.lists(some.floats(0.0, 0.98), max_size=2),
    num_runs=some.integers(5, 8),
)
def test_those_that_ended_before_most_are_named_and_no_others(usual, shares, num_runs):
    early = [float(int(share * usual)) for share in shares]
    lengths = [*early, *[float(usual)] * (num_runs - len(early))]
    found = named(base=[float(usual)] * num_runs, other=lengths)
    assert found == [("other", seed, length, usual) for seed, length in enumerate(early)]


@given(some.lists(some.integers(1, 1000), min_size=1, max_size=9))
def test_a_common_length_is_that_of_half_of_the_runs(lengths):
    common = common_length(lengths)
    most = max(sum(abs(a - b) <= 0.01 * max(a, b) for b in lengths) for a in lengths)
    assert (common is not None) == (2 * most >= len(lengths))


def test_as_text_and_back():
    runs = [UnequalRun('a; "b"|c', 3, "step", 600.0, 1000.0), UnequalRun("ä", 0, "row", 1.0, 2.0)]
    assert list_in(list_as_text(runs), UnequalRun) == runs
    assert list_as_text([]) == ""
    assert list_in("", UnequalRun) == []


def of_own_code(last_steps):
    """Evidence of own code, whose variants do not say how long they train; `last_steps`: variant → by seed."""
    generator = np.random.default_rng(0)
    evidence = study({name: generator.normal(0.5, 0.01, 4) for name in last_steps})
    ids = evidence.trials.set_index(["variant", "seed"])["id"]
    points = []
    for name, steps in last_steps.items():
        for seed, last in enumerate(steps):
            for step in (1, last):
                points.append({"id": ids[name, seed], "step": step, "metric": "val", "value": 0.5})
    return replace(evidence, curves=pd.DataFrame(points))


def test_trials_of_own_code_that_report_fewer_steps_are_marked():
    evidence = of_own_code({"baseline": [100] * 4, "b": [100, 100, 40, 100], "c": [50] * 4})
    rows = compare(evidence).set_index("variant")
    assert list_in(rows.loc["b", "unequal_runs"], UnequalRun) == [UnequalRun("b", 2, "step", 40.0, 100.0)]
    assert rows.loc["b", "treatment"] == ""
    assert rows.loc["c", "unequal_runs"] == ""
    assert rows.loc["c", "treatment"] == "steps step=50|100"


def test_variants_whose_settings_say_how_long_they_train_are_not_measured_by_their_curves():
    evidence = of_own_code({"baseline": [100] * 4, "b": [100, 100, 40, 100]})
    variants = [replace(variant, examples={"recall": 6400}) for variant in evidence.facts.variants]
    evidence = replace(evidence, facts=replace(evidence.facts, variants=variants))
    assert [*compare(evidence)["unequal_runs"]] == [""]
