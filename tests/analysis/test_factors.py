"""Main effects and interactions of designs that cross their factors, as description."""

from __future__ import annotations

import numpy as np
import pytest
from made_evidence import crossed
from scipy import stats

from ablate.analysis.crossings import crossings
from ablate.analysis.factors import effects
from ablate.core.evidence import Evidence
from ablate.core.facts import VariantFacts
from ablate.core.metric import Metric

# Box, Hunter and Hunter 1978, Statistics for Experimenters, section 7.7: survival times of animals given one of three
# poisons and four treatments, four animals a cell; in units of 10 hours. Also in R as boot::poisons.
POISONS = {
    ("I", "A"): [0.31, 0.45, 0.46, 0.43], ("I", "B"): [0.82, 1.10, 0.88, 0.72],
    ("I", "C"): [0.43, 0.45, 0.63, 0.76], ("I", "D"): [0.45, 0.71, 0.66, 0.62],
    ("II", "A"): [0.36, 0.29, 0.40, 0.23], ("II", "B"): [0.92, 0.61, 0.49, 1.24],
    ("II", "C"): [0.44, 0.35, 0.31, 0.40], ("II", "D"): [0.56, 1.02, 0.71, 0.38],
    ("III", "A"): [0.22, 0.21, 0.18, 0.23], ("III", "B"): [0.30, 0.37, 0.38, 0.29],
    ("III", "C"): [0.23, 0.25, 0.24, 0.22], ("III", "D"): [0.30, 0.36, 0.31, 0.33],
}  # fmt: skip


@pytest.fixture(scope="module")
def poisons() -> Evidence:
    factors = {"poison": ["I", "II", "III"], "treatment": ["A", "B", "C", "D"]}
    return crossed(factors, lambda levels, seed: POISONS[levels["poison"], levels["treatment"]][seed], 4)


def test_contrasts_of_each_seed_over_the_other_factors(poisons):
    rows = effects(poisons)
    assert [(row.kind, *row.levels.values()) for row in rows.itertuples()][:5] == [
        ("main", "II"), ("main", "III"), ("main", "B"), ("main", "C"), ("main", "D"),
    ]  # fmt: skip
    assert len(rows) == 2 + 3 + 6
    y = {cell: np.array(of) for cell, of in POISONS.items()}
    d = np.mean([y["III", t] - y["I", t] for t in "ABCD"], axis=0)
    row = rows.iloc[1]
    known = stats.ttest_1samp(d, 0)
    assert (row["diff"], row["p"], row["n"], row["cells"]) == (
        pytest.approx(d.mean()), pytest.approx(known.pvalue), 4, 4,
    )  # fmt: skip
    assert row["verdict"] == "worse"
    d = y["III", "B"] - y["I", "B"] - y["III", "A"] + y["I", "A"]
    row = rows[[of == {"poison": "III", "treatment": "B"} for of in rows["levels"]]].iloc[0]
    assert (row["kind"], row["diff"]) == ("interaction", pytest.approx(d.mean()))
    low, high = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))


TWO = {"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]}
RNG = np.random.default_rng(0)
NOISE = RNG.normal(0, 0.01, (64, 8))


def value(levels, seed, gain=0.0):
    cell = int("".join(levels.values()), 2)
    both = gain * (levels["a"] == levels["b"] == "1")
    return 0.5 + 0.1 * int(levels["a"]) + both + NOISE[cell, seed] + 0.05 * seed


def test_what_is_missing_is_left_out_and_said():
    # A level of `a` that removes `c`, and a cell of which no run has an outcome.
    lost = {("a=1,b=1", seed): "failed" for seed in range(5)} | {("b=1", 2): "failed"}
    evidence = crossed(TWO, value, statuses=lost)
    evidence.facts.variants.append(VariantFacts("d=1", {"a": "0", "b": "0", "d": "1"}, {"d": "1"}))
    for variant in evidence.facts.variants[:-1]:
        variant.levels["d"] = "0"
    evidence.facts.factors["d"] = ["0", "1"]
    (one,) = crossings(evidence)
    assert one.left_out == [
        "d=1 lacks a factor that another removes",
        "a=1,b=1 has no run with an outcome",
        "nothing varies d",
    ]
    rows = effects(evidence).set_index("effect")
    # Without a=1,b=1 its counterpart tells nothing of `a` either.
    assert list(rows["cells"][["a", "b", "c"]]) == [3, 3, 3]
    rest = [{"b": "0", "c": "0"}, {"b": "0", "c": "1"}, {"b": "1", "c": "1"}]
    d = [value({"a": "1", **of}, seed) - value({"a": "0", **of}, seed) for of in rest for seed in range(5)]
    assert (rows.loc["a", "n"], rows.loc["a", "diff"]) == (5, pytest.approx(np.mean(d)))
    assert rows.loc["b", "verdict"] == "incomplete"
    assert rows.loc["a × c", "cells"] == 1


def test_cells_that_tell_no_interaction_apart_keep_their_main_effects():
    evidence = crossed(TWO, value, keep=lambda levels: list(levels.values()).count("1") < 2)
    assert list(effects(evidence)["kind"]) == ["main"] * 3


def test_a_fraction_names_the_aliases_of_what_it_shows():
    # The half of 2³ with c = ab: three effects, each seen together with the interaction of the other two.
    half = crossed(
        TWO, value, design="fractional", keep=lambda of: (int(of["a"]) + int(of["b"]) + int(of["c"])) % 2 == 0
    )
    assert list(effects(half)["effect"]) == ["a = b × c", "b = a × c", "c = a × b"]
    row = effects(half).iloc[0]
    on, off = ([value(dict(zip("abc", cell, strict=True)), s) for cell in cells for s in range(5)]
               for cells in (("110", "101"), ("000", "011")))  # fmt: skip
    d = np.subtract(on, off)
    assert (row["diff"], row["cells"], row["verdict"]) == (pytest.approx(np.mean(d)), 2, "better")


def test_a_fraction_that_lost_a_cell_shows_no_effects():
    # Only `c` matters; means over the three cells that are left would blame `a` and `b` as well.
    lost = {("a=1,c=1", seed): "failed" for seed in range(5)}
    half = crossed(
        TWO,
        lambda of, seed: 0.5 + 0.3 * int(of["c"]) + 0.001 * seed,
        design="fractional",
        keep=lambda of: sum(map(int, of.values())) % 2 == 0,
        statuses=lost,
    )
    assert effects(half).empty
    (one,) = crossings(half)
    assert "every effect, since a fraction without all of its cells mixes them" in one.left_out


def test_bounds_divergence_and_rates():
    bounded = {"metrics": {"accuracy": Metric("max", 0.001, floor=0.1, ceiling=1.0)}}
    near = crossed(TWO, lambda of, seed: min(1.0, value(of, seed, 0.5)), **bounded)
    row = effects(near).set_index("effect").loc["a × b"]
    assert (row["verdict"], row["note"]) == (
        "inconclusive", "a=1,b=1 is at the metric's ceiling, so that it depends on the scale",
    )  # fmt: skip
    rates = effects(crossed(TWO, value, outcome="all_or_nothing"))
    assert set(rates["verdict"]) == {""}
    unscored = crossed(TWO, value, statuses={("a=1", 0): "diverged"})
    assert effects(unscored).set_index("effect").loc["a", "verdict"] == "unstable"


def test_nothing_is_described_where_nothing_is_crossed_or_varies():
    assert len(effects(crossed(TWO, value, design="one_factor"))) == 0
    assert set(effects(crossed(TWO, value, seeds=1))["verdict"]) == {"inconclusive"}
