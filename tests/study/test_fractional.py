"""Fractions of a factorial: their sizes and aliases against the published tables, and what a study may ask of them."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from harness import TOY, prepare

from ablate.pipeline.evidence.limitations import limitations
from ablate.study.fractional import FRACTIONS, cells

HEAD = f"name: x\nworkload: toy\nplugins: [{TOY}]\ntask: {{name: coin}}\n"
FIVE = "factors: {model.effect: [1], model.noise: [0.2], model.width: [5], training.steps: [4], training.note: [a]}\n"
FOUR = FIVE.replace(", training.note: [a]", "")


def design(resolution, factors=FIVE, more=""):
    return f"{HEAD}{factors}design: {{name: fractional, resolution: {resolution}}}\n{more}"


# Box, Hunter and Hunter 1978, Statistics for Experimenters, table 12.15: number of factors and resolution → p.
@pytest.mark.parametrize(
    ("factors", "resolution", "p"),
    [(3, 3, 1), (5, 3, 2), (6, 3, 3), (7, 3, 4), (9, 3, 5), (10, 3, 6), (11, 3, 7), (4, 4, 1), (6, 4, 2), (7, 4, 3),
     (8, 4, 4), (9, 4, 4), (10, 4, 5), (5, 5, 1), (8, 5, 2), (10, 5, 3)],
)  # fmt: skip
def test_the_fractions_have_the_published_sizes(factors, resolution, p):
    found = np.array(cells(factors, resolution), int)
    assert found.shape == (2 ** (factors - p), factors)
    assert not found[0].any()
    # Any resolution − 1 factors take all their combinations equally often.
    for some in combinations(range(factors), resolution - 1):
        _, counts = np.unique(found[:, some], axis=0, return_counts=True)
        assert list(counts) == [len(found) >> (resolution - 1)] * 2 ** (resolution - 1)


def pattern(words, basic):
    """How many products of each length are the same in every cell."""
    made = [{*word, basic + i} for i, word in enumerate(words)]
    lengths = [
        len(reduce(set.symmetric_difference, some))
        for count in range(1, len(made) + 1)
        for some in combinations(made, count)
    ]
    return [lengths.count(length) for length in range(1, basic + len(words) + 1)]


@pytest.mark.parametrize("resolution", FRACTIONS)
@pytest.mark.parametrize("factors", range(3, 9))
def test_the_fractions_are_the_smallest_and_of_minimum_aberration(factors, resolution):
    if factors not in FRACTIONS[resolution]:
        return
    words = FRACTIONS[resolution][factors].split()
    basic = factors - len(words)

    def every(basic):
        letters = "ABCDEFG"[:basic]
        known = ["".join(of) for n in range(resolution - 1, basic + 1) for of in combinations(letters, n)]
        found = [pattern(list(some), basic) for some in combinations(known, factors - basic)]
        return [of for of in found if not any(of[: resolution - 1])]

    assert not every(basic - 1)
    assert pattern(words, basic) == min(every(basic))


def test_the_half_of_four_factors_is_i_equals_abcd(write):
    experiment = prepare(write(design(4, FOUR)))
    a, b, c, d = experiment.design.factors
    assert len(experiment.variants) == 8
    assert experiment.design.aliases == [[(a, b), (c, d)], [(a, c), (b, d)], [(a, d), (b, c)]]
    (caution,) = [
        line for line in limitations(experiment, selects=False) if "cannot tell these effects apart" in line
    ]
    assert f"{a} × {b} = {c} × {d}; " in caution
    # The signs of I = ABCD: a product that no cell changes.
    assert {np.prod([-1 if on else 1 for on in cell]) for cell in cells(4, 4)} == {1}


def test_the_quarter_of_five_factors_has_the_published_aliases(write):
    # 2^(5−2), D = AB and E = AC: A = BD = CE, B = AD, C = AE, D = AB, E = AC, BC = DE, CD = BE.
    found = prepare(write(design(3))).design
    a, b, c, d, e = found.factors
    assert len(found.variants) == 8
    assert {frozenset(map(frozenset, together)) for together in found.aliases} == {
        frozenset(map(frozenset, together))
        for together in (
            [(a,), (b, d), (c, e)], [(b,), (a, d)], [(c,), (a, e)], [(d,), (a, b)], [(e,), (a, c)],
            [(b, c), (d, e)], [(c, d), (b, e)],
        )
    }  # fmt: skip


def test_main_effects_are_means_over_the_fraction(write):
    """Interactions that it sees as one are refused, as is recorded."""
    main = "model.effect=1 beats model.effect=0 on loss"
    crossed = f"{main} by more at model.noise=0.2 than at model.noise=0.1"
    (claim,) = prepare(write(design(4, FOUR, f"claims: [{main}]\n"))).claims
    assert (len(claim.a), len(claim.b)) == (4, 4)
    assert claim.b[0] == "baseline"
    (claim,) = prepare(write(design(5, FIVE, f"claims: [{crossed}]\n"))).claims
    assert [len(side) for side in claim.sides] == [4, 4, 4, 4]


def test_a_name_alone_takes_the_default_resolution_and_stays_short(write):
    assert len(prepare(write(f"{HEAD}{FIVE}design: fractional\n")).variants) == 16
    assert prepare(write(f"{HEAD}{FOUR}design: factorial\n")).config.model_dump()["design"] == "factorial"
