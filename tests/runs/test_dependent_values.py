"""Values that are sorted, computed from one another, or repeated by example are named, and those of plain runs not."""

import numpy as np
import pandas as pd
import pytest

import ablate

SEEDS = 6


def runs(decimals=16):
    rng = np.random.default_rng(5)
    values = np.r_[rng.normal(0.80, 0.01, SEEDS), rng.normal(0.81, 0.01, SEEDS)].round(decimals)
    variants = np.repeat(["base", "wide"], SEEDS)
    return pd.DataFrame({"variant": variants, "seed": [*range(SEEDS)] * 2, "acc": values})


def said(table, metric="acc", **options):
    given = {"baseline": "base", "direction": "max"} | options
    return " ".join(ablate.analyse(table, metric=metric, **given).evidence.facts.cautions)


def test_nothing_is_said_of_plain_runs():
    text = said(runs())
    assert "with the seed in every variant" not in text
    assert "to the last digit" not in text


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("ascending", "word"), [(True, "rises"), (False, "falls")])
def test_values_in_the_order_of_seeds(ascending, word):
    ranked = runs().sort_values(["variant", "acc"], ascending=[True, ascending])
    ranked["seed"] = [*range(SEEDS)] * 2
    told = f"acc {word} with the seed in every variant: if runs were numbered in the order of acc, or seeds are steps"
    assert told in said(ranked)
    # One variant alone may be in order by chance.
    assert "in every variant" not in said(pd.concat([ranked[:SEEDS], runs()[SEEDS:]]))
    few = ranked[ranked["seed"] < 3]
    assert "in every variant" not in said(few)


COMPUTED = {
    "plus": (lambda base: base + 0.0012, "wide is base plus 0.0012 on every seed, to the last digit"),
    "minus": (lambda base: base - 0.0012, "wide is base plus −0.0012 on every seed"),
    "times": (lambda base: base * 1.01, "wide is base times 1.01 on every seed, to the last digit"),
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(("act", "told"), COMPUTED.values(), ids=[*COMPUTED])
def test_a_variant_that_is_computed_from_the_baseline(act, told):
    table = runs()
    table.loc[SEEDS:, "acc"] = act(table["acc"][:SEEDS].to_numpy())
    assert told in said(table)


@pytest.mark.slow
def test_equal_differences_of_rounded_values_are_chance():
    table = runs(decimals=2)
    table.loc[SEEDS:, "acc"] = (table["acc"][:SEEDS].to_numpy() + 0.01).round(2)
    assert "to the last digit" not in said(table)


def by_example(values):
    rows = [
        {"variant": variant, "example": example, "loss": loss}
        for variant, of_variant in zip(("base", "wide"), values, strict=True)
        for example, loss in enumerate(of_variant)
    ]
    return pd.DataFrame(rows)


@pytest.mark.slow
def test_examples_that_are_there_several_times():
    values = np.random.default_rng(2).gamma(2.0, 1.0, (2, 20))
    told = "Of 40 examples, 20 are distinct"
    assert told in said(by_example(np.hstack([values, values])), "loss", direction="min")
    assert "are distinct" not in said(by_example(values), "loss", direction="min")


@pytest.mark.slow
def test_examples_with_few_possible_values_are_alike_by_themselves():
    rng = np.random.default_rng(2)
    overlap = 2 * rng.integers(1, 9, (2, 40)) / rng.integers(17, 30, (2, 40))
    assert "are distinct" not in said(by_example(overlap), "loss", direction="min")
    assert "are distinct" not in said(by_example(rng.integers(0, 2, (2, 40))), "loss", direction="min")
