"""Seeds until it is settled: the sequential p, and what comparisons and claims make of looks."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_evidence import claim, study
from scipy import stats

from ablate.analysis.chances import weights
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.contrast import Contrast
from ablate.analysis.further_runs import unsettled
from ablate.analysis.looks import p_sequential
from ablate.analysis.runs import Runs
from ablate.core.provenance import Planned
from ablate.report.sections.differences import seed_pairs
from ablate.report.sections.runs import incidents


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_sequential_p_only_falls_and_is_the_union_bound(p):
    total = len(p) * (len(p) + 1) / 2
    found = [p_sequential(p[:taken], len(p)) for taken in range(1, len(p) + 1)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(min([1.0, *(x * total / k for k, x in enumerate(p, start=1))]))
    assert p_sequential([math.nan, *p[1:]], len(p)) >= found[-1]


BASE = np.array([0.5, 0.52, 0.48, 0.51, 0.5, 0.49, 0.53, 0.5, 0.47, 0.51, 0.52, 0.5])
NOISE = np.array([1.0, -2.0, 2.0, -1.0, 1.5, -1.0, 0.5, -1.0, 2.0, -2.0, 1.0, -1.5])
CLEAR, OPEN = BASE - 0.3 + 0.002 * NOISE, BASE + 0.05 * NOISE


def looked_at(taken=12, until=4, **options):
    """Looks at 4, 8 and 12 seeds; the clear variant was not trained beyond the first."""
    values = {"baseline": BASE, "clear": CLEAR, "open": OPEN}
    made = study({name: v[:taken] for name, v in values.items()}, **options)
    trials = made.trials
    if until is not None:
        trials = trials[(trials["variant"] != "clear") | (trials["seed"] < until)].reset_index(drop=True)
    stops = {} if until is None else {"clear": {"recall": until}}
    facts = dataclasses.replace(made.facts, provenance=Planned(stops, [4, 8, 12]))
    return dataclasses.replace(made, trials=trials, facts=facts)


def test_a_comparison_is_shown_on_the_seeds_of_the_look_that_settled_it():
    rows = compare(looked_at()).set_index("variant")
    clear, still = rows.loc["clear"], rows.loc["open"]
    assert (clear["verdict"], clear["n"], clear["look"]) == ("worse", 4, 1)
    assert (still["verdict"], still["n"], still["look"]) == ("inconclusive", 12, 3)
    p = stats.ttest_rel(CLEAR[:4], BASE[:4]).pvalue
    assert clear["p"] == pytest.approx(p / weights(3)[0])
    d = CLEAR[:4] - BASE[:4]
    half = stats.t.ppf(1 - 0.05 / 6 / 2 / 2, 3) * d.std(ddof=1) / 2
    assert (clear["ci_low"], clear["ci_high"]) == pytest.approx((d.mean() - half, d.mean() + half))


def test_seeds_beyond_the_look_change_nothing():
    """Whatever else has finished: the rows of settled variants are the same with the runs that others needed."""
    few, more = (compare(looked_at(until=until)).set_index("variant") for until in (4, None))
    assert few.loc["clear"].to_dict() == pytest.approx(more.loc["clear"].to_dict(), nan_ok=True)


def test_p_of_later_looks_is_the_smallest_so_far():
    row = compare(looked_at()).set_index("variant").loc["open"]
    p = [stats.ttest_rel(OPEN[:n], BASE[:n]).pvalue for n in (4, 8, 12)]
    assert row["p"] == pytest.approx(p_sequential(p, 3))


def test_a_claim_keeps_its_variants_in_training_until_it_is_decided():
    """The comparison of `clear` is settled, and its claim by 0.3 is not."""
    asked = [claim("does_not_lose", "clear", by=0.3)]
    assert ("clear", "recall") in unsettled(looked_at(4, until=None, claims=asked))
    row = judge_claims(looked_at(until=None, claims=[claim("beats", "baseline", "clear")])).iloc[0]
    assert (row["verdict"], row["n"]) == ("supported", 4)


def test_runs_of_seeds_that_a_variant_was_not_asked_for_are_not_its_own():
    """Neither missing, nor drawn, nor diverged where the baseline of such a seed diverged."""
    evidence = looked_at(statuses={("baseline", 10): "diverged"})
    assert [row["status"] for row in incidents(evidence)] == ["diverged"]
    drawn = seed_pairs(evidence, evidence.facts.tasks[0])
    assert drawn.groupby("variant").size().to_dict() == {"clear": 4, "open": 12}
    runs = Runs(evidence)
    sides = [[[runs.of(name, evidence.facts.tasks[0])]] for name in ("clear", "baseline")]
    assert Contrast.between(*sides, "accuracy").diverged == 0
