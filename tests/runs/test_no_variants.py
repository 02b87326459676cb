"""Columns and rows beside the values of variants that hold none, and names and values that only look alike."""

import itertools

import pandas as pd
import pytest
from scipy import stats

import ablate
from ablate.core.treatment import Treatment
from ablate.runs.formats.frames import runs_in_frame
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import by_roles
from ablate.runs.shape_in_words import shape_of

BASE = [0.801, 0.795, 0.812, 0.788, 0.806]
WIDE = [0.823, 0.814, 0.830, 0.812, 0.825]
OPTIONS = {"baseline": "base", "metric": "acc", "direction": "max"}


def rows_of(runs, **options):
    rows = ablate.analyse(runs, **(OPTIONS | options)).comparisons
    return {row["variant"]: row for row in rows.to_dict("records")}


def paired(one, other, num_comparisons=1):
    change = [after - before for before, after in zip(one, other, strict=True)]
    return stats.ttest_1samp(change, 0).confidence_interval(1 - 0.05 / num_comparisons)


def interval(row):
    return [row["ci_low"], row["ci_high"]]


BESIDE = {
    "epochs": ("epoch", [10] * 5),
    "minutes": ("minutes", [10, 11, 12, 13, 14]),
    "seconds as fractions": ("runtime", [61.25, 60.5, 59.75, 62.5, 61.0]),
    "a difference": ("diff", [round(after - before, 4) for before, after in zip(BASE, WIDE, strict=True)]),
    "the other way": ("Δ wide", [round(before - after, 4) for before, after in zip(BASE, WIDE, strict=True)]),
}


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("case", BESIDE)
def test_a_column_beside_those_of_variants_is_no_variant(case):
    name, values = BESIDE[case]
    rows = rows_of(pd.DataFrame({"seed": range(5), name: values, "base": BASE, "wide": WIDE}))
    assert [*rows] == ["wide"]
    assert interval(rows["wide"]) == pytest.approx([*paired(BASE, WIDE)], abs=1e-12)


@pytest.mark.fast_cases(3)
@pytest.mark.parametrize("values", [WIDE, [1, 1, 1, 1, 1]])
@pytest.mark.parametrize("name", ["memory", "best", "time", "diff", "index"])
def test_a_variant_with_such_a_name_stays(name, values):
    rows = rows_of(pd.DataFrame({"seed": range(5), "base": BASE, name: values}))
    assert interval(rows[name]) == pytest.approx([*paired(BASE, values)], abs=1e-12)


@pytest.mark.slow
def test_the_mean_of_numbered_runs_of_one_name_is_no_run():
    names = [f"{variant}-{number}" for variant in ("base", "wide") for number in range(5)]
    runs = pd.DataFrame({"variant": ["base"] * 5 + ["wide"] * 5, "acc": BASE + WIDE, "run": names})
    means = pd.DataFrame(
        [["base", 0.8004, "base-mean"], ["wide", 0.8208, "wide-mean"]], columns=["variant", "acc", "run"]
    )
    row = rows_of(pd.concat([runs, means], ignore_index=True))["wide"]
    welch = stats.ttest_ind(WIDE, BASE, equal_var=False).confidence_interval(0.95)
    assert row["n"] == 5
    assert interval(row) == pytest.approx([*welch], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Macro avg", "mean over tasks", "Grand mean"])
def test_a_mean_over_tasks_is_no_task(name):
    rows = []
    for variant, scores in (("base", BASE), ("wide", WIDE)):
        for seed, score in enumerate(scores):
            hard = round(score - 0.2 + 0.001 * ((7 * seed) % 3), 4)
            values = {"easy": score, "hard": hard, name: round((score + hard) / 2, 5)}
            rows += [(variant, seed, task, value) for task, value in values.items()]
    runs = pd.DataFrame(rows, columns=["variant", "seed", "dataset", "acc"])
    results = ablate.analyse(runs, column={"task": "dataset"}, **OPTIONS)
    judged = results.comparisons.set_index("task")
    assert [*judged.index] == ["easy", "hard"]
    assert interval(judged.loc["easy"]) == pytest.approx([*paired(BASE, WIDE, 2)], abs=1e-12)


@pytest.mark.slow
def test_true_and_false_are_numbers_of_a_metric(tmp_path):
    solved = [1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1]
    runs = pd.DataFrame({"variant": ["base"] * 8 + ["wide"] * 8, "seed": [*range(8)] * 2, "acc": solved})
    flags = runs.assign(acc=[bool(value) for value in solved])
    flags.to_csv(tmp_path / "runs.csv", index=False)
    numbers = rows_of(runs)["wide"]
    assert numbers["diff"] == pytest.approx(0.25)
    for same in (flags, tmp_path / "runs.csv"):
        row = rows_of(same)["wide"]
        assert [row["n"], row["diff"], *interval(row)] == [8, 0.25, *interval(numbers)]


@pytest.mark.slow
@pytest.mark.parametrize("other", ["relu", "ReLU \u200b", "Re-LU"])
def test_names_that_are_written_almost_alike_are_told(other):
    names = ["Re_LU" if other == "Re-LU" else "ReLU", other]
    variants = ["base"] * 5 + [names[seed % 2] for seed in range(5)]
    runs = pd.DataFrame({"variant": variants, "seed": [*range(5)] * 2, "acc": BASE + WIDE})
    cautions = " ".join(ablate.analyse(runs, **OPTIONS).evidence.facts.cautions)
    assert "almost alike" in cautions
    apart = runs.assign(variant=runs["variant"].replace(dict(zip(names, ["k=-1", "k=1"], strict=True))))
    assert "almost alike" not in " ".join(ablate.analyse(apart, **OPTIONS).evidence.facts.cautions)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["tokens", "samples_seen", "frames"])
def test_training_counted_in_what_was_seen_is_a_budget(column):
    seen = [1_000_000] * 8 + [600_000, 1_000_000]
    runs = pd.DataFrame({"variant": ["base"] * 5 + ["wide"] * 5, "seed": [*range(5)] * 2, "acc": BASE + WIDE})
    row = rows_of(runs.assign(**{column: seen}), replicates=True)["wide"]
    assert '"seed": 3' in row["unequal_runs"]
    row = rows_of(runs.assign(**{column: [1_000_000] * 5 + [600_000] * 5}))["wide"]
    treatment = Treatment.parse(row["treatment"])
    assert (treatment.kind, treatment.path) == ("steps", column)
    assert (float(treatment.variant), float(treatment.baseline)) == (600_000, 1_000_000)


def test_a_run_that_failed_on_one_example_is_counted_among_the_failed():
    keys = [*itertools.product(["base", "wide"], range(3), range(4))]
    runs = pd.DataFrame(keys, columns=["variant", "seed", "example"])
    runs["acc"] = (runs["seed"] + runs["example"]) % 2
    runs["status"] = ["failed" if key == ("wide", 1, 2) else "ok" for key in keys]
    options = AnalysisOptions(baseline="base", metric="acc", direction="max")
    assert (
        shape_of(by_roles(runs_in_frame(runs, options), options)) == "6 runs, 2 × 3 seeds, 24 rows; 1 failed"
    )
