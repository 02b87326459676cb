"""Files of one run that speak of training data beside such of test data: the test counts, and is said to."""

import json

import pytest
from click.testing import CliRunner
from scipy import stats

from ablate.cli import main

BASE = (0.801, 0.812, 0.795, 0.808, 0.799)
WIDE = (0.826, 0.829, 0.823, 0.835, 0.817)


def text_of(suffix, history):
    if suffix == "csv":
        return "step,acc\n" + "".join(f"{step},{acc}\n" for step, acc in enumerate(history, start=1))
    return json.dumps({"acc": history[-1], "seed_used": "x"})


def judged(folder, train, test, num_train_rows=2, train_in=range(5)):
    """The only comparison, and what was said, where training data tell the contrary of test data."""
    for name, values in (("base", BASE), ("wide", WIDE)):
        for seed, value in enumerate(values):
            run = folder / f"r/{name}_s{seed}"
            run.mkdir(parents=True)
            (run / test).write_text(text_of(test.split(".")[-1], [0.4, value]))
            if seed in train_in:
                on_train = value + (0.1 if name == "base" else 0)
                (run / train).write_text(text_of(train.split(".")[-1], [0.5] * num_train_rows + [on_train]))
    words = [
        "analyse",
        str(folder / "r"),
        "--baseline",
        "base",
        "--metric",
        "acc",
        "--direction",
        "max",
        "--json",
    ]
    done = CliRunner().invoke(main, [*words, "--results", str(folder / "out")])
    assert done.exit_code == 0, done.stderr
    (row,) = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    return row, " ".join(done.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("train_metrics.json", "test_metrics.json"),
        ("train_results.json", "eval_results.json"),
        ("train_metrics.csv", "val_metrics.csv"),
        ("val_metrics.csv", "test_metrics.csv"),
        ("training-metrics.csv", "test.json"),
    ],
)
@pytest.mark.parametrize("train_in", [range(5), [1]])
def test_the_part_that_counts_more_is_judged(train, test, train_in, tmp_path):
    row, said = judged(tmp_path, train, test, train_in=train_in)
    expected = stats.ttest_rel(WIDE, BASE)
    assert (row["verdict"], row["p"]) == ("better", pytest.approx(expected.pvalue))
    assert f"acc of files such as {test} counts" in said


def folders_of_seeds(folder, train, test):
    """A folder a variant, with a file for each part of the data that has all seeds inside; training turns the order."""
    for name, values in (("base", BASE), ("wide", WIDE)):
        on_train = 0.1 if name == "base" else 0
        for file, added in ((train, on_train), (test, 0)):
            seeds = {f"seed_{seed}": {"acc": value + added} for seed, value in enumerate(values)}
            path = folder / f"r/{name}/{file}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"seeds": seeds}))
    return folder / "r"


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("train", "test", "metric", "says"),
    [
        ("train_metrics.json", "test_metrics.json", "acc", True),
        ("test/metrics.json", "train/metrics.json", "train/acc", False),
        ("train/metrics.json", "test/metrics.json", "test/acc", False),
    ],
)
def test_seeds_inside_a_file_are_of_its_part(train, test, metric, says, tmp_path):
    runs = folders_of_seeds(tmp_path, train, test)
    words = ["analyse", str(runs), "--baseline", "base", "--metric", metric, "--direction", "max", "--json"]
    done = CliRunner().invoke(main, [*words, "--results", str(tmp_path / "out")])
    assert done.exit_code == 0, done.stderr
    (row,) = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    assert (row["n"], row["p"]) == (5, pytest.approx(stats.ttest_rel(WIDE, BASE).pvalue))
    assert (f"acc of files such as {test} counts" in " ".join(done.stderr.split())) == says


@pytest.mark.slow
def test_metrics_of_one_part_keep_their_names(tmp_path):
    for name in ("base", "wide"):
        for seed in range(3):
            run = tmp_path / f"r/{name}_s{seed}"
            run.mkdir(parents=True)
            (run / "train_results.json").write_text(json.dumps({"train_loss": 0.1 * seed, "epoch": 3.0}))
            (run / "eval_results.json").write_text(json.dumps({"eval_acc": 0.8 + 0.01 * seed, "epoch": 3.0}))
    for metric in ("train_loss", "eval_acc"):
        words = ["analyse", str(tmp_path / "r"), "--baseline", "base", "--metric", metric]
        done = CliRunner().invoke(main, [*words, "--results", str(tmp_path / metric)])
        assert (done.exit_code, "such as" in done.stderr) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize("aside", ["debug", "old"])
def test_results_that_lie_aside_do_not_count(aside, tmp_path):
    for name, values in (("base", BASE), ("wide", WIDE)):
        for seed, value in enumerate(values):
            run = tmp_path / f"r/{name}_s{seed}"
            (run / aside).mkdir(parents=True)
            (run / "metrics.json").write_text(json.dumps({"acc": value}))
            (run / aside / "metrics.json").write_text(
                json.dumps({"acc": 0.9 if name == "base" else 0.1 * seed})
            )
    words = ["analyse", str(tmp_path / "r"), "--baseline", "base", "--metric", "acc", "--json"]
    done = CliRunner().invoke(main, [*words, "--results", str(tmp_path / "out")])
    (row,) = [row for row in json.loads(done.stdout)["verdicts"] if not row["exploratory"]]
    assert row["p"] == pytest.approx(stats.ttest_rel(WIDE, BASE).pvalue)
    told = "".join(done.stderr.split())
    assert "Passedoverinfoldersbelow" in told
    assert told.index(f"base_s0/{aside}") < told.index(f"wide_s0/{aside}")
