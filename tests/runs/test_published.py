"""Files as strangers have published them: each gives what was found by hand, from the call as one would type it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy import stats

from ablate.cli import main

PUBLISHED = Path(__file__).parent / "cases" / "published"


def call(results, name, *words):
    """What a call says and returns."""
    words = (str(PUBLISHED / name), *words, "--results", str(results))
    return CliRunner().invoke(main, ["analyse", *words])


def judged(results, name, *words):
    """The planned verdicts of a call by variant, and by task where there are several."""
    done = call(results, name, *words, "--json")
    assert done.exit_code == 0, done.output
    rows = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    several = len({row["task"] for row in rows}) > 1
    return {(row["variant"], row["task"]) if several else row["variant"]: row for row in rows}


LARGER, SMALLER = ("--direction", "max"), ("--direction", "min")
CASES = {
    # Its file → the call, and each verdict with its difference, larger being better, and its interval.
    "curves.json": (
        ("--baseline", "pg", "--metric", "final_reward", *LARGER),
        {"grpo": (0.0283, 0.0124, 0.0441), "dpo": (-0.0523, -0.0618, -0.0428)},
    ),
    "seeds_and_results.json": (
        ("--baseline", "full", "--metric", "r2", *LARGER),
        {"mlp": (-0.0225, -0.0291, -0.0159), "linear": (-0.0927, -0.1110, -0.0744)},
    ),
    "rows_of_lists.json": (
        ("--baseline", "baseline", "--metric", "evaluation_loss", *SMALLER),
        {
            "stiffness": (-0.0838, -0.0984, -0.0692),
            "energy": (0.0266, -0.0012, 0.0544),
            "entropy": (-0.0051, None, None),
        },
    ),
    "multi_seed_results.json": (
        ("--baseline", "plain", "--metric", "acc", *LARGER),
        {
            ("robust", "pan"): (0.0142, None, None),
            ("robust", "blog"): (0.0648, 0.0503, 0.0793),
            ("robust", "mail"): (0.1036, 0.0902, 0.1170),
        },
    ),
    "seeds_in_parentheses.json": (
        ("--baseline", "Baseline", "--metric", "Reward Drop", *SMALLER),
        {"Defended 25%": (0.0300, 0.0224, 0.0376)},
    ),
    "search_trials.csv": (
        (
            *("--baseline", "random", "--metric", "val_auroc", *LARGER, "--column", "task", "dataset"),
            *("--column", "step", "trial_nr", "--at", "best val_auroc"),
        ),
        {("bo", "cancer"): (0.0026, -0.0026, 0.0077), ("bo", "wine"): (0.0018, -0.0031, 0.0067)},
    ),
    "two_conditions.csv": (
        ("--baseline", "random", "--metric", "precision_at_k", *LARGER, "--column", "task", "r,eps"),
        {("risk", "r=0.05, eps=0.0"): (0.051, -0.031, 0.133)},
    ),
    "hyperfine.json": (("--baseline", "old", "--metric", "times", *SMALLER), {"new": (0.0565, None, None)}),
    "pytest_benchmark.json": (
        ("--baseline", "naive", "--metric", "stats.data", *SMALLER),
        {"fused": (0.0030, None, None)},
    ),
    "google_benchmark.json": (
        ("--baseline", "BM_Old/64", "--metric", "real_time", *SMALLER),
        {"BM_New/64": (17.35, 14.23, 20.47)},
    ),
    "hydra_repeats/2026-03-01": (
        ("--baseline", "act=relu", "--metric", "val_acc", *LARGER),
        {"act=gelu": (0.0202, 0.0139, 0.0266)},
    ),
    "table.csv": (
        ("--baseline", "baseline", "--metric", "acc", *LARGER),
        {"w/o attention": (-0.015, None, None), "w/o aug": (-0.0015, None, None)},
    ),
}  # fmt: skip


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", CASES)
def test_a_file_gives_what_was_found_by_hand(name, tmp_path):
    words, expected = CASES[name]
    decimals = {"two_conditions.csv": 3, "google_benchmark.json": 2}.get(name, 4)
    rows = judged(tmp_path, name, *words)
    for variant, numbers in expected.items():
        row = rows[variant]
        for key, number in zip(("diff", "ci_low", "ci_high"), numbers, strict=True):
            assert number is None or row[key] == pytest.approx(number, abs=0.51 * 10.0**-decimals)


@pytest.mark.slow
def test_samples_of_a_benchmark_are_compared_unpaired(tmp_path):
    results = json.loads((PUBLISHED / "hyperfine.json").read_text())["results"]
    old, new = (result["times"] for result in results)
    row = judged(tmp_path, "hyperfine.json", "--baseline", "old", "--metric", "times", *SMALLER)["new"]
    assert row["p"] == pytest.approx(stats.ttest_ind(old, new, equal_var=False).pvalue)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "words",
    [("--seed", "config.repeat_num"), ("--seed", "repeat_num"), ("--column", "seed", "config.repeat_num")],
)
def test_what_is_named_as_the_seed_is_no_part_of_variants(words, tmp_path):
    asked = ("--baseline", "act=relu", "--metric", "val_acc", *LARGER, *words)
    assert [*judged(tmp_path / "results", "hydra_repeats/2026-03-01", *asked)] == ["act=gelu"]


@pytest.mark.slow
def test_means_in_two_columns_are_compared_by_welch(tmp_path):
    row = judged(tmp_path, "table.csv", "--baseline", "baseline", "--metric", "acc", *LARGER)["w/o attention"]
    expected = stats.ttest_ind_from_stats(0.897, 0.005, 5, 0.912, 0.004, 5, equal_var=False)
    assert expected.statistic == pytest.approx(-5.24, abs=0.005)
    assert row["p"] == pytest.approx(expected.pvalue)
    by_header = judged(tmp_path, "table_n5.md", "--baseline", "Baseline", "--metric", "Acc (%)", *LARGER)
    assert by_header["w/o attention"]["diff"] == pytest.approx(-1.5)
    without = call(tmp_path, "table_no_n.csv", "--baseline", "baseline", "--metric", "acc", *LARGER)
    assert (without.exit_code, "column `n`" in without.stderr) == (2, True)
