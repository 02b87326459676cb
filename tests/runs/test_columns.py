"""The columns of runs: one meaning each, and values as the file has them, to the last digit."""

import shutil

import numpy as np
import pandas as pd
import pytest
from harness import ablate_here

from ablate.records.folder import StudyFolder

LARGE = 2**53
"""The whole number from which on floats merge neighbours."""
CALL = ["--baseline", "base", "--direction", "min", "--metric"]


def table(column="loss", seeds=range(5), others=()):
    """Runs of two variants, the seeds of each or of both given."""
    of_variant = seeds if isinstance(seeds, dict) else {"base": seeds, "wide": seeds}
    rows = []
    for shift, (variant, numbers) in enumerate(of_variant.items()):
        for place, seed in enumerate(numbers):
            value = 3 - 0.1 * shift + 0.013 * (7 * place % 5) + 0.001 * shift * place
            rows.append({"variant": variant, "seed": seed, column: value} | dict.fromkeys(others, value + 1))
    return pd.DataFrame(rows)


def analyse(folder, runs, *words, metric="loss"):
    """Judges a table as the first one of its folder."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    if isinstance(runs, pd.DataFrame):
        runs = runs.to_csv(index=False)
    (folder / "runs.csv").write_text(runs)
    return ablate_here("analyse", "runs.csv", *CALL, metric, *words, cwd=folder)


def row(folder, name="runs"):
    return next(iter(StudyFolder(folder / "results", name).comparisons()))


@pytest.mark.parametrize("name", ["variant", "task", "seed", "example", "source", "status", "reason", "id"])
def test_a_metric_with_the_name_of_another_column_is_refused(name, tmp_path):
    runs = table(others=[] if name in ("variant", "seed") else [name])
    for words, metric in (((), name), (("--also", name, "max"), "loss")):
        done = analyse(tmp_path, runs, *words, metric=metric)
        assert (done.returncode, f"given '{name}'" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base", "baseline", "values", "metric", "index", "level_0", "wide"])
def test_any_other_name_is_judged_by_run_and_by_example(name, tmp_path):
    assert analyse(tmp_path, table(name), metric=name).returncode == 0
    assert row(tmp_path)["metric"] == name
    by_example = table(name, range(30)).rename(columns={"seed": "example"})
    assert analyse(tmp_path, by_example, metric=name).returncode == 0
    assert (row(tmp_path)["n"], row(tmp_path)["metric"]) == ("30", name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--also", "a", "max", "--also", "a", "min"), "--also: must name each metric once"),
        (("--also", "seed_spread", "max"), "--also: is a name"),
        (("--column", "variant", "a,a"), "--column variant: must name each column once"),
        (("--column", "task", "loss"), "--column task: names a metric"),
        (("--column", "example", "a", "--also", "a", "max"), "--column example: names a metric"),
        (("--column", "source", "a"), "--column source: "),
        (("--column", "seed", "a,seed"), "has no column 'a,seed'"),
        (("--where", "id=1"), "--where: names no column"),
        (("--claim", "wide beats base on seed"), "--claim: unknown metric 'seed'"),
    ],
)
def test_a_column_has_one_meaning(words, said, tmp_path):
    done = analyse(tmp_path, table(others=["a"]), *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_documents_whose_metric_never_varies_have_no_sources_to_tell(tmp_path):
    runs = table(seeds=np.repeat(range(4), 3)).groupby(["variant", "seed"]).transform("first")
    runs = table(seeds=np.repeat(range(4), 3)).assign(loss=runs["loss"], example=[*range(3)] * 8, page=0)
    assert analyse(tmp_path, runs, "--column", "source", "page").returncode == 0


@pytest.mark.slow
def test_seeds_that_floats_merge_stay_apart(tmp_path):
    """A seed that is written as a float made floats of all: 2⁵³ and 2⁵³ + 1 were a pair."""
    seeds = {
        "base": [LARGE, LARGE + 4, "3.0", 4, 5],
        "wide": [LARGE + 1, LARGE + 5, "3.0", 4, 5],
    }
    done = analyse(tmp_path, table(seeds=seeds))
    assert "wide: paired with base by seed (3 pairs" in done.stdout
    everything = [LARGE + place for place in range(5)]
    assert analyse(tmp_path, table(seeds=everything)).returncode == 0
    assert row(tmp_path)["n"] == "5"
    kept = [f"--where=seed={seed}" for seed in everything[:3]]
    assert analyse(tmp_path, table(seeds=everything), *kept).returncode == 0
    assert row(tmp_path)["n"] == "3"


@pytest.mark.parametrize("seed", [f"{LARGE}.0", "1e16", 2**63, "1e999999999", "1.5", "True", "٣"])
def test_a_seed_that_has_lost_its_digits_or_is_none_is_refused(seed, tmp_path):
    done = analyse(tmp_path, table(seeds=[0, 1, seed]))
    assert (done.returncode, "seed: must be a whole number" in done.stderr) == (2, True)


@pytest.mark.slow
def test_parquet_keeps_whole_numbers_and_refuses_those_that_were_floats(tmp_path):
    runs = table(seeds=[LARGE + place for place in range(4)])
    for kind, code in (("int64", 0), ("uint64", 0), ("float64", 2)):
        runs.astype({"seed": kind}).to_parquet(tmp_path / "p.parquet")
        assert ablate_here("analyse", "p.parquet", *CALL, "loss", cwd=tmp_path).returncode == code
    assert row(tmp_path, "p")["n"] == "4"
    variants = table(seeds={LARGE: range(3), LARGE + 1: range(3)})
    variants.to_parquet(tmp_path / "p.parquet")
    call = ["--baseline", LARGE, "--direction", "min", "--metric", "loss"]
    assert ablate_here("analyse", "p.parquet", *call, "--name", "large", cwd=tmp_path).returncode == 0
    assert row(tmp_path, "large")["variant"] == str(LARGE + 1)


@pytest.mark.slow
def test_names_that_are_numbers_are_names(tmp_path):
    runs = table(seeds={name: range(4) for name in ("base", "0.1", "0.10", "007", "7")})
    assert analyse(tmp_path, runs).returncode == 0
    variants = {row["variant"] for row in StudyFolder(tmp_path / "results", "runs").comparisons()}
    assert variants == {"0.1", "0.10", "007", "7"}


@pytest.mark.slow
@pytest.mark.parametrize("values", [["12e45678", "34e99999"], [LARGE, LARGE + 1]])
def test_versions_of_the_code_that_are_one_float_are_two(values, tmp_path):
    done = analyse(tmp_path, table(seeds=range(4)).assign(commit=values * 4))
    assert (done.returncode, "differ in commit" in done.stderr) == (2, True)
    only = analyse(
        tmp_path, table(seeds=range(4)).assign(commit=values * 4), "--where", f"commit={values[0]}"
    )
    assert (only.returncode, row(tmp_path)["n"]) == (0, "2")
    spelled = table(seeds=range(4)).assign(lr=["0.1", "0.10"] * 4)
    assert analyse(tmp_path, spelled).returncode == 0


@pytest.mark.slow
def test_a_number_of_any_spelling_is_the_nearest_float(tmp_path):
    runs = table()
    numbers = np.random.default_rng(0).normal(1000, 1, len(runs)).tolist()
    runs["loss"] = [f"{number:+.17g}" for number in numbers]
    assert analyse(tmp_path, runs).returncode == 0
    assert list(StudyFolder(tmp_path / "results", "runs").evidence().trials["loss"]) == numbers


@pytest.mark.slow
def test_a_metric_of_some_examples_is_none_of_the_run(tmp_path):
    draw = np.random.default_rng(0)
    rows = []
    for variant in ("base", "wide"):
        for seed in range(5):
            for example in range(20):
                hard = example < 10
                f1 = 0.9 - 0.6 * hard + 0.1 * draw.random()
                has_f1 = not (variant == "wide" and hard)
                loss = draw.random()
                rows.append((variant, seed, example, loss, f1 if has_f1 else ""))
    runs = pd.DataFrame(rows, columns=["variant", "seed", "example", "loss", "f1"])
    claim = ("--also", "f1", "max", "--claim", "wide beats base on f1")
    assert analyse(tmp_path, runs, *claim).returncode == 0
    (judged,) = StudyFolder(tmp_path / "results", "runs").claims()
    assert (judged["verdict"], judged["reason"].partition(" ")[0]) == ("inconclusive", "incomplete")
