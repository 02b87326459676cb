"""Searches in memory: what they find does not depend on interruptions, and TPE finds more than chance does."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from searching import GRID, PEAK_STUDY, SWEEP, TIMES, drive, prepared, search_of, train

from ablate.analysis.search_table import searches_tabulated
from ablate.base.errors import AblateError
from ablate.core.record import Record

MIXED = """\
search:
  over:
    training.lr: {float: [1e-5, 1e-1], log: true}
    model.kind: {choice: [plain, wide]}
    model.heads: {int: [1, 4], when: model.kind=wide}
    model.x: {float: [-1, 1]}
  trials: 14
  seeds: 2
  batch: 3
"""
"""A number on a log scale, a choice, a condition, and a number on a plain scale."""

PRUNED = MIXED.replace(
    "seeds: 2", "seeds: 2\n  pruner: {name: median, n_startup_trials: 3, n_warmup_steps: 1}"
)


def table(search):
    return searches_tabulated(search.spec.facts, [search.tried])


def frame_of(search):
    """All that a table says, but times."""
    return table(search).trials.drop(columns=TIMES)


def finished(experiment, stream="", **options):
    """A search that has come to its end."""
    search = search_of(experiment, stream)
    drive(search, experiment, {}, **options)
    return search


def score(experiment, name):
    """The best value that a search finds, without noise."""
    found = table(finished(experiment, name))
    return float(found.trials.loc[found.best("baseline", "")[0], "score"])


@pytest.mark.slow
def test_tpe_beats_random_at_equal_budget(write):
    """Over 20 searches that differ in their streams alone; the better one is nearer to 0, less the fixed -0.2."""
    path = write(SWEEP.replace("trials: 8", "trials: 30").replace("seeds: 2", "seeds: 1"))
    tpe, random = prepared(path, search__sampler="tpe"), prepared(path, search__sampler="random")
    gains = [score(tpe, f"s{index}") - score(random, f"s{index}") for index in range(20)]
    assert len(set(gains)) == 20
    assert wilcoxon(gains, alternative="greater").pvalue < 0.01


def killed_and_resumed(experiment, moment):
    """The table of a search whose process ended after so many trainings, as the next makes it from the records."""
    records = {}
    first = drive(search_of(experiment), experiment, records, stop=moment)
    search = search_of(experiment)
    whole = drive(search, experiment, records)
    assert first == moment
    assert first + whole == len(records), "nothing is trained twice"
    return frame_of(search)


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("study", "sampler", "moments"),
    [
        (MIXED, "{name: tpe, n_startup_trials: 4}", range(0, 28, 3)),
        (MIXED, "random", (1, 14)),
        (MIXED, "{name: tpe, group: true}", (5, 20)),
        (MIXED, "nsga2", (13,)),
        (MIXED, "{name: QMCSampler, scramble: on}", (7, 27)),
        (MIXED, "{name: GPSampler, n_startup_trials: 5}", (9, 15)),
        (MIXED, "CmaEsSampler", (17,)),
        (MIXED, "{name: NSGAIIISampler, population_size: 4}", (13, 21)),
        (
            MIXED.replace("1e-1], log: true", "1e-1], step: 1e-2").replace("[-1, 1]", "[-1, 1], step: 0.5"),
            "BruteForceSampler",
            (3, 17),
        ),
        (PRUNED, "{name: tpe, n_startup_trials: 4}", (6, 10, 15)),
        (GRID.partition("search:")[2].join(("search:", "")), "grid", (4,)),
    ],
)
def test_a_search_that_is_killed_at_any_training_finds_the_same(write, study, sampler, moments):
    experiment = prepared(write(PEAK_STUDY + study), search__sampler=sampler)
    search = search_of(experiment)
    drive(search, experiment, {})
    expected = frame_of(search)
    assert search.complete
    assert len(expected) == search.spec.facts.trials
    for moment in moments:
        pd.testing.assert_frame_equal(killed_and_resumed(experiment, moment), expected, obj=f"at {moment}")


@pytest.mark.slow
def test_a_finished_record_is_cut_where_its_training_would_have_been_ended_and_trained_on_where_it_would_not(
    write,
):
    pruning, whole = prepared(write(PEAK_STUDY + PRUNED)), prepared(write(PEAK_STUDY + MIXED))
    for experiment, other in ((pruning, whole), (whole, pruning)):
        records = {}
        drive(search_of(other), other, records)
        assert ("pruned" in {record.status for record in records.values()}) == (other is pruning)
        search = search_of(experiment)
        drive(search, experiment, records)
        found = frame_of(search)
        pd.testing.assert_frame_equal(found, frame_of(finished(experiment)))
        pruned = found[found.status == "pruned"]
        assert bool(len(pruned)) == (experiment is pruning)
        assert pruned.reason.str.match(r"pruned after step [1-4]").all()
        assert (pruned.seeds == 1).all()


def test_a_failed_trial_ends_its_search_after_its_batch_and_goes_on_once_it_is_mended(write, tmp_path):
    text = SWEEP + f"training: {{fault: raise, above: 0.0, fault_seed: 10001, until: {tmp_path}/mended}}\n"
    experiment = prepared(write(text), search__batch=3)
    search, records = search_of(experiment), dict[str, Record]()

    def train_all():
        known = {}
        while cells := search.next_cells(known):
            for cell in cells:
                if cell.id not in records or records[cell.id].status == "failed":
                    try:
                        records[cell.id] = train(experiment, cell.trial)
                    except RuntimeError as error:
                        records[cell.id] = Record.of(cell.trial, "failed", reason=str(error))
                known[cell.id] = records[cell.id]

    train_all()
    frame = frame_of(search)
    assert search.failed
    assert not search.complete
    assert search.left == 0
    assert set(frame.status[: len(frame) - 3]) <= {"completed"}
    assert "failed" in set(frame.status[-3:])
    assert len(frame) % 3 == 0
    (tmp_path / "mended").touch()
    search = search_of(experiment)
    train_all()
    assert search.complete
    assert set(frame_of(search).status) == {"completed"}
    pd.testing.assert_series_equal(frame_of(search)["model.x"][: len(frame)], frame["model.x"])


def test_a_larger_budget_goes_on_and_another_batch_of_random_settings_changes_none(write):
    path = write(PEAK_STUDY + MIXED)

    def found(**sets):
        return frame_of(finished(prepared(path, **sets)))["model.x"]

    pd.testing.assert_series_equal(found(search__trials=7), found()[:7])
    random = {"search__sampler": "random"}
    pd.testing.assert_series_equal(found(**random), found(**random, search__batch=5))


def test_a_trial_that_reports_other_values_than_it_records_is_trained_whole(write, monkeypatch):
    def train_low(experiment, trial, decide):
        return train(experiment, trial, lambda step, metrics: decide(step, dict.fromkeys(metrics, -9.0)))

    experiment = prepared(write(PEAK_STUDY + PRUNED))
    expected = frame_of(finished(experiment))
    monkeypatch.setattr("searching.train", train_low)
    pd.testing.assert_frame_equal(frame_of(finished(experiment)), expected)


@pytest.mark.slow
def test_a_pruner_of_seeds_trains_no_more_of_them_than_it_needs(write):
    text = SWEEP.replace("seeds: 2", "seeds: 8").replace("trials: 8", "trials: 10\n  pruner: WilcoxonPruner")
    experiment = prepared(write(text))
    search = search_of(experiment)
    trained = drive(search, experiment, {})
    frame = frame_of(search)
    pruned = frame[frame.status == "pruned"]
    assert len(pruned)
    assert trained == frame.seeds.sum() < 80
    assert (pruned.pruned_at == pruned.seeds).all()
    assert (frame[frame.status == "completed"].seeds == 8).all()


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    ("pruner", "reason"),
    [
        ("{name: PercentilePruner, percentile: 25.0, n_startup_trials: 3}", r"pruned after step [1-4]"),
        ("{name: ThresholdPruner, lower: -4.5}", r"pruned after step [1-4]"),
        ("{name: PatientPruner, wrapped_pruner: null, patience: 0}", ""),
        ("NopPruner", ""),
    ],
)
def test_a_pruner_is_named_as_optuna_does(write, pruner, reason):
    experiment = prepared(write(PEAK_STUDY + MIXED), search__pruner=pruner)
    records = {}
    search = search_of(experiment)
    drive(search, experiment, records)
    frame = frame_of(search)
    pruned = frame[frame.status == "pruned"]
    assert bool(len(pruned)) == bool(reason)
    assert pruned.reason.str.match(reason).all()
    pd.testing.assert_frame_equal(killed_and_resumed(experiment, 9), frame)


def test_a_sampler_that_has_visited_every_point_ends_its_search(write):
    text = GRID.replace("sampler: grid", "sampler: BruteForceSampler\n  batch: 3")
    search = search_of(prepared(write(text)))
    assert search.left == 20 * 2
    drive(search, prepared(write(text)), {})
    points = frame_of(search)[["model.kind", "model.x", "model.heads"]]
    assert search.complete
    assert search.left == 0
    assert len(points) == len(points.drop_duplicates()) == 9


def test_what_optuna_refuses_in_the_middle_of_a_search_is_said_with_the_arguments(write):
    text = SWEEP.replace("trials: 8", "trials: 20\n  sampler: {name: TPESampler, n_ei_candidates: 0}")
    experiment = prepared(write(text))
    with pytest.raises(AblateError, match=r"Optuna refuses TPESampler: .*; given \{name: TPESampler, n_ei"):
        drive(search_of(experiment), experiment, {})


def test_settings_that_cannot_be_built_are_listed_with_the_reason(write):
    text = f"{PEAK_STUDY}search: {{over: {{model.heads: {{int: [5, 8]}}}}, sampler: grid, seeds: 1}}\n"
    frame = frame_of(finished(prepared(write(text))))
    assert list(frame.status) == ["completed", "completed", "invalid", "completed"]
    assert "must not be seven" in frame.reason[2]
    assert np.isnan(frame.score[2])
    assert frame.seeds[2] == 0


FAULTY = (
    SWEEP.replace("trials: 8", "trials: 12") + "training: {fault: FAULT, above: 0.0, fault_seed: 10001}\n"
)


def test_diverged_settings_have_the_value_of_guessing_and_are_told_as_such(write):
    frame = frame_of(finished(prepared(write(FAULTY.replace("FAULT", "diverge")))))
    diverged = frame[frame.status == "diverged"]
    assert 0 < len(diverged) < 12 == len(frame)
    assert (diverged["model.x"] >= 0).all()
    assert (diverged.diverged == 1).all()
    assert (diverged.reason == "1 of 2 seeds the peak left the numbers").all()
    assert all(values[1] == -9.0 for values in diverged["values"])
    assert diverged.score.tolist() == pytest.approx([np.mean(values) for values in diverged["values"]])


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "GPSampler", "CmaEsSampler", "NSGAIIISampler"])
def test_samplers_bear_worst_values_and_every_trial_is_a_row(write, sampler):
    text = SWEEP.replace("trials: 8", "trials: 20").replace("seeds: 2", "seeds: 1")
    text += "training: {fault: diverge, above: 0.0}\n"
    experiment = prepared(write(text), search__objectives="[loss]", search__sampler=sampler)
    frame = frame_of(finished(experiment))
    assert list(frame.number) == list(range(20))
    assert set(frame.status) == {"completed", "diverged"}
    # No guess is known of the loss: the worst there is, which never wins.
    assert set(frame[frame.status == "diverged"].loss) == {np.inf}
    assert np.isfinite(frame.loss).any()


@pytest.mark.parametrize("reason", ["time limit of 3 s", "RuntimeError: CUDA out of memory"])
def test_a_setting_that_needs_too_much_is_an_outcome_as_one_that_diverged(write, reason):
    experiment = prepared(write(SWEEP))
    search, known = search_of(experiment), dict[str, Record]()
    while cells := search.next_cells(known):
        for cell in cells:
            lost = cell.trial.config["model"]["x"] > 0.5
            record = Record.of(cell.trial, "failed", reason=reason) if lost else train(experiment, cell.trial)
            known[cell.id] = record
    frame = frame_of(search)
    assert search.complete
    assert set(frame.score[frame.status == "diverged"]) == {-9.0}
    assert set(frame.reason[frame.status == "diverged"]) == {f"2 of 2 seeds {reason}"}
    assert set(frame.status) == {"completed", "diverged"}
