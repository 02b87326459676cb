"""What `--where`, or a file, leaves out of the variants and seeds that were seen is a choice, and has a rate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from made_evidence import LOSS, study
from scipy import stats

import ablate
from ablate.analysis.earlier_looks import error_rate_of_best_subset
from ablate.analysis.shared_runs import error_rate_of_best_variant
from ablate.pipeline.reporter import write_report
from ablate.records.folder import StudyFolder
from ablate.runs.looks import ledger


@pytest.fixture(autouse=True)
def _no_earlier_calls(monkeypatch):
    monkeypatch.setattr(ledger.OF_THIS_PROCESS, "lines", [])


def table(num_variants=4, num_seeds=6):
    """Returns a table of runs on two data sets, with a learning rate and a status."""
    rng = np.random.default_rng(3)
    rows = []
    for dataset in ("cifar", "svhn"):
        for place in range(num_variants + 1):
            for seed in range(num_seeds):
                row = {"method": f"m{place}" if place else "base", "seed": seed, "dataset": dataset}
                row |= {"run_id": f"r{dataset}{place}x{seed}", "lr": "0.2" if place == 1 else "0.1"}
                row |= {"state": "finished", "loss": rng.normal(1, 0.1)}
                rows.append(row)
    return pd.DataFrame(rows)


def choices(frame, *where, **given):
    """Returns the choices of an analysis: what, how many of how many."""
    return [(choice.what, choice.kept, choice.seen) for choice in calls(frame, *where, **given).choices]


def calls(frame, *where, **given):
    options = {"baseline": "base", "metric": "loss", "direction": "min", "replicates": True, **given}
    return ablate.analyse(frame, where=where, **options).evidence.facts.earlier_calls


ON_TASKS = {"column": {"task": "dataset"}}
CHOSEN = {
    "seed in [0, 2, 3, 5]": [("seeds", 4, 6)],
    "seed != 4 and dataset == 'cifar'": [("seeds", 5, 6)],
    "method in ['base', 'm2']": [("variants", 1, 4)],
    "method != 'm1' and dataset == 'svhn'": [("variants", 3, 4)],
    "run_id not in ['rcifar0x1', 'rcifar2x1', 'rsvhn0x1', 'rsvhn2x1', 'rcifar1x1', 'rsvhn1x1']": [
        ("seeds", 5, 6)
    ],
    "method in ['base', 'm2'] and seed < 3": [("variants", 1, 4), ("seeds", 3, 6)],
}


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("where", CHOSEN)
def test_a_condition_that_leaves_out_seeds_or_variants_is_a_choice(where):
    assert choices(table(), where, **ON_TASKS) == CHOSEN[where]


HONEST = [
    "dataset=cifar",
    "lr=0.1",  # No run of m1 has it.
    "state == 'finished'",
    "dataset == 'svhn' and lr == 0.1",
    "seed >= 0",
    "method != 'other'",
]


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("where", HONEST)
def test_a_task_a_status_or_a_setting_is_no_choice(where):
    frame = table()
    frame.loc[(frame["seed"] == 5) & (frame["method"] == "base"), "state"] = "failed"
    assert choices(frame, where, **ON_TASKS) == []


@pytest.mark.slow
def test_data_sets_with_seeds_of_their_own_are_no_choice_of_seeds():
    frame = table()
    frame.loc[frame["dataset"] == "svhn", "seed"] += 6
    assert choices(frame, "dataset=svhn") == []
    assert choices(frame, "dataset == 'svhn' and seed != 9") == [("seeds", 5, 6)]


@pytest.mark.slow
def test_the_rate_of_a_choice_stands_in_place_of_that_of_two_calls(tmp_path):
    frame = table(num_variants=1, num_seeds=10).query("dataset == 'cifar'")
    calls(frame)
    found = calls(frame, "seed in [0, 1, 3, 5, 7, 9]")
    (choice,) = found.choices
    assert choice.rate == error_rate_of_best_subset(10) > 0.6
    assert found.level == 1.0
    assert calls(frame).level == 1.0  # An earlier choice may be believed, too.
    place = {"name": "part", "results": tmp_path}
    ablate.analyse(frame, baseline="base", metric="loss", direction="min", where="seed != 3", **place)
    words = " ".join(StudyFolder(tmp_path, "part").answer())
    assert "Kept: 9 of 10 seeds" in words
    assert "up to" not in words


def test_files_with_fewer_variants_or_seeds_than_one_before_are_choices():
    frame = table(num_variants=5).query("dataset == 'cifar'")
    assert choices(frame) == []
    assert choices(frame.query("method in ['base', 'm3']")) == [("variants", 1, 5)]
    assert choices(frame.query("seed != 2")) == [("seeds", 5, 6)]
    assert choices(frame.query("seed != 2").drop(columns=["seed", "run_id"])) == [("runs", 5, 6)]
    # Runs that were added leave out nothing.
    assert choices(pd.concat([frame, frame.assign(seed=frame["seed"] + 6, loss=frame["loss"] + 0.01)])) == []


def better_of_best(num_variants, num_seeds, draws=20_000):
    """Returns how often the best of some variants is significantly better than their baseline, one-sided .025 each."""
    rng = np.random.default_rng(1)
    runs = rng.normal(size=(draws, num_variants + 1, num_seeds))
    gains = runs[:, 1:] - runs[:, :1]
    t = gains.mean(axis=2) / (gains.std(axis=2, ddof=1) / np.sqrt(num_seeds))
    return (t.max(axis=1) > stats.t.ppf(0.975, num_seeds - 1)).mean()


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(("num_variants", "num_seeds"), [(13, 5), (20, 6), (1, 5)])
def test_the_rate_of_the_best_variant_is_that_of_a_simulation(num_variants, num_seeds):
    rate = error_rate_of_best_variant(num_variants, num_seeds)
    assert rate == pytest.approx(better_of_best(num_variants, num_seeds), abs=0.015)


@pytest.fixture
def reported(tmp_path):
    """The folder of a study of three variants on six seeds."""
    rng = np.random.default_rng(5)
    values = {name: rng.normal(1, 0.1, 6) for name in ("baseline", "config.a=1", "config.a=2", "config.a=3")}
    evidence = study(values, metric="loss", tasks={"": {"loss": LOSS}}, margin=0.03)
    folder = StudyFolder(tmp_path / "results", "gelu")
    folder.save_evidence(replace(evidence, facts=replace(evidence.facts, study="gelu")))
    write_report(folder, pytest.fail)
    return SimpleNamespace(folder=folder, results=tmp_path / "results")


@pytest.mark.slow
def test_a_choice_of_the_runs_of_a_study_names_its_report(reported):
    whole = ablate.analyse(reported.folder.path).evidence.facts.earlier_calls
    assert not whole.choices
    assert not whole.looks
    where = 'variant == "baseline" or variant == "config.a=2"'
    part = ablate.analyse(reported.folder.path, where=where).evidence.facts.earlier_calls
    assert [(choice.what, choice.kept, choice.seen) for choice in part.choices] == [("variants", 1, 3)]
    # The analysis of the whole is the same as the report of the study.
    assert [look.differs for look in part.looks] == [["where=none"]]


@pytest.mark.slow
def test_a_file_beside_a_study_that_has_some_of_its_runs_names_the_report(reported):
    trials = ablate.load(reported.folder.path).trials[["variant", "seed", "loss"]]
    options = {"baseline": "baseline", "direction": "min", "results": reported.results}
    chosen = trials[trials["seed"].isin([0, 2, 5])].rename(columns={"loss": "score"})
    part = ablate.analyse(chosen, name="part", metric="score", **options).evidence.facts.earlier_calls
    assert [(choice.what, choice.kept, choice.seen) for choice in part.choices] == [("seeds", 3, 6)]
    assert [look.report for look in part.looks] == ["gelu"]


@pytest.mark.slow
def test_all_runs_of_a_study_in_a_file_are_no_other_look(reported):
    trials = ablate.load(reported.folder.path).trials[["variant", "seed", "loss"]]
    options = {"baseline": "baseline", "metric": "loss", "direction": "min", "results": reported.results}
    whole = ablate.analyse(trials, margin=0.03, name="whole", **options).evidence.facts.earlier_calls
    assert whole.choices == whole.looks == []


@pytest.mark.slow
def test_a_value_in_quotes_may_hold_an_equals_sign(reported):
    where = 'variant in ["baseline", "config.a=2"]'
    part = ablate.analyse(reported.folder.path, where=where)
    assert [*part.trials["variant"].unique()] == ["baseline", "config.a=2"]


@pytest.mark.slow
def test_the_folder_of_a_study_is_reported_beside_it_without_a_name(reported):
    before = (reported.folder.path / "comparisons.csv").read_bytes()
    ablate.analyse(reported.folder.path, results=reported.results)
    assert (reported.results / "gelu-analysed" / "card.md").is_file()
    assert (reported.folder.path / "comparisons.csv").read_bytes() == before
