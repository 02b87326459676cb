"""The numbers of runs that exist over their conditions, against scipy and the formulas."""

import numpy as np
import pandas as pd
import pytest
from games import BY_GAME, CALL, WORDS, games, refusal, summaries
from harness import ablate_here
from scipy import stats

import ablate
from ablate.records.folder import TRENDS, StudyFolder
from ablate.runs.looks import ledger

LEVEL = 0.975
"""Of two comparisons."""


@pytest.fixture(autouse=True)
def _no_earlier_calls(monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])


def judged(frame, **options):
    """Returns the row over conditions of each variant."""
    comparisons = ablate.analyse(frame, **{**CALL, **BY_GAME, **options}).comparisons
    planned = comparisons[~comparisons["exploratory"].astype(bool)]
    assert {*planned["task"]} == {options["over"]}
    return planned.set_index("variant")


def by_seed(frame, variant="rainbow", *, scale=None):
    """Returns the differences of a variant from the baseline, a row a seed, a column a condition."""
    score = frame["score"] if scale is None else frame["score"] / frame[scale]
    table = frame.assign(score=score).pivot_table(
        index="seed", columns=["agent", "game"], values="score", sort=False
    )
    return table[variant] - table["dqn"]


def agrees(row, result):
    """Asserts that a row has the numbers of a t-test of scipy."""
    assert row["p"] == pytest.approx(result.pvalue, rel=1e-9)
    assert row["level"] == LEVEL
    interval = result.confidence_interval(LEVEL)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx([*interval], rel=1e-9)


def test_the_mean_over_games_is_that_of_scipy_on_the_means_of_seeds():
    frame = games(26)
    rows = judged(frame, over="mean", scale="human")
    for variant in ("rainbow", "sparse"):
        means = by_seed(frame, variant, scale="human").mean(axis=1)
        agrees(rows.loc[variant], stats.ttest_1samp(means, 0))
        assert rows.loc[variant, "diff"] == pytest.approx(means.mean(), rel=1e-9)
        assert rows.loc[variant, "n"] == 5
    assert rows["verdict"].tolist() == ["better", "better"]


@pytest.mark.slow
def test_the_mean_over_games_of_independent_seeds_is_that_of_satterthwaite():
    frame = games(8, own_seeds=True)
    row = judged(frame, over="mean", scale="human", independent_seeds=True).loc["rainbow"]
    differences = by_seed(frame, scale="human")
    parts = differences.var() / differences.count() / 8**2
    df = parts.sum() ** 2 / (parts**2 / (differences.count() - 1)).sum()
    t = differences.mean().mean() / np.sqrt(parts.sum())
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)


def test_the_mean_of_means_with_deviations_is_that_of_satterthwaite():
    table = summaries()
    row = judged(table, over="mean", independent_seeds=True).loc["rainbow"]
    sides = table[table["agent"].isin(["rainbow", "dqn"])]
    parts = sides["score_std"] ** 2 / 5 / 3**2
    df = parts.sum() ** 2 / (parts**2 / 4).sum()
    means = sides.groupby("agent")["score_mean"].mean()
    t = (means["rainbow"] - means["dqn"]) / np.sqrt(parts.sum())
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)


@pytest.mark.slow
def test_a_sample_of_games_with_independent_seeds_is_that_of_scipy_on_the_means_of_games():
    frame = games(26, own_seeds=True)
    row = judged(frame, over="sample", scale="human", independent_seeds=True).loc["sparse"]
    agrees(row, stats.ttest_1samp(by_seed(frame, "sparse", scale="human").mean(), 0))
    assert row["n"] == 26


@pytest.mark.slow
def test_a_sample_of_games_with_shared_seeds_takes_seeds_for_random_too():
    frame = games(26)
    luck = frame["seed"].map(np.random.default_rng(2).normal(0, 0.1, 5).__getitem__)
    frame["score"] += frame["human"] * luck * (frame["agent"] == "rainbow")
    row = judged(frame, over="sample", scale="human").loc["rainbow"]
    d = by_seed(frame, scale="human").to_numpy().T  # Games as rows, seeds as columns.
    of_games, of_seeds, grand = d.mean(1), d.mean(0), d.mean()
    rest = ((d - of_games[:, None] - of_seeds + grand) ** 2).sum() / (25 * 4)
    squares = 5 * of_games.var(ddof=1), 26 * of_seeds.var(ddof=1), rest
    assert squares[1] > rest
    variance = (squares[0] + squares[1] - rest) / d.size
    df = (d.size * variance) ** 2 / (squares[0] ** 2 / 25 + squares[1] ** 2 / 4 + rest**2 / (25 * 4))
    assert row["p"] == pytest.approx(2 * stats.t.sf(abs(grand / np.sqrt(variance)), df), rel=1e-9)


@pytest.mark.slow
def test_every_data_set_decides_by_the_largest_p():
    rng = np.random.default_rng(5)
    rows = []
    for place in range(35):
        for data in range(11):
            for seed in range(3):
                lift = 0.05 * (place % 3) * (place != 4 or data != 7)
                agent = f"m{place}" if place else "dqn"
                score = 0.6 + 0.02 * data + lift + rng.normal(0, 0.002)
                rows.append({"agent": agent, "game": f"d{data}", "seed": seed, "score": score})
    frame = pd.DataFrame(rows)
    judged_rows = judged(frame, over="every")
    assert len(judged_rows) == 34
    for variant in ("m1", "m4"):
        p_values = stats.ttest_1samp(by_seed(frame, variant), 0).pvalue
        assert judged_rows.loc[variant, "level"] == pytest.approx(1 - 0.05 / 34)
        if variant == "m1":
            assert judged_rows.loc[variant, "p"] == pytest.approx(max(p_values), rel=1e-9)
    assert judged_rows.loc["m4", "verdict"] == "inconclusive"


@pytest.mark.slow
def test_a_ladder_of_widths_has_the_trend_of_the_slopes_of_seeds(tmp_path):
    rng = np.random.default_rng(11)
    rows = []
    for width in (64, 128, 512):
        for agent, gain in (("dqn", 0.0), ("muon", 0.02)):
            for seed in range(6):
                score = 3 - 0.1 * np.log2(width) + gain * np.log2(width / 32) + rng.normal(0, 0.01)
                rows.append({"agent": agent, "game": width, "seed": seed, "score": score})
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "ladder.csv", index=False)
    words = [*WORDS, "--column", "condition", "game", "--over", "every", "--along", "game"]
    assert ablate_here("analyse", "ladder.csv", *words, cwd=tmp_path).returncode == 0
    (row,) = StudyFolder(tmp_path / "results", "ladder").beside(TRENDS)
    doublings = np.log2([64, 128, 512])
    slopes = [np.polyfit(doublings, of_seed, 1)[0] for of_seed in by_seed(frame, "muon").to_numpy()]
    expected = stats.ttest_1samp(slopes, 0)
    assert (row["along"], row["n"], row["level"]) == ("game", "6", "0.95")
    assert (float(row["diff"]), float(row["p"])) == pytest.approx(
        (np.mean(slopes), expected.pvalue), rel=1e-9
    )
    assert (float(row["ci_low"]), float(row["ci_high"])) == pytest.approx(
        [*expected.confidence_interval(0.95)], rel=1e-9
    )


@pytest.mark.slow
def test_claims_are_about_one_condition_two_of_them_or_a_trend():
    frame = games(3)
    two_columns = {"column": {"condition": ["game", "size"]}}
    claims = [
        "rainbow beats dqn on score at game=g1, size=2 by 5",
        "sparse beats dqn on score by more at game=g2, size=4 than at game=g0, size=1",
        "sparse gains on dqn on score along size",
        "sparse beats rainbow on score",
    ]
    results = ablate.analyse(
        frame, **CALL, **two_columns, over="mean", scale="human", along="size", claim=claims
    )
    rows = results.claims
    one = by_seed(frame)["g1"]
    assert rows["diff"][0] == pytest.approx(one.mean(), rel=1e-9)
    scaled = by_seed(frame, "sparse", scale="human")
    assert rows["diff"][1] == pytest.approx((scaled["g2"] - scaled["g0"]).mean(), rel=1e-9)
    slopes = [np.polyfit([0, 1, 2], of_seed, 1)[0] for of_seed in scaled.to_numpy()]
    assert rows["diff"][2] == pytest.approx(np.mean(slopes), rel=1e-9)
    apart = by_seed(frame, "sparse", scale="human") - by_seed(frame, "rainbow", scale="human")
    assert rows["diff"][3] == pytest.approx(apart.mean(axis=1).mean(), rel=1e-9)
    assert "unknown condition 'g9'" in refusal(frame, claim="sparse beats dqn on score at g9")
    assert "Write `along size`" in refusal(
        frame, along="size", claim="sparse gains on dqn on score along human"
    )
