"""A claim that one part gains more beside another: the difference of differences, seed by seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from made_evidence import LOSS, study
from scipy import stats

from ablate.analysis.claims import judge_claims
from ablate.analysis.paired import Differences
from ablate.core.claim import Claim
from ablate.core.facts import Facts
from ablate.core.metric import Metric, Sampling

SEEDS = 8
FINE = {"accuracy": Metric("max")}


def cells(interaction: float = 0.0, level: float = 0.5, noise: float = 0.02) -> dict[str, np.ndarray]:
    """Four variants, with an effect of A and of P, and what A gains beside P; seeds share much of their noise."""
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 0.05, SEEDS)
    means = {"baseline": 0.0, "a": 0.05, "p": -0.1, "a,p": -0.05 + interaction}
    return {name: level + mean + shared + rng.normal(0, noise, SEEDS) for name, mean in means.items()}


def interaction(a="a,p", b="p", a_less="a", b_less="baseline", metric="accuracy") -> Claim:
    sides = [[side] if isinstance(side, str) else side for side in (a, b, a_less, b_less)]
    return Claim(
        "a beats baseline by more at p",
        "interaction",
        metric,
        *sides[:2],
        0.0,
        "2025-01-01",
        False,
        *sides[2:],
    )


def judged(values, claim=None, **options) -> pd.Series:
    return judge_claims(study(values, claims=[claim or interaction()], **options)).iloc[0]


def test_it_is_the_interaction_of_a_repeated_measures_anova():
    from statsmodels.stats.anova import AnovaRM

    values = cells(0.03)
    rows = [
        {"seed": seed, "a": "a" in name.split(","), "p": "p" in name.split(","), "y": y}
        for name, of in values.items()
        for seed, y in enumerate(of)
    ]
    table = AnovaRM(pd.DataFrame(rows), "y", "seed", within=["a", "p"]).fit().anova_table
    row = judged(values, metrics=FINE)
    assert row["p"] == pytest.approx(table.loc["a:p", "Pr > F"])
    d = values["a,p"] - values["p"] - values["a"] + values["baseline"]
    known = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert (row["n"], row["diff"]) == (SEEDS, pytest.approx(d.mean()))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(
    ("gain", "verdict", "words"),
    [
        (0.2, "supported", "of the difference of differences lies above 0"),
        (-0.2, "refuted", "of the difference of differences lies below 0"),
        (0.0, "inconclusive", "of the difference of differences reaches below 0 and above it"),
    ],
)
def test_every_outcome(gain, verdict, words):
    row = judged(cells(gain))
    assert (row["verdict"], words in row["reason"]) == (verdict, True)
    # The other level first, or the other side first, turns it round.
    turned = {"supported": "refuted", "refuted": "supported"}.get(verdict, verdict)
    for claim in (interaction("a", "baseline", "a,p", "p"), interaction("p", "a,p", "baseline", "a")):
        assert judged(cells(gain), claim)["verdict"] == turned


def test_less_is_better_turns_the_sign_and_each_side_is_a_mean_of_its_own_variants():
    values = cells(0.1)
    more = values | {"b": values["a"] + 0.4, "c": values["a"] - 0.1}
    row = judged(
        more, interaction(a_less=["a", "b", "c"], metric="loss"), metric="loss", metrics={"loss": LOSS}
    )
    d = values["a,p"] - values["p"] - values["a"] - 0.1 + values["baseline"]
    assert row["diff"] == pytest.approx(-d.mean())
    assert row["p"] == pytest.approx(stats.ttest_1samp(d, 0).pvalue)


def test_examples_that_seeds_share_are_a_sample_too():
    values, rng = cells(0.03), np.random.default_rng(1)
    examples = {name: of[:, None] + rng.normal(0, 0.3, 40) for name, of in values.items()}
    row = judged(values, sampling=Sampling("held_out", 40), examples=examples)
    signs = {"a,p": 1, "p": -1, "a": -1, "baseline": 1}
    d, by_example = (sum(sign * of[name] for name, sign in signs.items()) for of in (values, examples))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(Differences(d, 0.001, by_example).interval())
    assert row["ci_high"] - row["ci_low"] > 1.5 * np.ptp(Differences(d, 0.001).interval())


@pytest.mark.parametrize(
    ("level", "bound"), [(0.96, "a,p is at the metric's ceiling"), (0.21, "p is at the metric's floor")]
)
def test_beside_a_bound_it_depends_on_the_scale(level, bound):
    values = cells(0.2, level, 0.004)
    values = {name: np.clip(of, 0.1, 1.0) for name, of in values.items()}
    row = judged(values, margin=0.03)
    assert (row["verdict"], row["p"]) == ("inconclusive", 1.0)
    assert row["reason"] == f"{bound}: whether there is an interaction depends on the scale"
    assert judged(values, metrics=FINE)["verdict"] == "supported"


def test_what_is_missing_or_diverged_counts_as_in_every_claim():
    lost = judged(cells(0.2), statuses={("a", 3): "failed"})
    assert (lost["verdict"], lost["reason"]) == (
        "incomplete",
        "incomplete: 7 of 8 planned seeds with a usable pair",
    )
    one = judged(cells(0.05, 0.9), statuses={("p", 3): "diverged"})
    assert (one["verdict"], one["p"]) == ("inconclusive", 1.0)
    assert one["reason"].startswith("unstable: 1 of 8 runs (rate .12, 95 % interval [0, .53]) of p diverged")
    # p diverges on six of eight seeds: a then gains far more beside it.
    most = judged(cells(0.0), statuses={("p", seed): "diverged" for seed in range(6)})
    assert most["verdict"] == "supported"
    assert most["reason"].endswith("with 6 of 8 seeds on which a run diverged and counts with the floor")
    bare = judged(cells(0.2), statuses={("p", 3): "diverged"}, metrics=FINE)
    assert bare["reason"].endswith("accuracy has no floor to score them with")


def test_one_seed_equal_differences_and_all_or_nothing_tasks_decide_nothing():
    alone = judged({name: of[:1] for name, of in cells(0.2).items()})
    assert alone["reason"] == "1 of 1 planned seed with a usable pair; an interval takes 2"
    same = judged(dict.fromkeys(cells(), np.full(5, 0.5)))
    assert same["reason"] == "degenerate: every difference of differences is 0"
    rates = judged(cells(0.2), outcome="all_or_nothing")
    assert (rates["verdict"], rates["p"]) == ("inconclusive", 1.0)
    assert "state each of the two differences on `solved_rate`" in rates["reason"]


def test_facts_of_before_have_claims_of_two_sides():
    facts = study(cells(), claims=[interaction()]).facts
    kept = facts.to_dict()
    assert Facts.from_dict(kept).claims == facts.claims
    for old in ("a_less", "b_less"):
        del kept["claims"][0][old]
    assert Facts.from_dict(kept).claims[0] == dataclasses.replace(facts.claims[0], a_less=[], b_less=[])
