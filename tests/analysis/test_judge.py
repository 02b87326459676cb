"""The judge on made evidence: what each kind of claim takes, and each code that keeps it open."""

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import ACCURACY, RATES, claim, crossed, study

from ablate.analysis.agreeing import IntersectionUnion
from ablate.analysis.claims import judge_claims
from ablate.analysis.compare import compare
from ablate.analysis.family import alpha_at, family_size, pairs
from ablate.analysis.further_runs import unsettled
from ablate.analysis.judge import judge, row
from ablate.analysis.looks import Look, looks_taken
from ablate.analysis.paired import Differences
from ablate.analysis.runs import Runs
from ablate.core.metric import Metric
from ablate.core.provenance import Planned
from ablate.core.reason import Block, Reason

RISE = np.array([0.50, 0.52, 0.51, 0.53, 0.50, 0.52, 0.51, 0.53])


def mean(values, floor=1e-3, blocks=()):
    """An estimate of the mean of differences."""
    return Differences(np.asarray(values, float), floor, blocks=blocks)


def code(text):
    """Of a reason in a table."""
    found = Reason.parse(text)
    return found.code if found else ""


def first(evidence, **where):
    """The first row of the comparisons."""
    rows = compare(evidence)
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.iloc[0]


# What each kind takes


@pytest.mark.parametrize(
    ("kind", "x", "slack", "supported", "refuted"),
    [
        ("beats", 0.0, 0.0, "above(0)", "below(0)"),
        ("beats", 0.1, 0.02, "above(0.12)", "below(0.08)"),
        ("matches", 0.1, 0.02, "max above(-0.1) below(0.1)", "min above(0.12) below(-0.12)"),
        ("does_not_lose", 0.1, 0.02, "above(-0.1)", "below(-0.12)"),
        ("matches", 0.02, 0.02, "never", "min above(0.04) below(-0.04)"),
        ("does_not_lose", 0.01, 0.02, "never", "below(-0.03)"),
    ],
)
def test_a_kind_takes_these_one_sided_tests(kind, x, slack, supported, refuted):
    one = mean(0.04 + 0.05 * np.sin(np.arange(9)))

    def p(words):
        if words == "never":
            return 1.0
        pick = {"max": max, "min": min}.get(words.split()[0], max)
        tests = [word.split("(") for word in words.split() if "(" in word]
        return min(1.0, 2 * pick(getattr(one, name)(float(at[:-1])) for name, at in tests))

    found = judge(one, kind, x, 0.05, slack)
    assert found.supported == pytest.approx(p(supported), rel=1e-12)
    assert found.refuted == pytest.approx(p(refuted), rel=1e-12)


def test_an_interaction_is_judged_as_beats_and_another_kind_decides_nothing():
    one = mean(0.04 + 0.05 * np.sin(np.arange(9)))
    assert judge(one, "interaction", 0.01) == judge(one, "beats", 0.01)
    with pytest.raises(AssertionError, match="beat"):
        judge(one, "beat", 0.05)


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 8])
@pytest.mark.parametrize("shift", [-0.09, -0.05, -0.02, 0.0, 0.02, 0.05, 0.09])
@pytest.mark.parametrize("spread", [0.01, 0.04, 0.1])
def test_the_interval_that_is_shown_says_everything(shift, spread, alpha):
    one, margin = mean(shift + spread * np.sin(np.arange(8))), 0.06
    low, high = one.interval(alpha)
    inside = "equivalent" if -margin < low and high < margin else None
    side = "better" if low > 0 else "worse" if high < 0 else "inconclusive"
    assert row(one, margin, alpha).verdict == (inside or side)
    assert judge(one, "beats", margin, alpha).outcome == (
        "supported" if low > margin else "refuted" if high < margin else "inconclusive"
    )
    lost = "supported" if low > -margin else "refuted" if high < -margin else "inconclusive"
    assert judge(one, "does_not_lose", margin, alpha).outcome == lost
    out = low > margin or high < -margin
    assert judge(one, "matches", margin, alpha).outcome == (
        "supported" if inside else "refuted" if out else "inconclusive"
    )


@pytest.mark.parametrize(
    ("wholly", "kind", "supported"), [(True, "beats", 1), (False, "beats", 0), (False, "matches", 1)]
)
def test_a_block_keeps_all_or_likeness_from_support(wholly, kind, supported):
    one = mean([0.1, 0.11, 0.1, 0.09], blocks=[Block(Reason("floor"), wholly)])
    found = judge(one, kind, 0.0 if kind == "beats" else 0.5)
    assert (found.supported == 1.0) == bool(supported)
    assert (found.reason or Reason("none")).code == ("floor" if supported else "none")


def test_all_that_estimate_the_same_must_agree():
    values = [0.1, 0.11, 0.1, 0.09]
    other = (Reason("rate", {"rate": 0.003}), mean([-0.1, 0.1, 0.0, 0.05]))
    one = IntersectionUnion(mean(values), [other], [other])
    assert judge(mean(values), "beats").outcome == "supported"
    found = judge(one, "beats")
    assert found.outcome == "inconclusive"
    assert found.reason == other[0]
    assert one.interval(0.05) == other[1].interval(0.05)
    assert one.mean == pytest.approx(0.1)


def test_what_turns_a_claim_is_further_from_deciding_it_than_what_leaves_it_open():
    opposite = (Reason("rate", {"rate": 0.01}), mean([-0.1, -0.11, -0.1, -0.09]))
    unclear = (Reason("rate", {"rate": 0.003}), mean([-0.1, 0.1, 0.0, 0.05]))
    others = [unclear, opposite, unclear]
    above = IntersectionUnion(mean([0.1, 0.11, 0.1, 0.09]), others, [])
    below = IntersectionUnion(mean([0.1, 0.11, 0.1, 0.09]), [], others)
    for kind, x in [("beats", 0.0), ("does_not_lose", 0.01), ("matches", 0.02)]:
        outcome = {"beats": "supported", "does_not_lose": "supported", "matches": "refuted"}[kind]
        assert judge(above.main, kind, x).outcome == outcome
        assert judge(above, kind, x).reason == opposite[0]
        assert judge(below, kind, x).outcome == outcome


def test_a_reason_survives_a_table():
    reason = Reason("ceiling", {"failures": 0.3123, "n": 8})
    assert str(reason) == "ceiling failures=0.3123 n=8"
    assert Reason.parse(str(reason)) == reason
    assert Reason.parse("") is None
    assert Reason.parse("8 seeds detect 0.012 with 80 % power") is None


# What blocks


@pytest.mark.parametrize(
    ("a", "b", "blocked"),
    [
        ([0.8401239876] * 5, [0.8312457391] * 5, True),  # full floats: their spread is 0, and their grid none
        ([0.8401] * 5, [0.8312] * 5, True),  # on a grid of 0.0001, of which one run of each knows no more
        ([0.6] * 3, [0.5] * 3, True),
        ([0.84, 0.85, 0.86, 0.87, 0.88], [0.8] * 5, False),
        (
            [0.85, 0.86, 0.87, 0.88, 0.89],
            [0.75, 0.76, 0.77, 0.78, 0.79],
            False,
        ),  # seeds act, and shift both alike
    ],
)
def test_seeds_that_change_neither_side_decide_nothing(a, b, blocked):
    claims = [claim("beats"), claim("does_not_lose", by=0.05)]
    evidence = study({"baseline": b, "a": a}, metrics={"accuracy": Metric("max")}, claims=claims)
    verdicts = [first(evidence).verdict, *judge_claims(evidence)["verdict"]]
    if blocked:
        assert verdicts == ["inconclusive"] * 3
        assert first(evidence).reason == "seedless"
    else:
        assert verdicts == ["better", "supported", "supported"]


def test_with_a_declared_resolution_equal_runs_are_judged_by_it():
    values = {"baseline": [0.5] * 5, "a": [0.6] * 5}
    assert first(study(values)).verdict == "better", "by steps of 0.001"


# The family


def test_a_family_is_what_was_planned_and_the_claims_that_are_none_of_it():
    metrics = {"accuracy": ACCURACY, "loss": Metric("min")}
    claims = [
        claim("beats"),
        claim("matches", "baseline", "a", 0.1),
        claim("beats", "a", "b"),
        claim("beats", metric="loss"),
        claim("beats", "b", "a", exploratory=True),
    ]
    values = {"baseline": RISE, "a": RISE + 0.1, "b": RISE, "placebo": RISE + 0.001}
    others = {"loss": dict.fromkeys(values, RISE)}
    evidence = study(values, metrics=metrics, claims=claims, placebos=["placebo"], others=others)
    facts = evidence.facts
    assert family_size(facts) == 3 + 2, "the placebo is a variant, and two claims are about rows"
    rows = compare(evidence)
    assert set(rows.loc[~rows["exploratory"], "metric"]) == {"accuracy"}
    assert set(rows.loc[~rows["exploratory"].astype(bool), "level"].round(12)) == {1 - 0.05 / 5}
    assert set(rows.loc[rows["exploratory"], "level"]) == {0.95}
    assert set(rows.loc[rows["exploratory"], "verdict"]) == {""}


def test_a_claim_over_several_tasks_counts():
    tasks = {"one": {"accuracy": ACCURACY}, "two": {"accuracy": ACCURACY}}
    evidence = study({"baseline": RISE, "a": RISE + 0.1}, tasks=tasks, claims=[claim("beats")])
    assert family_size(evidence.facts) == 3


def test_of_a_crossed_design_main_effects_are_planned():
    def value(levels, seed):
        return (
            0.5 + 0.1 * (levels["p"] == "b") + 0.01 * seed + 0.001 * ((seed * 7) % 3) * (levels["q"] == "y")
        )

    evidence = crossed({"p": ["a", "b"], "q": ["x", "y", "z"]}, value)
    planned = [pair for pair in pairs(evidence.facts) if pair.planned]
    assert [(pair.name, pair.against) for pair in planned] == [("p=b", "p=a"), ("q=y", "q=x"), ("q=z", "q=x")]
    assert [len(pair.a) for pair in planned] == [3, 2, 2]
    rows = compare(evidence)
    assert rows.iloc[0]["diff"] == pytest.approx(0.1)
    assert rows["exploratory"].tolist() == [False] * 3 + [True] * 5
    kept = crossed(
        {"p": ["a", "b"], "q": ["x", "y"]}, value, keep=lambda levels: levels != {"p": "b", "q": "y"}
    )
    assert [pair.a for pair in pairs(kept.facts) if pair.planned] == [("p=b",), ("q=y",)]
    assert [pair.b for pair in pairs(kept.facts) if pair.planned] == [("baseline",), ("baseline",)]


# Looks


def seeds_until(values, least=4, **options):
    """A study whose seeds were added until it was settled."""
    evidence = study(values, **options)
    most = len(evidence.facts.seeds)
    return replace(
        evidence, facts=replace(evidence.facts, provenance=Planned(looks=list(range(least, most + 1, least))))
    )


def test_a_look_has_its_share_and_freezes_what_it_decides():
    wide = np.array([0.1, 0.11, 0.09, 0.1, *[-0.3, 0.3, -0.3, 0.35]])
    evidence = seeds_until(
        {"baseline": RISE, "a": RISE + wide, "b": RISE + wide[::-1]}, claims=[claim("beats")]
    )
    found = compare(evidence).set_index("variant")
    assert (found.loc["a", "verdict"], found.loc["a", "look"], found.loc["a", "n"]) == ("better", 1, 4)
    assert found.loc["a", "level"] == pytest.approx(1 - 0.05 / 3 / 2)
    assert (found.loc["b", "verdict"], found.loc["b", "look"], found.loc["b", "n"]) == ("inconclusive", 2, 8)
    assert found.loc["b", "level"] == pytest.approx(1 - 0.05 * 2 / 3 / 2)
    (claimed,) = judge_claims(evidence).to_dict("records")
    assert (claimed["verdict"], claimed["n"]) == ("supported", 4)
    assert unsettled(evidence) == {("baseline", "recall"), ("b", "recall")}


def test_only_what_is_incomplete_is_not_waited_for():
    values = {"baseline": RISE, "a": RISE, "b": RISE}
    evidence = seeds_until(values, statuses={("b", 1): "failed"})
    assert code(compare(evidence).set_index("variant").loc["a", "reason"]) == "degenerate"
    assert unsettled(evidence) == {("baseline", "recall"), ("a", "recall")}


def test_a_fixed_number_of_seeds_is_one_look():
    runs = Runs(study({"baseline": RISE, "a": RISE}))
    assert looks_taken(runs.facts) == [Look(1, 1, 8)]
    assert alpha_at(runs, looks_taken(runs.facts)[0]) == 0.05


# Rates and derived metrics


def rates(only, n=8, *, both=0, margin=0.1, **options):
    """A study on which so many seeds are solved by one side alone, so many by both."""
    a, b = np.full(n, 0.2), np.full(n, 0.2)
    a[: only[0]] = 0.95
    b[only[0] : sum(only)] = 0.95
    a[sum(only) : sum(only) + both] = b[sum(only) : sum(only) + both] = 0.95
    return study({"baseline": b, "a": a}, outcome="all_or_nothing", margin=margin, **options)


def test_rates_are_alike_when_few_fail_alone():
    alike = rates((0, 0), 60, both=40, margin=0.2)
    assert first(alike).verdict == "inconclusive"
    assert first(rates((0, 0), 60, both=40, margin=0.2)).reason.startswith("degenerate")
    jitter = replace(
        alike, trials=alike.trials.assign(accuracy=alike.trials["accuracy"] + 1e-3 * (alike.trials.index % 7))
    )
    assert first(jitter).verdict == "equivalent", "(1 − 0.2/1.8)^60 is below 0.025"
    assert first(replace(jitter, facts=replace(jitter.facts, margin=0.1))).verdict == "inconclusive"


def test_a_claim_of_a_size_takes_rate_and_mean():
    beats = [claim("beats", by=0.2), claim("beats", by=0.8)]
    found = judge_claims(rates((10, 0), 12, both=2, claims=beats)).set_index("claim")["verdict"]
    assert found.tolist() == ["supported", "inconclusive"]


@pytest.mark.parametrize(
    ("shape", "factor", "verdict"), [("normal", 5.0, "supported"), ("normal", 1.0, "inconclusive")]
)
def test_spreads_are_paired_distances_from_the_median(shape, factor, verdict):
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(2, 20)) / 100
    values = {"baseline": 0.5 + factor * noise[0], "a": 0.5 + noise[1]}
    evidence = study(values, claims=[claim("beats", metric="seed_spread")])
    assert judge_claims(evidence)["verdict"].tolist() == [verdict]
    few = study({name: of[:5] for name, of in values.items()}, claims=evidence.facts.claims)
    assert code(judge_claims(few)["reason"][0]) == "few"
    lost = study(values, claims=evidence.facts.claims, statuses={("a", 0): "diverged"})
    assert code(judge_claims(lost)["reason"][0]) == "unstable"


def test_a_spread_of_runs_in_groups_is_not_judged():
    """Half of the baseline's runs did not learn: a gap of more than a quarter of the range."""
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(2, 20)) / 100
    values = {"baseline": np.where(np.arange(20) % 3, 0.9, 0.4) + noise[0], "a": 0.9 + noise[1]}
    claims = [claim(kind, metric="seed_spread", by=by) for kind, by in (("beats", 0), ("does_not_lose", 0.1))]
    rows = judge_claims(study(values, claims=claims))
    assert rows["verdict"].tolist() == ["inconclusive", "inconclusive"]
    assert rows["reason"].map(code).tolist() == ["groups", "groups"]
    near = {name: 0.9 + (of - of.mean()) / 5 for name, of in values.items()}
    assert judge_claims(study(near, claims=claims))["verdict"].tolist() == ["supported", "supported"]


GRID = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def sensitive(a, b, rates=GRID, **options):
    """A study on a grid of learning rates; losses by seed and rate."""
    values = {"baseline": RISE, "a": RISE + 0.001}
    claims = [claim("beats", metric="lr_sensitivity")]
    return study(values, stress={"baseline": b, "a": a}, rates=rates, claims=claims, **options)


def test_sensitivity_holds_whichever_rate_is_left_out():
    rng = np.random.default_rng(0)
    flat = 0.5 + rng.normal(0, 0.01, (8, 5))
    steep = flat + np.array([0.3, 0.2, 0.0, 0.2, 0.3])
    assert judge_claims(sensitive(flat, steep))["verdict"].tolist() == ["supported"]
    cliff = flat + np.array([0.0, 0.0, 0.0, 0.0, 0.5])
    found = judge_claims(sensitive(flat, cliff)).iloc[0]
    assert found["verdict"] == "inconclusive"
    assert Reason.parse(found["reason"]) == Reason("rate", {"rate": 0.03})
    assert found["ci_low"] < 0 < found["diff"]
    assert code(judge_claims(sensitive(flat[:, :3], steep[:, :3], RATES)).iloc[0]["reason"]) == "few"
    nothing = np.full((8, 5), np.inf)
    assert code(judge_claims(sensitive(nothing, steep)).iloc[0]["reason"]) == "untrained"
