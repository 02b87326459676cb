"""Means beside their deviations, in columns: Welch's t from summaries, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from summarised import judged, table_of

from ablate.base.errors import AblateError
from ablate.cli import main
from ablate.runs.evidence import evidence_of
from ablate.runs.options import AnalysisOptions
from ablate.runs.summary_columns import kind_of_header

MEANS = {"baseline": (0.912, 0.004), "w/o attention": (0.897, 0.005), "w/o aug": (0.9105, 0.0042)}
COUNT = 5


def wide(mean, spread, count="n_seeds", scale=1.0):
    """A table of means and spreads in columns of these names."""
    rows = []
    for name, (average, deviation) in MEANS.items():
        rows.append({"method": name, mean: average, spread: deviation * scale, count: COUNT})
    return pd.DataFrame(rows)


def welch(name):
    """Mean difference and p of a variant against the baseline, from the summaries."""
    result = stats.ttest_ind_from_stats(*MEANS[name], COUNT, *MEANS["baseline"], COUNT, equal_var=False)
    return MEANS[name][0] - MEANS["baseline"][0], result.pvalue, result.statistic


NAMES = [
    ("acc_mean", "acc_std", "n_seeds", 1.0),
    ("mean_acc", "std_acc", "n", 1.0),
    ("acc.mean", "acc.std", "acc.count", 1.0),
    ("acc (mean)", "acc (sd)", "runs", 1.0),
    ("acc/avg", "acc/stddev", "num_runs", 1.0),
    ("acc", "acc_std", "seeds", 1.0),
    ("acc_mean", "acc_sem", "n", COUNT**-0.5),
    ("acc_mean", "acc_stderr", "n", COUNT**-0.5),
]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(("mean", "spread", "count", "scale"), NAMES)
def test_means_and_deviations_in_columns_are_judged_by_welchs_t(mean, spread, count, scale, tmp_path):
    wide(mean, spread, count, scale).to_csv(tmp_path / "table.csv", index=False)
    words = ("--baseline", "baseline", "--metric", "acc", "--direction", "max")
    rows, text = judged(tmp_path, tmp_path / "table.csv", *words)
    difference, p, t = welch("w/o attention")
    assert t == pytest.approx(-5.24, abs=0.005)
    row = rows["w/o attention"]
    assert (row["diff"], row["p"], row["n"]) == (pytest.approx(difference), pytest.approx(p, rel=1e-6), COUNT)
    assert rows["w/o aug"]["p"] == pytest.approx(welch("w/o aug")[1], rel=1e-6)
    assert rows.keys() == {"w/o attention", "w/o aug"}
    assert (spread in text and "standard errors" in text) == (scale != 1.0)


HEADERS = {
    "error": [
        *("acc (mean ± SE)", "acc ± stderr", "acc [SEM]", "acc, SE", "acc_sem", "acc (mean +/- s.e.m.)"),
        *(
            "acc ± SE (%)",
            "acc (SE, n=5)",
            "acc (mean ± std. err. over 5 seeds)",
            "acc (mean and standard error)",
        ),
    ],
    "interval": [
        *("acc (95% CI)", "acc (CI)", "acc ± 95% CI", "acc (mean, 95% CIs)", "acc ± CI95", "acc (± 1.96 SE)"),
        *("acc (95 % confidence interval)", "acc ± 2 sd"),
    ],
    "deviation": ["acc", "acc (%)", "acc (mean ± std)", "acc ± 1 SD", "acc (SE-ResNet)", "acc_mean", "se"],
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_says_what_stands_after_the_mean(kind):
    for name in HEADERS[kind]:
        assert (name, kind_of_header(name)) == (name, kind)


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("header", ["acc (mean ± SE)", "acc ± stderr", "acc"])
def test_standard_errors_of_one_column_are_judged_as_such(header, tmp_path):
    cells = {"baseline": "80.3 ± 0.7", "wide": "82.6 ± 0.9"}
    pd.DataFrame({"variant": cells.keys(), header: cells.values(), "n": COUNT}).to_csv(tmp_path / "a.csv")
    words = ("--baseline", "baseline", "--metric", header, "--direction", "max")
    rows, text = judged(tmp_path, tmp_path / "a.csv", *words)
    scale = 1 if header == "acc" else COUNT**0.5
    expected = stats.ttest_ind_from_stats(82.6, 0.9 * scale, COUNT, 80.3, 0.7 * scale, COUNT, equal_var=False)
    assert rows["wide"]["p"] == pytest.approx(expected.pvalue, rel=1e-6)
    assert ("standard errors" in text, "standard deviation of a sample" in text) == (scale > 1, scale == 1)


def test_intervals_of_one_column_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("variant,acc (95% CI),n\nbaseline,80.3 ± 0.7,5\nwide,82.6 ± 0.9,5\n")
    words = ("--baseline", "baseline", "--metric", "acc (95% CI)", "--direction", "max")
    done = CliRunner().invoke(main, ["analyse", str(tmp_path / "a.csv"), *words, "--results", str(tmp_path)])
    assert (done.exit_code, "the level or the kind is not known" in " ".join(done.stderr.split())) == (
        2,
        True,
    )


def test_a_number_of_runs_in_a_name_is_read(tmp_path):
    (tmp_path / "table.md").write_text(
        "| Method | Acc (%, 5 seeds) | F1 |\n|---|---|---|\n"
        "| **Baseline** | 91.2 ± 0.4 | 90.1 ± 0.5 |\n| w/o attention | 89.7±0.5 | 88.0±0.6 |\n"
    )
    words = ("--baseline", "Baseline", "--metric", "acc", "--direction", "max")
    rows, _ = judged(tmp_path, tmp_path / "table.md", *words)
    _, p, _ = welch("w/o attention")
    assert rows["w/o attention"]["p"] == pytest.approx(p, rel=1e-6)


def test_what_pandas_makes_of_groups_is_a_summary():
    generator = np.random.default_rng(1)
    runs = pd.DataFrame({"variant": ["a"] * 4 + ["b"] * 4, "acc": generator.normal(0.9, 0.01, 8)})
    grouped = runs.groupby("variant").agg({"acc": ["mean", "std", "count"]})
    options = AnalysisOptions(baseline="a", metric="acc", direction="max")
    table = table_of(grouped, options)
    assert table.are_summaries
    described = table_of(runs.groupby("variant").describe(), options)
    for of_table in (table, described):
        values = of_table.rows.assign(acc=of_table.rows["acc"].astype(float)).groupby("variant")["acc"]
        assert values.mean().tolist() == pytest.approx(runs.groupby("variant")["acc"].mean().tolist())
        assert values.std().tolist() == pytest.approx(runs.groupby("variant")["acc"].std().tolist())
        assert values.size().tolist() == [4, 4]


REFUSED = {
    "no number of runs": (wide("acc_mean", "acc_std").drop(columns="n_seeds"), "acc", "over how many runs"),
    "none, by its own name": (
        wide("acc_mean", "acc_std").drop(columns="n_seeds"),
        "acc_mean",
        "over how many runs",
    ),
    "a deviation as metric": (wide("acc_mean", "acc_std"), "acc_std", "is a spread over runs"),
    "an interval alone": (wide("acc_mean", "acc_ci95"), "acc", "intervals, of which the level or the kind"),
    "half a run": (wide("acc_mean", "acc_std").assign(n_seeds=2.5), "acc", "must be a whole number"),
    "one run": (wide("acc_mean", "acc_std").assign(n_seeds=1), "acc", "two or more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_summaries_that_do_not_say_enough_are_refused_by_name(name):
    frame, metric, rule = REFUSED[name]
    with pytest.raises(AblateError, match=rule):
        table_of(frame, AnalysisOptions(baseline="baseline", metric=metric, direction="max"))


def test_the_mean_of_a_runs_own_episodes_is_a_metric():
    runs = []
    for variant in "ab":
        for seed in range(3):
            runs.append(
                {"variant": variant, "seed": seed, "reward_mean": 10.0 + seed, "reward_std": 2.0, "n": 100}
            )
    options = AnalysisOptions(baseline="a", metric="reward_mean", direction="max")
    table = table_of(pd.DataFrame(runs), options)
    assert not table.are_summaries
    assert len(table.rows) == 6
    without_seeds = table_of(pd.DataFrame(runs).drop(columns="seed"), options)
    assert not without_seeds.are_summaries
    assert len(without_seeds.rows) == 6


def test_of_summaries_nothing_is_said_that_needs_runs(tmp_path):
    frame = wide("acc_mean", "acc_std").assign(acc_std=0.3, n_seeds=2)
    options = AnalysisOptions(
        baseline="baseline", metric="acc", direction="max", margin=0.5, floor=0.0, ceiling=1.0
    )
    table = table_of(frame, options)
    assert evidence_of(table, options.metrics(), table.options, "x").facts.given == "summaries"
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ("--baseline", "baseline", "--metric", "acc", "--margin", "0.5", "--floor", "0", "--ceiling", "1")
    rows, text = judged(tmp_path, tmp_path / "table.csv", *words)
    assert "imodal" not in text + json.dumps(rows)
    solved = AnalysisOptions(
        baseline="baseline", metric="acc", direction="max", floor=0.0, ceiling=1.0, all_or_nothing=0.9
    )
    with pytest.raises(AblateError, match="needs runs"):
        evidence_of(table, solved.metrics(), solved, "x")
