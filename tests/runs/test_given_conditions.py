"""The conditions of runs that exist: what is taken for one, and how a call takes them together."""

import re

import numpy as np
import pytest
from games import WORDS, facts, games, refusal, summaries
from harness import ablate_here

from ablate.core.over import Over
from ablate.records.folder import CONDITIONS, StudyFolder
from ablate.runs.looks import ledger


@pytest.fixture(autouse=True)
def _no_earlier_calls(monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])


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


@pytest.mark.fast_cases(8)
@pytest.mark.parametrize("case", REFUSED)
def test_what_conditions_do_not_allow_is_refused(case):
    frame, options, words = REFUSED[case]
    assert re.search(words, refusal(frame, **options))


@pytest.mark.slow
def test_every_one_is_judged_where_no_mean_describes_the_runs():
    rates = facts(games(3), over="every", all_or_nothing=5, floor=0, ceiling=10)
    assert rates.over == Over("every")
    assert facts(games(3).rename(columns={"seed": "example"}), over="every").over == Over("every")


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
