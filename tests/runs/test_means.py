"""Tables of means: which rows are means of several runs, over how many each metric is, and what is refused by name."""

import itertools
import re

import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from summarised import judged, table_of

from ablate.base.errors import AblateError
from ablate.cli import main
from ablate.core.summary import SUMMARIES
from ablate.records.folder import StudyFolder
from ablate.runs.evidence import evidence_of
from ablate.runs.means import MAX_RUNS
from ablate.runs.options import AnalysisOptions

ACC = AnalysisOptions(baseline="base", metric="acc", direction="max")
CALL = ("--baseline", "base", "--metric", "acc", "--direction", "max")


def in_cells(rows, **columns):
    """A table of `MEAN ± SD` from (variant, mean, deviation), with further columns."""
    cells = {"method": [row[0] for row in rows], "acc": [f"{mean} ± {sd}" for _, mean, sd in rows]}
    return pd.DataFrame(cells).assign(**columns)


def in_columns(rows, **columns):
    """The same table, with columns of means and deviations."""
    frame = pd.DataFrame(rows, columns=["method", "acc_mean", "acc_std"])
    return frame.astype({"acc_mean": str, "acc_std": str}).assign(**columns)


FORMS = {"in cells": in_cells, "in columns": in_columns}
BOTH = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
MEANS = [("base", 0.912, 0.004), ("x", 0.897, 0.005)]
LOSSES = [("base", 0.3, 0.02), ("x", 0.35, 0.03)]


@pytest.mark.slow
@BOTH
def test_each_metric_is_over_its_own_number_of_runs(form, tmp_path):
    losses = form(LOSSES).drop(columns="method").rename(columns=lambda name: name.replace("acc", "loss"))
    frame = pd.concat([form(MEANS), losses], axis=1).assign(acc_n=5, loss_n=[50, 40])
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ("--also", "loss", "min", "--claim", "base beats x on loss")
    rows, said = judged(tmp_path, tmp_path / "a.csv", *CALL, *words)
    expected = stats.ttest_ind_from_stats(0.897, 0.005, 5, 0.912, 0.004, 5, equal_var=False)
    assert (rows["x"]["n"], rows["x"]["p"]) == (5, pytest.approx(expected.pvalue))
    kept = StudyFolder(tmp_path, "a").evidence().frames[SUMMARIES].set_index(["variant", "metric"])
    assert kept.loc[("x", "loss")].drop("task").tolist() == [0.35, 0.03, 40]
    assert kept.loc[("baseline", "loss"), "n"] == 50
    assert "over as many runs as acc_n says" in said
    assert "over as many runs as loss_n says" in said
    (claim,) = StudyFolder(tmp_path, "a").claims()
    assert (claim["n"], claim["verdict"]) == ("40", "supported")


SINGLE = {
    # How a row says that it is one run → its names, further columns, further options.
    "a column of seeds": ("{v}", {"seed": [0, 1, 2] * 2}, {}),
    "seeds in names": ("{v}_s{s}", {}, {}),
    "a pattern": ("{v}@{s}", {}, {"seed": "@([0-9]+)"}),
    "a column that the call names": ("{v}", {"rng": [0, 1, 2] * 2}, {"column": {"seed": "rng"}}),
    "folds": ("{v}", {"fold": [0, 1, 2] * 2}, {}),
    "several rows of a variant": ("{v}", {}, {}),
}


@pytest.mark.fast_cases(8)
@BOTH
@pytest.mark.parametrize("way", SINGLE)
@pytest.mark.parametrize("counts", [{"n": 1000}, {}], ids=["with n", "without n"])
def test_a_deviation_beside_a_single_run_is_none_of_runs(form, way, counts):
    name, columns, options = SINGLE[way]
    rows = [
        (name.format(v=variant, s=seed), round(mean + seed**2 / 10, 3), 0.4)
        for variant, mean in (("base", 91.0), ("x", 93.0))
        for seed in range(3)
    ]
    table = table_of(form(rows, **columns, **counts), AnalysisOptions(**{**vars(ACC), **options}))
    assert not table.are_summaries
    assert table.rows.groupby("variant").size().to_dict() == {"base": 3, "x": 3}
    assert table.rows["acc"].astype(float).tolist() == [row[1] for row in rows]
    assert any("acc" in note and "not" in note for note in table.notes)


@pytest.mark.slow
@BOTH
def test_two_numbers_of_runs_of_one_metric_are_refused_unless_they_are_the_same(form):
    for names in (("n", "n_seeds"), ("acc_n", "acc_count")):
        counts = dict(zip(names, (1000, 5), strict=True))
        with pytest.raises(AblateError, match=", ".join(names)):
            table_of(form(MEANS, **counts), ACC)
        table = table_of(form(MEANS, **dict.fromkeys(names, 5)), ACC)
        assert [row.spreads["acc"].n for row in table.summaries.values()] == [5, 5]
        assert not table.has_seeds
    own = table_of(form(MEANS, n=1000, acc_n=5), ACC)
    assert [row.n for row in own.summaries.values()] == [5, 5]


@pytest.mark.fast_cases(6)
@BOTH
@pytest.mark.parametrize(
    ("column", "baseline"),
    [
        ({"variant": "method,n"}, "method=base, n=10"),
        ({"variant": ["method", "n"]}, "method=base, n=10"),
        ({"task": "n"}, "base"),
    ],
)
@pytest.mark.parametrize("counts", [{"n_seeds": 5}, {"acc_n": 5}], ids=str)
def test_a_column_that_the_call_names_is_no_number_of_runs(form, column, baseline, counts):
    options = AnalysisOptions(baseline=baseline, metric="acc", direction="max", column=column)
    table = table_of(form(MEANS * 2, n=[10, 10, 20, 20], **counts), options)
    assert [row.spreads["acc"].n for row in table.summaries.values()] == [5] * 4
    assert table.rows["acc"].astype(float).tolist() == [row[1] for row in MEANS * 2]


def test_a_number_of_runs_in_a_header_and_another_in_a_column_are_refused():
    frame = in_cells(MEANS, n=1000).rename(columns={"acc": "acc (5 seeds)"})
    options = AnalysisOptions(baseline="base", metric="acc (5 seeds)", direction="max")
    with pytest.raises(AblateError, match="says twice over how many runs"):
        table_of(frame, options)


def test_headers_may_have_a_number_of_runs_each():
    frame = in_cells(MEANS, f1=["0.5 ± 0.1", "0.6 ± 0.1"])
    frame = frame.rename(columns={"acc": "acc (5 seeds)", "f1": "f1 (3 seeds)"})
    for metric, count in (("acc", 5), ("f1", 3)):
        table = table_of(frame, AnalysisOptions(baseline="base", metric=metric, direction="max"))
        assert [row.n for row in table.summaries.values()] == [count, count]


@pytest.mark.parametrize("spread", ["-0.4", "inf", "nan"])
@pytest.mark.parametrize("word", ["std", "sem", "var"])
def test_a_spread_that_is_none_is_refused_by_its_line(spread, word):
    frame = pd.DataFrame({"method": ["base", "x"], "acc_mean": [91.0, 94.1], f"acc_{word}": ["0.6", spread]})
    with pytest.raises(AblateError, match=re.escape(f"row 1: acc_{word}: must be a ")) as refused:
        table_of(frame.assign(n=5), ACC)
    assert refused.match(re.escape(f"given '{spread}'"))


def test_a_deviation_below_zero_is_refused_by_its_line():
    with pytest.raises(AblateError, match=r"row 0: acc: must be a standard deviation.*-0.4"):
        table_of(in_cells([("base", 91.0, -0.4), ("x", 94.1, 0.6)], n=5), ACC)


UNITS = {
    "a column of means": ("acc_mean,acc_std", "91.2%,0.004", "89.7%,0.005"),
    "a column of deviations": ("acc_mean,acc_std", "0.912,0.4%", "0.897,0.5%"),
    "a column of the metric": ("acc,acc_std", "91.2%,0.004", "89.7%,0.005"),
    "a mean in a cell": ("acc", "91.2% ± 0.004", "89.7% ± 0.005"),
    "some cells": ("acc", "91.2% ± 0.4%", "0.897 ± 0.005"),
}


@pytest.mark.parametrize("case", UNITS)
def test_units_of_means_and_deviations_agree(case, tmp_path):
    names, base, other = UNITS[case]
    (tmp_path / "a.csv").write_text(f"method,n,{names}\nbase,5,{base}\nx,5,{other}\n")
    done = CliRunner().invoke(main, ["analyse", str(tmp_path / "a.csv"), *CALL, "--results", str(tmp_path)])
    assert done.exit_code == 2
    assert re.search("percent sign|without %", " ".join(done.stderr.split()))


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("names", "base", "other"),
    [
        ("acc", "91.2% ± 0.4%", "89.7% ± 0.5%"),
        ("acc", "91.2 ± 0.4%", "89.7 ± 0.5%"),
        ("acc_mean,acc_std", "91.2%,0.4%", "89.7%,0.5%"),
    ],
)
def test_percent_of_both_is_percent(names, base, other, tmp_path):
    (tmp_path / "a.csv").write_text(f"method,n,{names}\nbase,5,{base}\nx,5,{other}\n")
    rows, _ = judged(tmp_path, tmp_path / "a.csv", *CALL)
    expected = stats.ttest_ind_from_stats(89.7, 0.5, 5, 91.2, 0.4, 5, equal_var=False)
    assert rows["x"]["p"] == pytest.approx(expected.pvalue)


@pytest.mark.slow
@BOTH
def test_a_metric_without_deviations_is_judged_as_in_a_table_without_any(form):
    frame = form(MEANS, n=5, f1=[80.0, 81.0])
    options = AnalysisOptions(baseline="base", metric="f1", direction="max")
    for each in (frame, frame[["method", "f1"]]):
        table = table_of(each, options)
        assert not table.are_summaries
        with pytest.raises(AblateError, match="two or more runs of each variant"):
            evidence_of(table, table.options.metrics(), table.options, "a")
    beside = AnalysisOptions(baseline="base", metric="acc", direction="max", also={"f1": "max"})
    with pytest.raises(AblateError, match=r"--also: has means without deviations.*f1"):
        table_of(frame, beside)


@BOTH
def test_a_lone_mean_does_not_count_and_is_named(form):
    frame = form([*MEANS, ("y", 0.9, "")], n=5)
    if "acc" in frame:
        frame["acc"] = frame["acc"].str.removesuffix(" ± ")
    table = table_of(frame, ACC)
    assert table.rows["acc"].tolist() == ["0.912", "0.897", ""]
    assert [[*row.spreads] for row in table.summaries.values()] == [["acc"], ["acc"], []]
    assert "A mean of acc without a deviation does not count: row 2" in table.notes


@BOTH
@pytest.mark.parametrize("replicates", [False, True])
def test_several_rows_of_a_variant_are_runs_in_either_form(form, replicates):
    rows = [("base", 0.5, 0.1), ("base", 0.52, 0.1), ("x", 0.6, 0.1), ("x", 0.8, 0.2)]
    parts = {"part": [1, 2, 1, 2]} if replicates else {}
    options = AnalysisOptions(baseline="base", metric="acc", direction="max", replicates=replicates)
    table = table_of(form(rows, n=4, **parts), options)
    assert not table.are_summaries
    assert table.rows["acc"].astype(float).tolist() == [0.5, 0.52, 0.6, 0.8]
    said = "A variant has several rows, each of which counts as a run, and the deviations beside acc do not count"
    assert said in table.notes


@pytest.mark.slow
@BOTH
def test_a_row_of_each_variant_and_task_is_a_mean(form):
    rows = [*MEANS, *MEANS]
    table = table_of(form(rows, n=5, task=["a", "a", "b", "b"]), ACC)
    assert len(table.summaries) == 4
    one = AnalysisOptions(baseline="base", metric="acc", direction="max", where=["split=test"])
    table = table_of(form(rows, n=5, split=["test", "test", "val", "val"]), one)
    assert len(table.summaries) == 2


@BOTH
def test_a_number_of_examples_is_no_number_of_runs(form):
    table_of(form(MEANS, n=MAX_RUNS), ACC)
    with pytest.raises(AblateError, match="row 0: n: must be a number of runs, 10,000 at most"):
        table_of(form(MEANS, n=3_000_000), ACC)


@pytest.mark.slow
@BOTH
def test_variants_may_have_names_that_are_numbers(form):
    rows = [("0.1", 0.912, 0.004), ("0.3", 0.897, 0.005)]
    frame = form(rows, n=5).rename(columns={"method": "lr"})
    table = table_of(frame, AnalysisOptions(baseline="0.1", metric="acc", direction="max"))
    assert [row.spreads["acc"].sd for row in table.summaries.values()] == [0.004, 0.005]
    rows = [(name, mean, 0.01) for name, mean in itertools.product(("base", "x"), (0.5, 0.6))]
    frame = form(rows, n=5, lr=[0.1, 0.3] * 2)
    with pytest.raises(AblateError, match="rows of one variant differ in lr"):
        table_of(frame, ACC)
    joined = AnalysisOptions(
        baseline="method=base, lr=0.1", metric="acc", direction="max", variant=["method", "lr"]
    )
    assert len(table_of(frame, joined).summaries) == 4


@pytest.mark.slow
def test_a_column_called_std_has_the_deviations_of_the_only_mean():
    frame = in_columns(MEANS, n=5).rename(columns={"acc_mean": "acc", "acc_std": "std"})
    table = table_of(frame, ACC)
    assert [row.spreads["acc"].sd for row in table.summaries.values()] == [0.004, 0.005]
    with pytest.raises(
        AblateError, match=r"has deviations in std, and does not say of which means.*acc, loss"
    ):
        table_of(frame.assign(loss=[0.3, 0.4]), ACC)
    setting = table_of(frame.rename(columns={"std": "sigma"}), ACC)
    assert not setting.are_summaries


BAD = {
    "no deviation after the sign": ("94.1 ±", "row 1: acc: must be a number.*94.1 ±.*Write a mean"),
    "decimal comma": ("94,1 ± 0,4", "row 1: acc: must be a number.*94,1 ± 0,4.*Write a mean"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_cell_that_is_none_is_blamed_alone(case):
    cell, said = BAD[case]
    frame = pd.DataFrame({"method": ["base", "x", "y"], "acc": ["91.0 ± 0.4", cell, "94.1 ± 0.4"], "n": 5})
    table = table_of(frame, ACC)
    with pytest.raises(AblateError, match=said) as refused:
        evidence_of(table, table.options.metrics(), table.options, "a")
    assert "row 0" not in str(refused.value)


@pytest.mark.parametrize("cell", ["n/a", "-", ""])
def test_a_missing_cell_among_means_is_a_missing_mean(cell):
    frame = pd.DataFrame({"method": ["base", "x", "y"], "acc": ["91,5 ± 0,4", cell, "94,1 ± 0,4"], "n": 5})
    table = table_of(frame, ACC)
    assert table.rows["acc"].tolist() == ["91.5", "", "94.1"]
    assert table.are_summaries


@pytest.mark.slow
def test_intervals_of_another_metric_do_not_matter():
    frame = in_cells(MEANS, n=5).assign(**{"f1 (95% CI)": ["80.0 ± 1.0", "81.0 ± 1.0"]})
    for metric in ("acc", "Acc"):
        assert table_of(frame, AnalysisOptions(baseline="base", metric=metric, direction="max")).are_summaries
    asked = AnalysisOptions(baseline="base", metric="f1 (95% CI)", direction="max")
    with pytest.raises(AblateError, match="the level or the kind is not known"):
        table_of(frame, asked)


@pytest.mark.slow
def test_columns_of_means_that_no_call_can_judge_keep_their_names():
    frame = in_columns(MEANS, time=[1.5, 2.5]).rename(columns=lambda name: name.replace("acc", "stats"))
    for metric in ("time", "stats_max"):
        with pytest.raises(AblateError, match="stats_mean, stats_std"):
            table_of(
                frame.drop(columns="time"), AnalysisOptions(baseline="base", metric=metric, direction="max")
            )
    options = AnalysisOptions(baseline="base", metric="time", direction="max")
    assert not table_of(frame.assign(n=5), options).are_summaries
    with pytest.raises(AblateError, match="stats_mean"):
        table_of(frame.drop(columns="time"), AnalysisOptions(baseline="base", direction="max"))
