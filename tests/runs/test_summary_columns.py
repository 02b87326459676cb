"""Means beside their deviations, in columns: Welch's t from summaries, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from summarised import judged, table_of

from ablate.analysis.compare import compare
from ablate.base.errors import AblateError
from ablate.cli import main
from ablate.core.replication import Summaries
from ablate.core.summary import SUMMARIES
from ablate.records.folder import StudyFolder
from ablate.runs.evidence import evidence_of
from ablate.runs.formats.summary_columns import kind_of_header
from ablate.runs.options import AnalysisOptions

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


@pytest.mark.fast_cases(1)
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


@pytest.mark.fast_cases(1)
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
        of_runs = runs.groupby("variant")["acc"]
        beside = [of_table.summaries[place] for place in of_table.rows["id"]]
        assert of_table.rows["acc"].astype(float).tolist() == pytest.approx(of_runs.mean().tolist())
        assert [row.spreads["acc"].sd for row in beside] == pytest.approx(of_runs.std().tolist())
        assert [row.n for row in beside] == [4, 4]


REFUSED = {
    "no number of runs": (wide("acc_mean", "acc_std").drop(columns="n_seeds"), "acc", "over how many runs"),
    "none, by its own name": (
        wide("acc_mean", "acc_std").drop(columns="n_seeds"),
        "acc_mean",
        "over how many runs",
    ),
    "a deviation as metric": (wide("acc_mean", "acc_std"), "acc_std", "is a spread over runs"),
    "an interval alone": (wide("acc_mean", "acc_ci95"), "acc", "intervals, of which the level or the kind"),
    "an interval before the name": (wide("mean_acc", "ci95_acc"), "acc", "intervals, of which the level"),
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


@pytest.mark.slow
def test_of_summaries_nothing_is_said_that_needs_runs(tmp_path):
    frame = wide("acc_mean", "acc_std").assign(acc_std=0.3, n_seeds=2)
    options = AnalysisOptions(
        baseline="baseline", metric="acc", direction="max", margin=0.5, floor=0.0, ceiling=1.0
    )
    table = table_of(frame, options)
    assert evidence_of(table, options.metrics(), table.options, "x").facts.replication == Summaries()
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ("--baseline", "baseline", "--metric", "acc", "--margin", "0.5", "--floor", "0", "--ceiling", "1")
    rows, text = judged(tmp_path, tmp_path / "table.csv", *words)
    assert "imodal" not in text + json.dumps(rows)
    solved = AnalysisOptions(
        baseline="baseline", metric="acc", direction="max", floor=0.0, ceiling=1.0, all_or_nothing=0.9
    )
    with pytest.raises(AblateError, match="needs runs"):
        evidence_of(table, solved.metrics(), solved, "x")


def test_of_a_summary_no_run_is_said_to_be_like_another_or_below_the_floor(tmp_path):
    frame = pd.DataFrame({"variant": ["baseline", "b", "c"], "acc": ["0.1 ± 0.35"] * 3, "n": [5, 5, 5]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ("--baseline", "baseline", "--metric", "acc", "--floor", "0", "--ceiling", "1")
    _, text = judged(tmp_path, tmp_path / "table.csv", *words)
    assert "table.csv, line" not in text
    assert "is better than" not in text


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(5, 5), (3, 8)])
def test_summaries_are_judged_as_the_runs_that_they_are_of(counts, tmp_path):
    draws = np.random.default_rng(0)
    runs = {
        name: draws.normal(mean, spread, count)
        for name, mean, spread, count in zip(("baseline", "b"), (0.1, 0.5), (0.2, 0.3), counts, strict=True)
    }
    rows = [{"variant": name, "acc": value} for name, values in runs.items() for value in values]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    means = [
        {
            "variant": name,
            "acc": f"{float(values.mean())!r} ± {float(values.std(ddof=1))!r}",
            "n": len(values),
        }
        for name, values in runs.items()
    ]
    pd.DataFrame(means).to_csv(tmp_path / "means.csv", index=False)
    words = ("--baseline", "baseline", "--metric", "acc", "--margin", "0.2")
    of_runs, _ = judged(tmp_path, tmp_path / "runs.csv", *words)
    of_means, _ = judged(tmp_path, tmp_path / "means.csv", *words)
    for key in ("n", "diff", "ci_low", "ci_high", "p", "mde", "mean_variant", "mean_baseline"):
        assert of_means["b"][key] == pytest.approx(of_runs["b"][key], rel=1e-12), key
    assert of_means["b"]["verdict"] == of_runs["b"]["verdict"]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("baseline", "other", "count"),
    [("0.10 ± 0.35", "0.90 ± 0.35", 5), ("0.50 ± 0.30", "0.55 ± 0.30", 3), ("0.90 ± 0.02", "0.99 ± 0.02", 5)],
)
def test_no_trial_is_invented_from_a_mean(baseline, other, count, tmp_path):
    frame = pd.DataFrame({"variant": ["baseline", "b"], "acc": [baseline, other], "n": [count] * 2})
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ("--baseline", "baseline", "--metric", "acc", "--margin", "0.5", "--floor", "0", "--ceiling", "1")
    rows, text = judged(tmp_path, tmp_path / "table.csv", *words)
    folder = StudyFolder(tmp_path, "table")
    evidence = folder.evidence()
    assert evidence.trials.empty
    assert not evidence.only_measured
    summaries = evidence.frames[SUMMARIES]
    assert [f"{row.mean:.2f} ± {row.sd:.2f}" for row in summaries.itertuples()] == [baseline, other]
    assert [*summaries["n"]] == [count] * 2
    page = (folder.path / "report.md").read_text()
    for said in ("imodal", "learned", "No baseline run", "Every seed", "trials.parquet"):
        assert said not in page + text
    reasons = {*(rows["b"]["reason"] or "").split()}
    assert not {"groups", "floor"} & reasons
    # Two means within the margin of the ceiling cannot differ by more than the margin.
    assert ("ceiling" in reasons) == (not baseline.startswith("0.10"))


def test_means_that_do_not_vary_decide_nothing(tmp_path):
    frame = pd.DataFrame({"variant": ["baseline", "b", "c"], "acc": ["0.5 ± 0", "0.6 ± 0", "0.5 ± 0"]})
    frame.assign(n=5).to_csv(tmp_path / "table.csv", index=False)
    rows, _ = judged(tmp_path, tmp_path / "table.csv", "--baseline", "baseline", "--metric", "acc")
    assert {name: row["verdict"] for name, row in rows.items()} == dict.fromkeys("bc", "inconclusive")
    assert rows["b"]["reason"] == "seedless"
    assert rows["c"]["reason"].startswith("degenerate")


def test_an_empty_mean_is_none(tmp_path):
    frame = pd.DataFrame({"variant": ["baseline", "c"], "acc": ["0.5 ± 0.1", ""], "n": [4, 4]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    rows, _ = judged(tmp_path, tmp_path / "table.csv", "--baseline", "baseline", "--metric", "acc")
    assert rows["c"]["reason"].startswith("incomplete")
    assert "over 0 runs of each" in (tmp_path / "table" / "card.md").read_text()


def _with(mean, sd, count):
    """So many values that have this mean and deviation."""
    values = np.arange(count, dtype=float)
    return mean + sd * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize("option", ["--keep-noise", "--known-noise"])
def test_noise_is_that_of_runs(option, tmp_path):
    frame = pd.DataFrame({"variant": ["baseline", "b"], "acc": ["0.5 ± 0.1", "0.6 ± 0.1"], "n": [4, 4]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    words = ["analyse", str(tmp_path / "table.csv"), "--metric", "acc", "--baseline", "baseline"]
    done = CliRunner().invoke(main, [*words, option, str(tmp_path / "noise.json")])
    assert done.exit_code != 0
    assert "needs runs" in done.output


def test_a_report_of_an_older_version_is_judged_by_the_means_of_its_stand_ins(tmp_path):
    frame = pd.DataFrame({"variant": ["baseline", "b"], "acc": ["0.5 ± 0.1", "0.9 ± 0.2"], "n": [4, 3]})
    frame.to_csv(tmp_path / "table.csv", index=False)
    judged(tmp_path, tmp_path / "table.csv", "--baseline", "baseline", "--metric", "acc")
    evidence = StudyFolder(tmp_path, "table").evidence()
    values = {"baseline": _with(0.5, 0.1, 4), "b": _with(0.9, 0.2, 3)}
    rows = [
        {"variant": name, "task": "runs", "status": "completed", "reason": "", "acc": value}
        for name in values
        for value in values[name]
    ]
    trials = pd.DataFrame(rows).assign(seed=range(1, 8), id=[str(run) for run in range(7)])
    older = replace(evidence, trials=trials, frames={})
    for now, before in zip(compare(evidence).itertuples(), compare(older).itertuples(), strict=True):
        assert (before.n, before.diff, before.p) == pytest.approx((now.n, now.diff, now.p))
    assert not older.only_measured
