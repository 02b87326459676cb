"""What the folders of runs say beside variant and seed is not thrown away."""

import json

import pytest
from scipy import stats

import ablate
from ablate.base.errors import AblateError
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read

BASE = [0.801, 0.795, 0.812, 0.788, 0.806]
WIDE = [0.823, 0.814, 0.830, 0.812, 0.825]


def folders(root, parts, *, configured=True):
    """A folder for each variant and part, whose config names the variant and no seed."""
    for variant, values in (("base", BASE), ("wide", WIDE)):
        for part, value in zip(parts, values, strict=True):
            place = root / variant / part
            place.mkdir(parents=True)
            (place / "metrics.json").write_text(json.dumps({"acc": value}))
            if configured:
                (place / "config.yaml").write_text(f"model: {variant}\nlr: 0.1\n")
    return root


def table(root, **options):
    return read(str(root), AnalysisOptions(baseline="base", metric="acc", direction="max", **options))


@pytest.mark.parametrize(
    "parts",
    [
        ["best", "last", "swa", "ema", "avg"],
        ["iter_1000", "iter_2000", "iter_3000", "iter_4000", "iter_5000"],
        ["train", "val", "test", "dev", "ood"],
        ["0", "1", "2", "3", "mean"],
        ["cifar10", "imagenet", "mnist", "stl10", "svhn"],
    ],
)
def test_folders_of_one_variant_that_say_something_else_are_no_replicates(parts, tmp_path):
    with pytest.raises(AblateError, match="differ in folders"):
        table(folders(tmp_path, parts))


@pytest.mark.parametrize(
    "parts",
    [
        [f"seed{seed}" for seed in range(5)],
        [str(seed) for seed in range(5)],
        [f"model=base,lr=0.1,seed={seed}" for seed in range(5)],
    ],
)
def test_folders_that_say_settings_and_seeds_alone_are_runs_that_pair(parts, tmp_path):
    rows = table(folders(tmp_path, parts)).rows
    assert sorted(zip(rows["variant"], rows["seed"].astype(int), strict=True)) == [
        (variant, seed) for variant in ("base", "wide") for seed in range(5)
    ]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("configured", [True, False])
def test_a_stray_folder_takes_the_seeds_of_no_other(configured, tmp_path):
    folders(tmp_path, [f"seed{seed}" for seed in range(5)], configured=configured)
    stray = tmp_path / "wide" / "debug"
    stray.mkdir()
    (stray / "metrics.json").write_text('{"acc": 0.1}')
    if configured:
        (stray / "config.yaml").write_text("model: wide\nlr: 0.1\n")
    with pytest.raises(AblateError, match="wide/debug"):
        ablate.analyse(str(tmp_path), baseline="base", metric="acc", direction="max", results=tmp_path / "r")
    where = ['run != "wide/debug"']
    results = ablate.analyse(
        str(tmp_path), baseline="base", metric="acc", direction="max", where=where, results=tmp_path / "r"
    )
    (row,) = results.comparisons.to_dict("records")
    change = [wide - base for wide, base in zip(WIDE, BASE, strict=True)]
    assert [row["n"], row["ci_low"], row["ci_high"]] == pytest.approx(
        [5, *stats.ttest_1samp(change, 0).confidence_interval(0.95)]
    )


@pytest.mark.parametrize("configured", [True, False])
def test_folds_in_folders_are_said_to_be_folds(configured, tmp_path):
    found = table(folders(tmp_path, [f"fold_{fold}" for fold in range(5)], configured=configured))
    assert found.run_name == "fold"
    assert found.rows["seed"].tolist() == [*"01234"] * 2
