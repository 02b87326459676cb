"""Rows and columns that summarise runs are no runs; what only looks like one stays."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy import stats
from summarised import judged, table_of

from ablate.runs.options import AnalysisOptions
from ablate.runs.summary_words import WrittenNumber, agreement_with, statistic_word, word_at_end

OPTIONS = AnalysisOptions(baseline="a", metric="acc", direction="max")
RUNS = pd.DataFrame(
    {
        "variant": ["a"] * 4 + ["b"] * 4,
        "seed": [*range(4)] * 2,
        "acc": [0.911, 0.915, 0.908, 0.91, 0.921, 0.929, 0.918, 0.925],
    }
)
STATISTICS = {
    "mean": np.mean,
    "Average": np.mean,
    "std": lambda values: np.std(values, ddof=1),
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "sem": stats.sem,
}


def runs_in(table):
    """Variant, seed and value of each run."""
    rows = table.rows
    return sorted(zip(rows["variant"], rows["seed"].astype(float), rows["acc"].astype(float), strict=True))


def says_left_out(table, name):
    return any("Left out for" in note and name in note for note in table.notes)


@pytest.mark.fast_cases(6)
@pytest.mark.parametrize("word", [*STATISTICS, "±", "95% CI", "best", "All", "count"])
def test_a_word_among_the_numbers_of_seeds_is_no_seed(word):
    rows = [{"variant": variant, "seed": word, "acc": 0.5} for variant in "ab"]
    table = table_of(pd.concat([RUNS.astype({"seed": str}), pd.DataFrame(rows)], ignore_index=True), OPTIONS)
    assert runs_in(table) == runs_in(table_of(RUNS, OPTIONS))
    assert says_left_out(table, f"seed {word}")


@pytest.mark.parametrize("label", ["-1", "999"])
def test_a_number_that_stands_for_a_mean_is_no_seed(label):
    means = RUNS.groupby("variant", as_index=False)["acc"].mean().round(4).assign(seed=label)
    table = table_of(pd.concat([RUNS.astype({"seed": str}), means], ignore_index=True), OPTIONS)
    assert runs_in(table) == runs_in(table_of(RUNS, OPTIONS))
    assert says_left_out(table, f"seed {label}")


@pytest.mark.parametrize("label", ["-1", "999", "4"])
def test_a_seed_whose_run_is_no_mean_stays(label):
    others = pd.DataFrame({"variant": ["a", "b"], "seed": [label, label], "acc": [0.913, 0.9215]})
    table = table_of(pd.concat([RUNS.astype({"seed": str}), others], ignore_index=True), OPTIONS)
    assert len(runs_in(table)) == len(RUNS) + 2


@pytest.mark.parametrize("form", ["{} {}", "{}_{}", "{} ({})", "{}/{}", "{}-{}"])
def test_a_variant_that_is_the_mean_of_another_is_none(form):
    runs = RUNS.drop(columns="seed")
    summaries = []
    for variant, of_variant in runs.groupby("variant"):
        for word, statistic in STATISTICS.items():
            value = f"{statistic(of_variant['acc']):.4f}"
            summaries.append({"variant": form.format(variant, word), "acc": value})
    table = table_of(pd.concat([runs.astype(str), pd.DataFrame(summaries)], ignore_index=True), OPTIONS)
    assert {*table.rows["variant"]} == {"a", "b"}
    assert len(table.rows) == len(runs)
    assert says_left_out(table, form.format("a", "mean"))


def test_the_mean_over_data_sets_is_no_data_set():
    tasks = [
        RUNS.assign(task=task, acc=RUNS["acc"] - 0.01 * place) for place, task in enumerate(["x", "y", "z"])
    ]
    runs = pd.concat(tasks, ignore_index=True)
    means = runs.groupby(["variant", "seed"], as_index=False)["acc"].mean().round(4).assign(task="Avg.")
    table = table_of(pd.concat([runs, means], ignore_index=True), OPTIONS)
    assert [*dict.fromkeys(table.rows["task"])] == ["x", "y", "z"]
    assert says_left_out(table, "Avg.")


def test_means_of_each_setting_are_found_among_all_runs():
    settings_of_runs = [RUNS.assign(lr=lr, acc=RUNS["acc"] - lr) for lr in (0.1, 0.3)]
    runs = pd.concat(settings_of_runs, ignore_index=True).rename(columns={"seed": "number"})
    means = runs.groupby(["variant", "lr"], as_index=False)["acc"].mean().assign(number="", kind="mean")
    options = AnalysisOptions(
        baseline="a", metric="acc", direction="max", column={"task": "lr", "seed": "number"}
    )
    table = table_of(pd.concat([runs.assign(kind="run"), means], ignore_index=True), options)
    assert len(table.rows) == len(runs)


POOLING = pd.DataFrame(
    {
        "pooling": ["mean"] * 3 + ["max"] * 3 + ["cls"] * 3,
        "seed": [*range(3)] * 3,
        "acc": [0.911, 0.915, 0.908, 0.921, 0.929, 0.918, 0.921, 0.919, 0.912],
    }
)


def test_variants_that_are_called_mean_and_max_stay():
    table = table_of(
        POOLING,
        AnalysisOptions(baseline="cls", metric="acc", direction="max", column={"variant": "pooling"}),
    )
    assert {*table.rows["variant"]} == {"mean", "max", "cls"}
    assert len(table.rows) == len(POOLING)


def test_of_variants_that_are_called_mean_and_max_the_mean_rows_go():
    means = POOLING.groupby("pooling", as_index=False)["acc"].mean().assign(seed="mean")
    options = AnalysisOptions(baseline="cls", metric="acc", direction="max", column={"variant": "pooling"})
    table = table_of(pd.concat([POOLING.astype({"seed": str}), means], ignore_index=True), options)
    assert runs_in(table) == runs_in(table_of(POOLING, options))


def test_a_variant_called_all_whose_runs_equal_one_another_stays():
    runs = pd.DataFrame({"variant": ["all", "none", "all", "none"], "seed": [0, 0, 1, 1], "acc": [1.0] * 4})
    assert len(table_of(runs, AnalysisOptions(baseline="none", metric="acc", direction="max")).rows) == 4


def test_a_metric_and_a_setting_may_be_called_std():
    runs = RUNS.assign(std=RUNS["acc"] / 10, max_len=["128", "256"] * 3 + ["max", "max"])
    options = AnalysisOptions(baseline="a", metric="std", direction="min", replicates=True)
    assert len(table_of(runs, options).rows) == len(RUNS)


def test_the_mean_that_pandas_adds_below_is_no_run():
    below = RUNS.mean(numeric_only=True).to_frame("mean").T
    table = table_of(pd.concat([RUNS, below]), OPTIONS)
    assert runs_in(table) == runs_in(table_of(RUNS, OPTIONS))
    assert says_left_out(table, "mean")


@pytest.mark.slow
def test_margins_of_a_pivot_table_are_neither_variant_nor_seed(tmp_path):
    pivoted = RUNS.pivot_table(index="seed", columns="variant", values="acc", margins=True)
    pivoted.to_csv(tmp_path / "pivot.csv")
    rows, text = judged(tmp_path, tmp_path / "pivot.csv", "--baseline", "a", "--metric", "acc")
    values = RUNS.pivot(index="seed", columns="variant", values="acc")
    paired = stats.ttest_rel(values["b"], values["a"])
    assert rows.keys() == {"b"}
    assert rows["b"]["p"] == pytest.approx(paired.pvalue)
    assert "no variants: All" in text


@pytest.mark.slow
def test_aggregates_of_google_benchmark_are_no_variants(tmp_path):
    generator = np.random.default_rng(0)
    benchmarks = []
    values = {}
    for name, mean in (("Old", 119.0), ("New", 102.0)):
        values[name] = generator.normal(mean, 3.0, 8)
        run = {"run_name": name, "time_unit": "ns", "iterations": 10_000}
        benchmarks += [
            {**run, "name": name, "run_type": "iteration", "real_time": value} for value in values[name]
        ]
        for kind, aggregate in (("mean", np.mean), ("median", np.median), ("stddev", np.std), ("cv", np.ptp)):
            of_kind = {"name": f"{name}_{kind}", "run_type": "aggregate", "aggregate_name": kind}
            benchmarks.append({**run, **of_kind, "real_time": aggregate(values[name])})
    (tmp_path / "google.json").write_text(json.dumps({"context": {"num_cpus": 8}, "benchmarks": benchmarks}))
    words = ("--baseline", "Old", "--metric", "real_time", "--direction", "min")
    rows, text = judged(tmp_path, tmp_path / "google.json", *words)
    assert rows.keys() == {"New"}
    welch = stats.ttest_ind(values["New"], values["Old"], equal_var=False)
    low, high = welch.confidence_interval(0.95)
    # Files keep differences so that positive is better.
    assert rows["New"]["ci_low"] == pytest.approx(-high)
    assert rows["New"]["ci_high"] == pytest.approx(-low)
    assert "no runs: 8 rows" in text


DVC = """\
Experiment,rev,typ,Created,parent,State,Executor,acc,model,seed
,workspace,baseline,,,,,{workspace}
main,f00,baseline,2026-01-01,,,,0.90,relu,0
exp-a,f01,branch_commit,2026-01-02,,,,0.91,relu,1
exp-b,f02,branch_commit,2026-01-03,,,,0.92,gelu,0
exp-c,f03,branch_base,2026-01-04,,,,0.93,gelu,1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workspace", "num_runs"),
    [("0.93,gelu,1", 4), ("0.95,gelu,2", 5)],
    ids=["repeats", "has results of its own"],
)
def test_the_workspace_of_dvc_counts_where_it_repeats_no_run(workspace, num_runs, tmp_path):
    (tmp_path / "exp.csv").write_text(DVC.format(workspace=workspace))
    words = ("--variant", "model", "--baseline", "relu", "--metric", "acc")
    rows, _ = judged(tmp_path, tmp_path / "exp.csv", *words)
    trials = pd.read_parquet(tmp_path / "exp" / "trials.parquet")
    assert len(trials) == num_runs
    assert rows["gelu"]["diff"] == pytest.approx(0.02)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    numbers=some.lists(some.integers(0, 10_000), min_size=6, max_size=6, unique=True),
    words=some.lists(some.sampled_from([*STATISTICS]), min_size=1, unique=True),
    digits=some.integers(5, 12),
    place=some.sampled_from(["seed", "variant", "column"]),
)
def test_a_summary_that_is_appended_changes_no_run_and_is_named(numbers, words, digits, place):
    runs = pd.DataFrame({"variant": ["a"] * 3 + ["b"] * 3, "seed": [0, 1, 2] * 2, "acc": numbers})
    runs["acc"] = runs["acc"] / 10_000
    runs = runs if place == "seed" else runs.assign(kind="run")
    summaries = []
    for variant, of_variant in runs.groupby("variant"):
        for word in words:
            value = f"{STATISTICS[word](of_variant['acc']):.{digits}f}"
            names = {
                "seed": {"variant": variant, "seed": word},
                "variant": {"variant": f"{variant} {word}", "seed": "", "kind": "run"},
                "column": {"variant": variant, "seed": "", "kind": word},
            }
            summaries.append({**names[place], "acc": value})
    table = table_of(pd.concat([runs.astype(str), pd.DataFrame(summaries)], ignore_index=True), OPTIONS)
    assert runs_in(table) == runs_in(table_of(runs, OPTIONS))
    assert all(says_left_out(table, word) for word in words)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    numbers=some.lists(some.integers(0, 1_000_000), min_size=9, max_size=9, unique=True),
    names=some.lists(some.sampled_from([*STATISTICS, "all", "total"]), min_size=2, max_size=2, unique=True),
)
def test_variants_with_runs_of_their_own_stay_whatever_their_names(numbers, names):
    variants = [name for name in ("plain", *names) for _ in range(3)]
    runs = pd.DataFrame({"variant": variants, "seed": [0, 1, 2] * 3, "acc": numbers})
    table = table_of(runs, AnalysisOptions(baseline="plain", metric="acc", direction="max"))
    assert len(table.rows) == 9


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Mean (5 seeds)", "mean"),
        ("Avg.", "avg"),
        ("25%", "25"),
        ("mean ± std", "mean"),
        ("maxout", ""),
        ("7", ""),
    ],
)
def test_words_of_statistics(text, word):
    assert statistic_word(text) == word


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("BM_Old/64_mean", ("BM_Old/64", "mean")),
        ("gelu (std dev)", None),
        ("gelu [avg]", ("gelu", "avg")),
        ("mean", None),
    ],
)
def test_names_that_end_with_a_statistic(text, parts):
    assert word_at_end(text) == parts


def test_numbers_that_are_too_coarse_say_nothing():
    exact = [WrittenNumber.of(text) for text in ("0.91", "0.92", "0.93")]
    alike = [WrittenNumber.of(text) for text in ("1.0", "1.0")]
    assert agreement_with("mean", exact, WrittenNumber.of("0.92")) == "may be"
    assert agreement_with("mean", alike, WrittenNumber.of("1.0")) == "may be"
    assert agreement_with("mean", exact, WrittenNumber.of("0.94")) == "is not"
    fine = [WrittenNumber.of(text) for text in ("0.9100", "0.9200", "0.9301")]
    assert agreement_with("mean", fine, WrittenNumber.of("0.9200")) == "is"


@pytest.mark.parametrize(
    ("word", "statistic"),
    [
        *((word.lower(), statistic) for word, statistic in STATISTICS.items()),
        ("variance", np.var),
        ("cv", partial(stats.variation, ddof=1)),
        ("q3", partial(np.quantile, q=0.75)),
        ("range", np.ptp),
    ],
)
def test_the_number_of_a_statistic_is_known_as_such(word, statistic):
    values = [0.9132, 0.9216, 0.9307, 0.9418, 0.9551]
    number = float(statistic(values))
    written = [WrittenNumber.of(f"{value:.12f}") for value in values]
    assert agreement_with(word, written, WrittenNumber.of(f"{number:.12f}")) == "is"
    assert agreement_with(word, written, WrittenNumber.of(f"{number + 1e-6:.12f}")) == "is not"
