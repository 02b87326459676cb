"""Settings that tuning cannot tell from the chosen one: which they are, and what must hold at them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_evidence import ACCURACY, claim, study
from scipy import stats

from ablate.analysis.claims import judge_claims, judged_claims
from ablate.analysis.compare import compare
from ablate.analysis.family import planned_pairs
from ablate.analysis.further_runs import depends_on_tuning, unsettled
from ablate.analysis.prospects import Terms, outlook
from ablate.analysis.runner_ups import runner_ups
from ablate.analysis.runs import runs_of
from ablate.analysis.search_table import (
    Objective,
    Parameter,
    SearchFacts,
    SettingRow,
    TriedSetting,
    searches_tabulated,
)
from ablate.core.facts import Less
from ablate.core.metric import Metric

# Rivals of the baseline by hand. Its residuals are ±0.01/0.01/0.02 as below, those of `a` are 0:
# s² = (6·0.01²/9·…) is computed from them in the test; k = 3, L = 4 and 3.
SCORES = {
    "baseline": [[0.90, 0.92, 0.91], [0.89, 0.90, 0.91], [0.86, 0.88, 0.87], [0.40, 0.42, 0.41]],
    "a": [[0.80, 0.82, 0.81], [0.70, 0.72, 0.71], [0.60, 0.62, 0.61]],
}


def table(scores=SCORES, losses=None, diverged=(), objective=None):
    """A grid of learning rates 1, 2, …; `diverged`: variant and setting of which a seed did."""
    objective = objective or Objective("accuracy", "max", "validation", 0.1)
    searches = []
    for variant, found in scores.items():
        search = []
        for i, values in enumerate(found):
            row = SettingRow(variant, "recall", i, "completed", seeds=len(values), values=values)
            ties = [(losses or {}).get((variant, i), 1.0)] * len(values)
            row = replace(row, diverged=int((variant, i) in diverged), ties=ties)
            search.append(TriedSetting(row, {"lr": i + 1}, {objective.name: float(np.mean(values))}))
        searches.append(search)
    lr = Parameter("lr", "int", 1, 9)
    return searches_tabulated(SearchFacts([lr], [objective], "grid", "none", 4, [0, 1, 2], 4), searches)


def test_rivals_are_within_twice_the_noise_of_the_mean_of_k_seeds():
    # Row means 0.91, 0.90, 0.87, 0.41, column means 0.7625, 0.78, 0.775, in all 0.7725: the residuals of the second row
    # are 0, −0.0075, 0.0075, those of the others 0, 0.0025, −0.0025; Σ² = 2·0.0075² + 6·0.0025² = 1.5e-4, over 2·3 +
    # 2·2 = 10.
    near = 2 * np.sqrt(1.5e-4 / 10) * np.sqrt(2 / 3)
    assert near == pytest.approx(0.006325, abs=1e-6)
    assert runner_ups(table(), "recall") == {"baseline": [], "a": []}
    shifted = {**SCORES, "baseline": [SCORES["baseline"][0], [0.896, 0.906, 0.916], *SCORES["baseline"][2:]]}
    assert runner_ups(table(shifted), "recall")["baseline"] == [1], "0.004 below"
    assert runner_ups(table(shifted, diverged=[("baseline", 1)]), "recall")["baseline"] == []
    less = {name: [[-v for v in row] for row in rows] for name, rows in shifted.items()}
    loss = Objective("loss", "min", "validation")
    assert runner_ups(table(less, objective=loss), "recall")["baseline"] == [1]


def test_at_most_three_best_first_and_a_tie_goes_to_the_lower_loss():
    flat = {"baseline": [[0.5, 0.6, 0.7]] * 5, "a": [[0.2, 0.2, 0.2]]}
    found = table(flat, losses={("baseline", i): 1.0 - i / 10 for i in range(5)})
    assert found.best("baseline", "recall") == [4]
    assert runner_ups(found, "recall") == {"baseline": [3, 2, 1], "a": []}
    assert table(flat).best("baseline", "recall") == [0]
    # By one seed, whatever the mean.
    one = table({"baseline": [[0.9, 0.1, 0.1], [0.5, 0.6, 0.7]]})
    assert [one.best("baseline", "recall", 1, seed) for seed in (0, 1)] == [[0], [1]]


N = 8
BASE = 0.5 + 0.02 * np.sin(np.arange(N))
SHAKEN = 0.02 * np.cos(3 * np.arange(N))
FINE = Metric("max", resolution=1e-6, floor=0.1, ceiling=1.0)


def judged(values, runner_ups, *, metric=FINE, statuses=None, **options):
    """`rivals`: variant → rival → its values, or none where it did not run."""
    names = {
        variant: {f"{variant} at {key}": of for key, of in each.items()}
        for variant, each in runner_ups.items()
    }
    every = {name: of for each in names.values() for name, of in each.items() if of is not None}
    made = study(values, metrics={"accuracy": metric}, **options)
    others = study({**values, **every}, metrics={"accuracy": metric}, statuses=statuses)
    frame = others.trials[others.trials["variant"].isin(every)].reset_index(drop=True)
    variants = [replace(v, rivals={"recall": [*names.get(v.name, ())]}) for v in made.facts.variants]
    return replace(made, facts=replace(made.facts, variants=variants), frames={"rivals": frame})


def t(differences, side):
    found = stats.ttest_1samp(differences, 0.0, alternative=side)
    return found.pvalue


def test_above_rests_on_the_settings_of_the_baseline_and_below_on_those_of_the_variant():
    a, b2, a2 = BASE + 0.05 + SHAKEN / 4, BASE + 0.03 - SHAKEN, BASE + SHAKEN
    row = compare(judged({"baseline": BASE, "a": a}, {"baseline": {"2": b2}, "a": {"2": a2}})).iloc[0]
    above = max(t(a - BASE, "greater"), t(a - b2, "greater"))
    below = max(t(a - BASE, "less"), t(a2 - BASE, "less"))
    assert row["p"] == pytest.approx(2 * min(above, below))
    assert row["diff"] == pytest.approx(0.05 + SHAKEN.mean() / 4)
    ends = [stats.t.interval(0.95, N - 1, d.mean(), stats.sem(d)) for d in (a - BASE, a - b2, a2 - BASE)]
    # What bears on one end alone leaves the other: the interval says what the verdict says.
    main, of_baseline, of_variant = ends
    assert row["ci_low"] == pytest.approx(min(main[0], of_baseline[0]))
    assert row["ci_high"] == pytest.approx(max(main[1], of_variant[1]))
    # The smallest detectable difference is at least that of the baseline's setting that varies most.
    alone = compare(judged({"baseline": b2, "a": a}, {})).iloc[0]
    assert row["mde"] == pytest.approx(alone["mde"])
    assert row["settings"] == "also a at 2"
    evidence = judged({"baseline": BASE, "a": a}, {"baseline": {"2": b2}})
    planned = outlook(
        evidence.facts.tasks[0], "accuracy", planned_pairs(evidence.facts), evidence, Terms(N, 0.05)
    )
    assert planned.prospects[0].detectable == pytest.approx(alone["mde"])


@pytest.mark.parametrize(
    ("shift", "verdict", "asked"), [(0.05, "better", set()), (-0.05, "worse", {("a", "recall")})]
)
def test_what_another_side_would_lose_rests_on_settings_of_its_own(shift, verdict, asked):
    values = {"baseline": BASE, "a": BASE + shift + SHAKEN / 10}
    near, far = values["baseline"] + SHAKEN / 20, BASE + shift * 1.5 * (1 if shift > 0 else 0)
    waiting = judged(values, {"baseline": {"2": near}, "a": {"2": None}})
    row = compare(waiting).iloc[0]
    assert (row["verdict"], row["reason"].split(" ")[0]) == (
        ("better", "") if shift > 0 else ("inconclusive", "incomplete")
    )
    assert depends_on_tuning(waiting) - {("baseline", "recall")} == asked
    agreed = compare(judged(values, {"baseline": {"2": near}, "a": {"2": values["a"] + SHAKEN / 20}})).iloc[0]
    assert agreed["verdict"] == verdict
    against = judged(values, {"baseline": {"2": far}, "a": {"2": BASE + SHAKEN / 20}})
    row = compare(against).iloc[0]
    assert (row["verdict"], row["reason"]) == ("inconclusive", "rivals")


def test_likeness_rests_on_both_sides_and_a_claim_between_variants_on_theirs():
    values = {"baseline": BASE, "a": BASE + SHAKEN / 20, "b": BASE + 0.05 + SHAKEN / 10}
    runner_ups = {name: {"2": None} for name in values}
    claims = [
        claim("matches", "a", "baseline", 0.02),
        claim("beats", "b", "a"),
        claim("does_not_lose", "a", "b", 0.02),
    ]
    found = judged(values, runner_ups, margin=0.02, claims=claims)
    assert depends_on_tuning(found) == {("baseline", "recall"), ("a", "recall")}
    assert set(judge_claims(found)["reason"].str.split(" ").str[0]) == {"incomplete"}
    trained = {name: {"2": values[name] + SHAKEN / 30} for name in values}
    assert list(judge_claims(judged(values, trained, margin=0.02, claims=claims))["verdict"]) == [
        *("supported", "supported", "refuted"),
    ]
    assert compare(judged(values, trained, margin=0.02)).iloc[0]["verdict"] == "equivalent"


def test_all_combinations_of_the_sides_of_an_interaction():
    rng = np.random.default_rng(2)
    values = {name: 0.5 + 0.01 * rng.normal(size=N) for name in ("baseline", "a", "b", "c")}
    runner_ups = {name: {"2": 0.5 + 0.02 * rng.normal(size=N)} for name in values}
    more = replace(claim("interaction", "a", "b"), less=Less(["c"], ["baseline"], "accuracy"))
    metric = Metric("max", resolution=1e-6)
    row = judge_claims(judged(values, runner_ups, metric=metric, claims=[more])).iloc[0]
    sides = {name: [values[name], runner_ups[name]["2"]] for name in values}
    below = [(values["a"] - b) - (c - values["baseline"]) for b in sides["b"] for c in sides["c"]]
    above = [(a - values["b"]) - (values["c"] - d) for a in sides["a"] for d in sides["baseline"]]
    m = 3 + 1
    lower, upper = (
        [stats.t.interval(1 - 0.05 / m, N - 1, d.mean(), stats.sem(d))[end] for d in every]
        for end, every in enumerate((below, above))
    )
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((min(lower), max(upper)))
    assert row["diff"] == pytest.approx(below[0].mean())


def test_a_rival_that_diverged_counts_with_the_floor_and_without_one_settles_nothing():
    values = {"baseline": BASE + 0.05, "a": BASE + SHAKEN / 10}
    runner_ups, lost = {"a": {"2": values["a"] + SHAKEN / 20}}, {("a at 2", 3): "diverged"}
    row = compare(judged(values, runner_ups, statuses=lost)).iloc[0]
    floored = np.where(np.arange(N) == 3, 0.1, runner_ups["a"]["2"])
    assert row["p"] == pytest.approx(2 * t(floored - values["baseline"], "less"))
    bare = compare(judged(values, runner_ups, statuses=lost, metric=Metric("max", resolution=1e-6))).iloc[0]
    assert (bare["verdict"], bare["reason"].split(" ")[0]) == ("inconclusive", "unstable")
    failed = compare(judged(values, runner_ups, statuses={("a at 2", 3): "failed"})).iloc[0]
    assert (failed["verdict"], failed["reason"].split(" ")[0]) == ("inconclusive", "incomplete")


def test_no_seed_makes_a_failed_run_of_a_runner_up_good():
    values = {"baseline": BASE + 0.05, "a": BASE + SHAKEN / 10}
    runner_ups = {"a": {"2": values["a"] + SHAKEN / 20}}
    lost = {("a at 2", 3): "failed"}
    assert unsettled(judged(values, runner_ups, statuses=lost)) == set()
    beats = [claim("beats", "baseline", "a")]
    (judged_claim,) = judged_claims(runs_of(judged(values, runner_ups, statuses=lost, claims=beats)))
    assert (judged_claim.settled, judged_claim.open) == (False, False)


def test_rates_too_take_the_largest_p():
    solving = {"baseline": [0.95] * N, "a": [0.3] * 6 + [0.95] * 2}
    found = judged(solving, {"a": {"2": [0.95] * N}}, metric=ACCURACY, outcome="all_or_nothing")
    row = compare(found).iloc[0]
    assert (row["verdict"], row["reason"], row["only_baseline"]) == ("inconclusive", "rivals", 6)
    assert pd.isna(row["ci_low"])
