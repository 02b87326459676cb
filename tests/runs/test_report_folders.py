"""Folders with a report a run at any depth, found and named by what varies in their paths."""

import json

import pytest
from scipy import stats

import ablate
from ablate.runs.options import AnalysisOptions
from ablate.runs.reading import read


def score(model, data, seed):
    """A score that depends on all three, and is the same each time."""
    return round(0.5 + 0.02 * model + 0.05 * data + 0.001 * ((7 * model + 5 * data + 3 * seed) % 11), 6)


def benchmark(
    root, num_models, num_sets, num_seeds, path="{model}/{data}/0-evaluation/{seed}", configured=True
):
    """Writes a report for each model, data set and seed, as benchmarks of tabular data keep them."""
    for model in range(num_models):
        for data in range(num_sets):
            for seed in range(num_seeds):
                place = root / path.format(model=f"model{model}", data=f"set{data}", seed=seed)
                place.mkdir(parents=True)
                report = {
                    "function": "bin.model.main",
                    "prediction_type": "labels",
                    "best_epoch": 12 + seed,
                    "metrics": {
                        "val": {"accuracy": 0.9, "score": 0.9},
                        "test": {"accuracy": score(model, data, seed), "score": score(model, data, seed)},
                    },
                    "time": "0:00:15",
                }
                if configured:
                    report["config"] = {
                        "seed": seed,
                        "data": {"path": f"data/set{data}"},
                        "model": {"d_block": 64 * (data + 1)},
                    }
                (place / "report.json").write_text(json.dumps(report))
    return root


def options(**others):
    return AnalysisOptions(baseline="model0", metric="metrics.test.score", direction="max", **others)


PATHS = {
    "as published": {},
    "without a configuration": {"configured": False},
    "data sets first": {"path": "{data}/{model}/{seed}", "configured": False},
    "seeds in the middle": {"path": "{model}/{seed}/{data}", "configured": False},
    "seeds that are marked": {"path": "out/{model}/{data}/seed_{seed}/final", "configured": False},
}


@pytest.mark.parametrize("shape", PATHS)
def test_reports_are_found_and_named_by_what_varies_in_their_paths(shape, tmp_path):
    table = read(str(benchmark(tmp_path, 3, 2, 3, **PATHS[shape])), options())
    rows = table.rows[["variant", "task", "seed", "metrics.test.score"]].astype(str)
    expected = []
    for model in range(3):
        for data in range(2):
            expected += [
                (f"model{model}", f"set{data}", str(s), str(score(model, data, s))) for s in range(3)
            ]
    assert sorted(rows.itertuples(index=False, name=None)) == expected
    assert any("--column task folders" in note for note in table.notes)


def test_folders_may_be_named_otherwise(tmp_path):
    benchmark(tmp_path, 2, 2, 3, configured=False)
    named = AnalysisOptions(
        baseline="set0",
        metric="metrics.test.score",
        direction="max",
        column={"variant": "folder_2", "task": "folder_1"},
    )
    rows = read(str(tmp_path), named).rows
    assert ({*rows["variant"]}, {*rows["task"]}) == ({"set0", "set1"}, {"model0", "model1"})


def test_reports_elsewhere_are_passed_over_and_named(tmp_path):
    benchmark(tmp_path, 2, 2, 3)
    tuning = tmp_path / "model1" / "set1" / "0-tuning"
    tuning.mkdir()
    (tuning / "report.json").write_text('{"metrics": {"test": {"score": 9}}}')
    table = read(str(tmp_path), options())
    assert len(table.rows) == 12
    assert any("0-tuning/report.json" in note for note in table.notes)


def submissions(root, num_records):
    """Writes records of a leaderboard: a folder each, with the numbers of three seeds inside one file."""
    for number in range(num_records):
        place = root / f"2026-03-{number + 1:02}_Record{number}"
        place.mkdir(parents=True)
        seeds = (42, 1337, 7)
        values = [round(1.2 - 0.005 * number + 0.001 * ((number + 2) * seed % 11), 5) for seed in seeds]
        record = {
            "author": f"author{number % 5}",
            "name": f"Record {number}",
            "blurb": "What was changed.",
            "date": f"2026-03-{number + 1:02}",
            "val_bpb": sum(values) / 3,
            "bytes_total": 15_900_000 + number,
            "seeds": [*seeds],
            "seed_results": {
                str(s): {"val_loss": 1.7 * x, "val_bpb": x} for s, x in zip(seeds, values, strict=True)
            },
        }
        (place / "submission.json").write_text(json.dumps(record))
        (place / "README.md").write_text("# Record\n")
    return root


@pytest.mark.slow
def test_a_record_with_the_numbers_of_its_seeds_inside(tmp_path):
    root = submissions(tmp_path / "records", 21)
    results = ablate.analyse(
        str(root),
        baseline="2026-03-01_Record0",
        metric="val_bpb",
        direction="min",
        results=tmp_path / "results",
    )
    rows = results.comparisons.set_index("variant")
    values = {}
    for number in (0, 20):
        (path,) = root.glob(f"*_Record{number}/submission.json")
        record = json.loads(path.read_text())
        values[number] = [record["seed_results"][seed]["val_bpb"] for seed in ("42", "1337", "7")]
    expected = stats.ttest_rel(values[0], values[20])
    assert len(rows) == 20
    assert (rows.loc["2026-03-21_Record20", "n"], rows.loc["2026-03-21_Record20", "p"]) == (
        3,
        pytest.approx(expected.pvalue),
    )


def test_records_of_seeds_in_one_document(tmp_path):
    records = [
        json.loads(path.read_text()) for path in sorted(submissions(tmp_path, 3).glob("*/submission.json"))
    ]
    (tmp_path / "all.json").write_text(json.dumps({"records": records}))
    table = read(
        str(tmp_path / "all.json"), AnalysisOptions(baseline="Record 0", metric="val_bpb", direction="min")
    )
    assert len(table.rows) == 9
    assert {*table.rows["seed"]} == {"42", "1337", "7"}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_benchmark_in_full(tmp_path):
    benchmark(tmp_path / "exp", 35, 11, 15)
    results = ablate.analyse(
        str(tmp_path / "exp"),
        baseline="model0",
        metric="metrics.test.score",
        direction="max",
        results=tmp_path / "r",
    )
    rows = results.comparisons
    planned = rows[~rows["exploratory"]]
    assert len(planned) == 34 * 11
    assert {*planned["n"]} == {15}
    row = planned[(planned["variant"] == "model9") & (planned["task"] == "set3")].iloc[0]
    a, b = ([score(model, 3, seed) for seed in range(15)] for model in (9, 0))
    assert row["p"] == pytest.approx(stats.ttest_rel(a, b).pvalue)
