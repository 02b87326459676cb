"""The folds of one cross-validation: paired by fold, with the variance of Nadeau and Bengio (2003)."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats

import ablate
from ablate.base.errors import AblateError

BASE = [0.912, 0.905, 0.921, 0.899, 0.917]
WIDE = [0.9218, 0.9190, 0.9361, 0.9170, 0.9391]
CHANGES = np.subtract(WIDE, BASE)


def cross_validated(variants=None):
    """A row a variant and fold."""
    variants = variants or {"base": BASE, "wide": WIDE}
    rows = [(name, fold, value) for name, values in variants.items() for fold, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["model", "fold", "acc"])


def analysed(runs, folder, **options):
    options = {
        "baseline": "base",
        "metric": "acc",
        "direction": "max",
        "results": folder / "results",
    } | options
    return ablate.analyse(runs, **options)


def compared(runs, folder, **options):
    [row] = analysed(runs, folder, **options).comparisons.to_dict("records")
    return row


def of_nadeau_and_bengio(differences, num_folds):
    """Interval, p and detectable difference by scipy alone, with n_test/n_train = 1/(k − 1)."""
    n = len(differences)
    error = np.sqrt((1 / n + 1 / (num_folds - 1)) * np.var(differences, ddof=1))
    mean = np.mean(differences)
    critical = stats.t.ppf(0.975, n - 1)

    def missed(shift):
        # The probability that t with this noncentrality stays below the critical value, by its definition.
        def density(s):
            return (
                stats.norm.cdf(critical * s - shift)
                * stats.chi.pdf(s * np.sqrt(n - 1), n - 1)
                * np.sqrt(n - 1)
            )

        return integrate.quad(density, 0, 10)[0]

    shift = optimize.brentq(lambda shift: missed(shift) - 0.2, 0, 50)
    p = 2 * stats.t.sf(abs(mean) / error, n - 1)
    return {
        "ci_low": mean - critical * error,
        "ci_high": mean + critical * error,
        "p": p,
        "mde": shift * error,
    }


@pytest.mark.slow
def test_five_folds_have_the_interval_of_the_literature(tmp_path):
    row = compared(cross_validated(), tmp_path)
    numbers = [round(row[name], 4) for name in ("diff", "ci_low", "ci_high")]
    assert (row["n"], numbers) == (5, [0.0158, 0.0073, 0.0243])
    uncorrected = stats.ttest_1samp(CHANGES, 0).confidence_interval(0.95)
    assert [round(bound, 4) for bound in uncorrected] == [0.0101, 0.0215]


def in_columns(folder):
    cells = [f"split{fold}_test_acc" for fold in range(5)]
    rows = [["base", *BASE, 0.91, 2], ["wide", *WIDE, 0.93, 1]]
    table = pd.DataFrame(rows, columns=["param_clf", *cells, "mean_test_acc", "rank_test_acc"])
    table.to_csv(folder / "cv.csv", index=False)
    return folder / "cv.csv", {"metric": "test_acc"}


def in_folders(folder):
    for run in cross_validated().to_dict("records"):
        place = folder / "runs" / run["model"] / f"fold_{run['fold']}"
        place.mkdir(parents=True)
        (place / "metrics.json").write_text(json.dumps({"acc": run["acc"]}))
    return folder / "runs", {}


SAID = {
    "a column that is named fold": lambda folder: (cross_validated(), {}),
    "a column that the call names": lambda folder: (
        cross_validated().rename(columns={"fold": "cv"}),
        {"seed": "cv"},
    ),
    "columns of a search by scikit-learn": in_columns,
    "folders": in_folders,
    "folders, by a pattern": lambda folder: (in_folders(folder)[0], {"seed": "fold_([0-9]+)"}),
    "a seed that is the same for all": lambda folder: (cross_validated().assign(seed=0), {"seed": "fold"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SAID)
def test_the_call_or_the_runs_say_that_they_are_folds(case, tmp_path):
    runs, options = SAID[case](tmp_path)
    row = compared(runs if isinstance(runs, pd.DataFrame) else str(runs), tmp_path, **options)
    assert {name: row[name] for name in ("ci_low", "ci_high", "p", "mde")} == pytest.approx(
        of_nadeau_and_bengio(CHANGES, 5), rel=1e-6
    )
    report = next(tmp_path.glob("results/**/report.md")).read_text()
    assert "over 5 folds of one cross-validation" in report
    assert "They repeat the split of the data and not the seed" in report
    assert "paired with base by fold (5 pairs" in report
    assert "seed 3" not in report


@pytest.mark.slow
def test_a_fold_without_a_result_counts_among_the_folds_of_its_task(tmp_path):
    runs = cross_validated().assign(status="finished")
    runs.loc[8, ["acc", "status"]] = [None, "crashed"]
    row = compared(runs, tmp_path)
    assert row["n"] == 4
    expected = of_nadeau_and_bengio(np.delete(CHANGES, 3), 5)
    assert {name: row[name] for name in ("ci_low", "ci_high", "p")} == pytest.approx(
        {name: expected[name] for name in ("ci_low", "ci_high", "p")}
    )
    assert "4 of 5 (fold 3 crashed)" in next(tmp_path.glob("results/**/report.md")).read_text()


@pytest.mark.slow
def test_tasks_have_the_number_of_their_own_folds(tmp_path):
    other = cross_validated({"base": BASE[:3], "wide": WIDE[:3]})
    runs = pd.concat([cross_validated().assign(task="five"), other.assign(task="three")], ignore_index=True)
    rows = analysed(runs, tmp_path).comparisons.set_index("task")
    for task, num_folds in (("five", 5), ("three", 3)):
        expected = of_nadeau_and_bengio(CHANGES[:num_folds], num_folds)
        assert rows.loc[task, "p"] == pytest.approx(expected["p"])


@pytest.mark.slow
def test_more_folds_are_no_remedy(tmp_path):
    row = compared(cross_validated({"base": BASE, "wide": [0.93, 0.90, 0.925, 0.89, 0.93]}), tmp_path)
    assert (row["verdict"], row["reason"]) == ("inconclusive", "folds")
    report = next(tmp_path.glob("results/**/report.md")).read_text()
    assert "needs more data, not more folds" in report


@pytest.mark.slow
def test_with_replicates_folds_are_runs_that_nothing_pairs(tmp_path):
    row = compared(cross_validated(), tmp_path, replicates=True)
    assert row["p"] == pytest.approx(stats.ttest_ind(WIDE, BASE, equal_var=False).pvalue)
    assert "Folds in fold count as runs" in next(tmp_path.glob("results/**/report.md")).read_text()


@pytest.mark.slow
def test_repeated_cross_validation_is_not_taken_for_one(tmp_path):
    repeats = [cross_validated().assign(repeat=0), cross_validated().assign(repeat=1)]
    repeats[1]["acc"] += [0.002, -0.001, 0.003, 0.001, -0.002] * 2
    runs = pd.concat(repeats, ignore_index=True)
    with pytest.raises(AblateError, match="differ in fold, repeat"):
        analysed(runs, tmp_path)
    seeded = runs.rename(columns={"repeat": "seed"})
    with pytest.raises(AblateError, match="differ in fold"):
        analysed(seeded, tmp_path)
    with pytest.raises(AblateError, match="are the same run"):
        analysed(seeded, tmp_path, seed="fold")


@pytest.mark.slow
def test_one_of_several_cross_validations_is_kept_by_its_seed(tmp_path):
    repeats = [cross_validated().assign(seed=0), cross_validated().assign(seed=1)]
    runs = pd.concat(repeats, ignore_index=True)
    row = compared(runs, tmp_path, seed="fold", where=["seed=0"])
    assert row["p"] == pytest.approx(of_nadeau_and_bengio(CHANGES, 5)["p"])


def test_folds_are_not_counted_as_if_they_were_independent(tmp_path):
    with pytest.raises(AblateError, match="all-or-nothing: needs runs that share no training data"):
        analysed(cross_validated(), tmp_path, all_or_nothing=0.92, floor=0.0, ceiling=1.0)


@pytest.mark.slow
def test_folds_of_which_no_two_are_shared_are_not_compared(tmp_path):
    runs = cross_validated()
    runs.loc[runs["model"] == "wide", "fold"] += 10
    row = compared(runs, tmp_path)
    assert (row["n"], row["verdict"]) == (0, "inconclusive")
    report = next(tmp_path.glob("results/**/report.md")).read_text()
    assert "not compared, because fewer than two of its 5 runs share a fold with a run of base" in report
    assert "0 folds, at least 2 needed" in report


@pytest.mark.slow
def test_a_column_that_scores_a_cross_validation_or_seeds_it_holds_no_folds(tmp_path):
    runs = cross_validated().rename(columns={"fold": "cv_seed"}).assign(cv_score=[1, 2, 3, 4, 5] * 2)
    row = compared(runs, tmp_path, seed="cv_seed")
    assert row["p"] == pytest.approx(stats.ttest_rel(WIDE, BASE).pvalue)


@pytest.mark.slow
def test_a_seed_that_all_runs_share_numbers_none_of_its_folds(tmp_path):
    kept = cross_validated().assign(seed=0)
    runs = pd.concat([kept, kept.assign(seed=1)])
    row = pd.Series(compared(runs, tmp_path, where=["seed=0"]))
    pd.testing.assert_series_equal(row, pd.Series(compared(cross_validated(), tmp_path)))
    with pytest.raises(AblateError, match="the same run"):
        analysed(runs, tmp_path, where=["seed=0"], seed="seed")
