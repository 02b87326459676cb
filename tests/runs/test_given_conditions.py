"""The conditions of runs that exist: what is taken for one, and how a call takes them together."""

import re

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here
from scipy import stats

import ablate
from ablate.base.errors import Invalid
from ablate.core.over import Over
from ablate.records.folder import CONDITIONS, TRENDS, StudyFolder
from ablate.runs.looks import ledger

CALL = {"baseline": "dqn", "variant": "agent", "metric": "score", "direction": "max"}
WORDS = ["--baseline", "dqn", "--variant", "agent", "--metric", "score", "--direction", "max"]
BY_GAME = {"column": {"condition": "game"}}


@pytest.fixture(autouse=True)
def _no_earlier_calls(monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])


def games(num_games, num_seeds=5, *, own_seeds=False):
    """Returns the scores of three agents in games of other units, whose gains differ between games."""
    rng = np.random.default_rng(7)
    rows = []
    for place in range(num_games):
        human = float(np.round(10 ** rng.uniform(1, 4), 1))
        lift = rng.normal(1, 0.3)
        for agent, gain in (("dqn", 0.0), ("rainbow", 0.12), ("sparse", 0.25)):
            for seed in range(num_seeds):
                row = {"agent": agent, "game": f"g{place}", "seed": seed + place * num_seeds * own_seeds}
                score = human * (0.5 + gain * lift + rng.normal(0, 0.15))
                rows.append(row | {"score": score, "human": human, "size": 2**place})
    return pd.DataFrame(rows)


def facts(frame, **options):
    return ablate.analyse(frame, **{**CALL, **BY_GAME, **options}).evidence.facts


def refusal(frame, **options):
    with pytest.raises(Invalid) as caught:
        facts(frame, **options)
    return str(caught.value)


@pytest.mark.slow
def test_a_condition_is_a_task_under_another_word():
    frame = games(2)
    of_condition = facts(frame)
    of_task = facts(frame, column={"task": "game"})
    assert [task.name for task in of_condition.tasks] == [task.name for task in of_task.tasks] == ["g0", "g1"]
    assert of_condition.over == of_task.over == Over()


@pytest.mark.slow
def test_several_columns_make_one_condition():
    frame = games(2).assign(steps=lambda rows: np.where(rows["seed"] < 3, 10, 20))
    frame["seed"] %= 3
    frame = frame[(frame["steps"] == 10) | (frame["seed"] < 2)]
    tasks = facts(frame, column={"condition": ["game", "steps"]}).tasks
    assert [task.name for task in tasks][:2] == ["game=g0, steps=10", "game=g0, steps=20"]


@pytest.mark.slow
def test_what_the_call_says_of_conditions_is_in_the_facts():
    frame = games(8, own_seeds=True)
    human = frame.groupby("game", sort=False)["human"].first()
    over = facts(frame, over="mean", scale="human", independent_seeds=True).over
    assert over == Over("mean", scales=human.to_dict(), independent_seeds=True)
    over = facts(games(3), over="every", along="size").over
    assert over == Over("every", along="size", sizes={"g0": 1.0, "g1": 2.0, "g2": 4.0})
    assert facts(games(8), over="sample", floor=0, ceiling=10000).over == Over("sample")


def sentences(frame, **options):
    """Returns the sentences on conditions at the head of the report, after that on how the runs were read."""
    _, *cautions = facts(frame, **options).cautions
    return [caution for caution in cautions if "paired with" not in caution and "outright" not in caution]


@pytest.mark.slow
def test_the_head_of_the_report_says_what_was_taken_for_a_condition_and_what_was_declared():
    frame = games(8, own_seeds=True)
    human = frame["human"]
    conditions, scales, declared = sentences(frame, over="mean", scale="human", independent_seeds=True)
    assert (
        conditions
        == "Conditions are the 8 values of game, judged together by the mean over them (--over mean)"
    )
    assert (
        scales
        == f"Differences of a condition are divided by its value of human, {human.min():g} to {human.max():g}"
    )
    assert declared.startswith("--independent-seeds declares that the seeds of conditions are independent")
    two_columns = {"column": {"condition": ["game", "size"]}}
    conditions, order = sentences(games(3), over="mean", along="size", floor=0, ceiling=1e4, **two_columns)
    assert conditions.startswith("Conditions are the 3 combinations of game and size, ")
    assert order == "Conditions are in the order of size, 1 to 4"


@pytest.mark.slow
def test_many_conditions_that_could_be_judged_together_are_told_so_once():
    told = "The 6 values of game are judged one by one; --over mean judges them together"
    assert sentences(games(6)) == [told]
    assert sentences(games(6), over="each") == []
    assert sentences(games(4)) == []
    (unpaired, _) = sentences(games(6).drop(columns="seed"))
    assert unpaired.startswith("rainbow in 6 conditions: compared with dqn by Welch’s t")


@pytest.mark.slow
def test_pairs_in_many_conditions_have_one_sentence_a_variant():
    told = [caution for caution in facts(games(6)).cautions if "paired with" in caution]
    assert [re.sub("correlation .*", "", line) for line in told] == [
        "rainbow: paired with dqn by seed in 6 conditions (5 pairs each, ",
        "sparse: paired with dqn by seed in 6 conditions (5 pairs each, ",
    ]
    frame = games(6)
    lacks_one = (frame["agent"] == "rainbow") & (frame["game"] == "g3") & (frame["seed"] == 4)
    told = [caution for caution in facts(frame[~lacks_one]).cautions if "rainbow" in caution]
    assert told[0].startswith("rainbow on g3: paired with dqn by seed (4 pairs; it has no run of seed 4")
    assert told[1].startswith("rainbow: paired with dqn by seed in 5 conditions (5 pairs each, ")


REFUSED = {
    "few for a sample": (games(6), {"over": "sample"}, "--over sample: takes 8 conditions or more; given 6"),
    "one condition": (games(1), {"over": "mean"}, "takes 2 conditions or more; given 1. Name their column"),
    "two for a trend": (
        games(2),
        {"along": "size"},
        "--along: takes 3 conditions or more; given 2. Of two, claim",
    ),
    "no scale": (games(3), {"over": "mean", "scale": "humn"}, "has no column 'humn'.* Did you mean 'human'"),
    "scale of runs": (games(3), {"over": "mean", "scale": "score"}, "--scale: names a metric"),
    "range of runs": (
        games(3),
        {"over": "mean", "scale": "range"},
        "has no column 'range'",
    ),
    "scale for nothing": (
        games(3),
        {"scale": "human"},
        "--scale: divides differences before .*Add --over mean",
    ),
    "several scales": (
        games(3).assign(human=lambda rows: rows["human"] + rows["seed"]),
        {"over": "mean", "scale": "human"},
        "--scale: takes one number above 0 for each condition",
    ),
    "scale of 0": (
        games(3).assign(human=lambda rows: rows["human"].where(rows["game"] != "g1", 0)),
        {"over": "mean", "scale": "human"},
        "--scale: takes one number above 0 for each condition; given 'g1 has 0.0'",
    ),
    "equal sizes": (
        games(3).assign(size=lambda rows: rows["size"].clip(upper=2)),
        {"along": "size"},
        "--along: takes conditions of which no two have one number; given 'g1, g2'",
    ),
    "names as sizes": (games(3).assign(size="big"), {"along": "size"}, "--along: takes one number above 0"),
    "shared seeds": (
        games(8),
        {"over": "mean", "independent_seeds": True},
        "--independent-seeds: takes seeds with another number in each condition; given '0, 1, 2, 3, 4'",
    ),
    "few independent seeds": (
        games(8, 4, own_seeds=True),
        {"over": "sample", "independent_seeds": True},
        "--independent-seeds: takes 5 runs or more of the baseline in each condition; given 4",
    ),
    "independent for nothing": (
        games(3),
        {"independent_seeds": True},
        "--independent-seeds: is about the mean",
    ),
    "own seeds": (
        games(3, own_seeds=True),
        {"over": "mean"},
        "--over: takes 2 seeds or more that the baseline has in every condition; given 0. --independent-seeds states",
    ),
    "no seeds": (
        games(3).drop(columns="seed"),
        {"over": "mean"},
        "--over: takes runs with seeds that conditions share; these have none. --independent-seeds states",
    ),
    "no seeds for a trend": (
        games(3).drop(columns="seed"),
        {"along": "size"},
        "--along: takes runs with seeds",
    ),
    "all or nothing": (
        games(3),
        {"over": "mean", "all_or_nothing": 5, "floor": 0, "ceiling": 10},
        "--over: has no mean of runs that solve the task or do not. --over every judges them",
    ),
    "single models": (
        games(3).rename(columns={"seed": "example"}),
        {"over": "mean"},
        "--over: takes several runs of each variant; these are single runs, compared by their examples",
    ),
    "a name of tables": (
        games(3).replace("g1", "every"),
        {"over": "mean"},
        "RUNS: has conditions with names that tables use for all of them; given 'every'",
    ),
    "another form": (games(3), {"over": "any"}, "over: must be one of these; given 'any'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_conditions_do_not_allow_is_refused(case):
    frame, options, words = REFUSED[case]
    assert re.search(words, refusal(frame, **options))


@pytest.mark.slow
def test_every_one_is_judged_where_no_mean_describes_the_runs():
    rates = facts(games(3), over="every", all_or_nothing=5, floor=0, ceiling=10)
    assert rates.over == Over("every")
    assert facts(games(3).rename(columns={"seed": "example"}), over="every").over == Over("every")


def summaries(num_runs=5):
    table = games(3).groupby(["agent", "game"])["score"].agg(["mean", "std"]).reset_index()
    return table.rename(columns={"mean": "score_mean", "std": "score_std"}).assign(n=num_runs)


@pytest.mark.slow
def test_means_with_deviations_are_taken_together_where_the_call_declares_independence():
    assert facts(summaries(), over="mean", independent_seeds=True).over == Over(
        "mean", independent_seeds=True
    )
    assert "takes runs with seeds; means and deviations have none. --independent-seeds" in refusal(
        summaries(), over="mean"
    )
    assert "takes 5 runs or more" in refusal(summaries(4), over="mean", independent_seeds=True)
    assert facts(summaries(), over="every").over == Over("every")


@pytest.mark.slow
def test_another_form_is_another_look_at_the_same_runs():
    facts(games(3))
    assert facts(games(3), over="each").earlier_calls.looks == []
    calls = facts(games(3), over="mean").earlier_calls
    assert [look.differs for look in calls.looks] == [["over=none"]]
    assert calls.level == pytest.approx(0.10)


@pytest.mark.slow
def test_a_trend_beside_the_same_verdicts_is_no_other_test_of_them():
    facts(games(3), over="mean")
    calls = facts(games(3), over="mean", along="size").earlier_calls
    assert [look.differs for look in calls.looks] == [["along=none"]]
    assert calls.level is None


@pytest.mark.slow
def test_the_command_line_takes_the_same(tmp_path):
    games(3).to_csv(tmp_path / "runs.csv", index=False)
    words = [*WORDS, "--column", "condition", "game,size"]
    refused = ablate_here("analyse", "runs.csv", *words, "--over", "sample", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--over sample: takes 8 conditions or more; given 3" in refused.stderr
    done = ablate_here("analyse", "runs.csv", *words, "--over", "mean", "--along", "size", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 × 5 seeds × 3 conditions" in done.stdout
    (row, _) = StudyFolder(tmp_path / "results", "runs").beside(CONDITIONS)
    assert (row["variant"], row["over"], row["conditions"]) == ("rainbow", "mean", "3")
    head = "Conditions are the 3 combinations of game and size, judged together by the mean over them (--over mean)"
    assert head in done.stdout
    assert head in (tmp_path / "results/runs/card.md").read_text()


@pytest.mark.slow
def test_a_variant_without_runs_in_a_condition_is_named():
    frame = games(5)
    frame = frame[(frame["agent"] != "rainbow") | (frame["game"] != "g3")]
    _, told = sentences(frame, over="mean")
    assert told.startswith(
        "rainbow has no runs that count in g3, so that it is not judged over all conditions"
    )
    _, told, *_ = sentences(frame, over="mean", baseline="rainbow")
    assert told.startswith("rainbow has no runs that count in g3")


LEVEL = 0.975
"""Of two comparisons."""


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
