"""What is likely a slip in a table of runs, or in its call, is named beside the verdicts, and nothing else is."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here

SEEDS = 8


def table(decimals: int = 4, **columns: object) -> pd.DataFrame:
    random = np.random.default_rng(3)
    values = np.r_[0.80 + random.normal(0, 0.01, SEEDS), 0.83 + random.normal(0, 0.01, SEEDS)]
    runs = {
        "variant": np.repeat(["base", "new"], SEEDS),
        "seed": [*range(SEEDS)] * 2,
        "acc": values.round(decimals),
    }
    return pd.DataFrame(runs | columns)


def said(folder, runs, *words, metric="acc"):
    runs.to_csv(folder / "runs.csv", index=False)
    call = ("--baseline", "base", "--metric", metric, "--direction", "max", *words)
    done = ablate_here("analyse", "runs.csv", *call, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    assert row["verdict"] in ("better", "equivalent", "inconclusive")
    assert (folder / "results/runs/report.md").is_file()
    return " ".join(done.stderr.split())


def test_nothing_is_said_of_a_plain_table(tmp_path):
    text = said(tmp_path, table(), "--margin", "0.02")
    shape = "Read as a table: 16 runs, 2 × 8 seeds "
    assert text.startswith(shape)
    paired = r"new: paired with base by seed \(8 pairs, correlation [^)]+\) On 8 runs of each"
    assert re.match(paired, text.removeprefix(shape))


def in_percent(runs, of):
    return runs.assign(acc=runs["acc"].where(~of, 100 * runs["acc"]).round(4))


@pytest.mark.parametrize("seeds", [range(SEEDS), [3]])
def test_percent_beside_fractions(tmp_path, seeds):
    runs = table()
    runs = in_percent(runs, (runs["variant"] == "new") & runs["seed"].isin(seeds))
    assert "look like percent" in said(tmp_path, runs)


@pytest.mark.slow
def test_percent_throughout_are_one_scale(tmp_path):
    runs = table()
    assert "percent" not in said(tmp_path, in_percent(runs, runs["seed"] >= 0))


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("mark", [-1, 999, -9999])
def test_a_mark_of_a_missing_value_among_the_values(tmp_path, mark):
    runs = table()
    runs["acc"] = runs["acc"].where(runs.index != SEEDS + 2, mark)
    assert "missing" in said(tmp_path, runs)


def test_minus_one_is_a_value_among_others_like_it(tmp_path):
    runs = table()
    runs["acc"] = (runs["acc"] * 100 - 82).round(2)
    runs.loc[2, "acc"] = -1
    assert "missing" not in said(tmp_path, runs)


@pytest.mark.slow
def test_a_margin_in_another_unit(tmp_path):
    told = said(tmp_path, table(), "--margin", "0.5")
    assert "The margin 0.5 is 50 % of the metric’s range" in told
    assert "If 0.5 points were meant, it is 0.005." in told
    assert "points were meant" not in said(tmp_path, table(), "--margin", "0.005")


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("metric", "is_named"),
    [
        ("best_test_acc", True),
        ("maxAccuracy", True),
        ("acc_best", True),
        ("val/acc.max", True),
        ("top_acc", True),
        ("top_1_acc", False),
        ("latency_max", False),
        ("acc_at_best", False),
        ("test_acc", False),
    ],
)
def test_the_best_of_each_run(tmp_path, metric, is_named):
    text = said(tmp_path, table().rename(columns={"acc": metric}), metric=metric)
    assert ("best value of each run" in text) == is_named


def test_what_differs_beside_the_variant(tmp_path):
    runs = table(
        gpu=np.repeat(["V100", "A100"], SEEDS), lr=np.repeat([0.01, 0.001], SEEDS), kind=["a"] * 2 * SEEDS
    )
    text = said(tmp_path, runs)
    assert "gpu (A100 against V100) and lr (0.001 against 0.01)" in text
    assert "kind" not in text


def test_a_setting_that_is_the_variant_differs_in_nothing_else(tmp_path):
    runs = table(arch=np.repeat(["Base", "New"], SEEDS), host=np.repeat(["a1", "b2"], SEEDS))
    assert "Variants differ" not in said(tmp_path, runs)


@pytest.mark.slow
def test_runs_that_a_condition_leaves_out_by_their_status(tmp_path):
    runs = table(status="finished")
    is_lost = (runs["variant"] == "new") & runs["seed"].isin([1, 4])
    runs.loc[is_lost, ["status", "acc"]] = ["diverged", np.nan]
    text = said(tmp_path, runs, "--where", "status=finished")
    assert "2 runs without a result left out by --where" in text
    assert "no run of seeds 1 and 4" in text


def test_rows_that_are_not_there(tmp_path):
    runs = table().drop(index=[SEEDS + 1])
    assert "7 pairs; it has no run of seed 1," in said(tmp_path, runs)


@pytest.mark.slow
def test_runs_under_the_names_of_other_seeds(tmp_path):
    few = table()
    few = few[few["seed"] < 3]
    copies = [few.assign(seed=few["seed"] + 3 * i) for i in range(3)]
    assert "The same numbers: base seed" in said(tmp_path, pd.concat(copies))
    assert "The same numbers" not in said(tmp_path, table(decimals=2))


@pytest.mark.slow
def test_a_floor_that_is_better_than_runs_of_the_baseline(tmp_path):
    runs = table(status="completed")
    runs.loc[SEEDS + 2, ["status", "acc"]] = ["diverged", np.nan]
    told = "The floor {} is better than {} of 8 runs of base that completed"
    floor = sorted(runs["acc"][:SEEDS])[2] - 1e-4
    for given, num_worse in ((floor, 2), (0.1, 0)):
        text = said(tmp_path, runs, "--floor", f"{given:.6g}", "--name", "runs")
        assert (told.format(f"{given:.6g}", num_worse) in text) == (num_worse > 0)
        assert f"1 run diverged, and so counted with the floor {given:.6g}: new seed 2" in text
        (tmp_path / "results/store/analyses.jsonl").unlink()


def test_a_resolution_below_the_step_of_all_values(tmp_path):
    told = "All 16 values of acc lie on steps of 0.010, which --resolution 0.0001 is below"
    assert told in said(tmp_path, table(decimals=2), "--resolution", "0.0001")


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(("decimals", "resolution"), [(2, "0.01"), (2, "0.02"), (12, "0.0001")])
def test_a_resolution_that_values_bear_out(tmp_path, decimals, resolution):
    assert "lie on steps" not in said(tmp_path, table(decimals=decimals), "--resolution", resolution)


@pytest.mark.slow
def test_a_condition_on_the_judged_metric_and_on_one_side(tmp_path):
    runs = table()
    worst = runs["acc"].min() + 1e-9
    text = said(tmp_path, runs, "--where", f"not (variant == 'base' and acc < {worst})")
    text += said(tmp_path, runs, "--where", f"acc > {worst}")
    assert (
        text.count("chooses runs by acc, the judged number: of what it leaves, no error rate is known") == 2
    )
    assert "not as many of each variant: 1 of 8 of base and 0 of 8 of new" in text


@pytest.mark.slow
def test_a_condition_on_something_else_that_leaves_as_many_of_each(tmp_path):
    runs = table().assign(test_acc=0.5, part=[*"ab" * SEEDS], measure="acc")
    text = said(tmp_path, runs, "--where", "part = a", "--where", "measure = acc")
    text += said(tmp_path, runs, "--where", "measure == 'acc' and test_acc < 1 and part == 'a'")
    assert "chooses runs by" not in text
    assert "not as many" not in text
