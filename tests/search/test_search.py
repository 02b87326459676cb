"""Searches in memory: what they find does not depend on interruptions, and TPE finds more than chance does."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from searching import GRID, PEAK_STUDY, SWEEP, TIMES, drive, prepared, search_of, train

from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.features.search.search import Search
from ablate.features.search.table import SearchTable, tabulated
from ablate.study.experiment import Experiment

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


def table(search: Search) -> SearchTable:
    return tabulated(search.spec.facts, [search.rows])


def frame_of(search: Search) -> pd.DataFrame:
    """All that a table says, but times."""
    return table(search).trials.drop(columns=TIMES)


def score(experiment: Experiment, name: str) -> float:
    """The best value that a search finds, without noise."""
    search = search_of(experiment, name)
    drive(search, experiment, {})
    found = table(search)
    return float(found.trials.loc[found.best("baseline", "")[0], "score"])


@pytest.mark.slow
def test_tpe_beats_random_at_equal_budget(write: Callable[..., Path]) -> None:
    """Over 20 searches that differ in their streams alone; the better one is nearer to 0, less the fixed -0.2."""
    path = write(SWEEP.replace("trials: 8", "trials: 30").replace("seeds: 2", "seeds: 1"))
    tpe, random = prepared(path, search__sampler="tpe"), prepared(path, search__sampler="random")
    gains = [score(tpe, f"s{index}") - score(random, f"s{index}") for index in range(20)]
    assert len(set(gains)) == 20
    assert wilcoxon(gains, alternative="greater").pvalue < 0.01


def test_a_grid_has_every_point_once(write: Callable[..., Path]) -> None:
    experiment = prepared(write(GRID))
    search = search_of(experiment)
    assert drive(search, experiment, {}) == 18
    frame = frame_of(search)
    points = frame[["model.kind", "model.x", "model.heads"]].fillna(-1)
    assert len(points) == len(points.drop_duplicates()) == 9
    assert set(map(tuple, points.to_numpy().tolist())) == {
        *(("plain", x, -1.0) for x in (0.0, 0.2, 0.4)),
        *(("wide", x, heads) for x in (0.0, 0.2, 0.4) for heads in (2.0, 3.0)),
    }


def killed_and_resumed(experiment: Experiment, moment: int) -> pd.DataFrame:
    """The table of a search whose process ended after so many trainings, as the next makes it from the records."""
    records: dict[str, Record] = {}
    first = drive(search_of(experiment), experiment, records, stop=moment)
    search = search_of(experiment)
    whole = drive(search, experiment, records)
    assert first == moment
    assert first + whole == len(records), "nothing is trained twice"
    return frame_of(search)


@pytest.mark.parametrize(
    ("study", "sampler", "moments"),
    [
        (MIXED, "{name: tpe, n_startup_trials: 4}", range(0, 28, 3)),
        (MIXED, "random", (1, 14)),
        (MIXED, "{name: tpe, group: true}", (5, 20)),
        (MIXED, "qmc", (7, 27)),
        (MIXED, "gp", (9,)),
        (MIXED, "nsga2", (13,)),
        (MIXED, "cmaes", (17,)),
        (PRUNED, "{name: tpe, n_startup_trials: 4}", (6, 10, 15)),
        (GRID.partition("search:")[2].join(("search:", "")), "grid", (4,)),
    ],
)
def test_a_search_that_is_killed_at_any_training_finds_the_same(
    write: Callable[..., Path], study: str, sampler: str, moments: Sequence[int]
) -> None:
    experiment = prepared(write(PEAK_STUDY + study), search__sampler=sampler)
    search = search_of(experiment)
    drive(search, experiment, {})
    expected = frame_of(search)
    assert search.complete
    assert len(expected) == search.spec.facts.trials
    for moment in moments:
        pd.testing.assert_frame_equal(killed_and_resumed(experiment, moment), expected, obj=f"at {moment}")


@pytest.mark.parametrize("study", [MIXED, PRUNED])
def test_the_order_in_which_a_batch_is_trained_does_not_matter(
    write: Callable[..., Path], study: str
) -> None:
    experiment = prepared(write(PEAK_STUDY + study))
    one, other = search_of(experiment), search_of(experiment)
    drive(one, experiment, {})
    drive(other, experiment, {}, order=list[Cell].reverse)
    pd.testing.assert_frame_equal(frame_of(one), frame_of(other))


def test_a_finished_record_is_cut_where_its_training_would_have_been_ended(
    write: Callable[..., Path],
) -> None:
    experiment = prepared(write(PEAK_STUDY + PRUNED))
    whole: dict[str, Record] = {}
    unpruned = search_of(prepared(write(PEAK_STUDY + MIXED)))
    drive(unpruned, experiment, whole)
    search, live = search_of(experiment), search_of(experiment)
    drive(search, experiment, whole)
    drive(live, experiment, {})
    found = frame_of(search)
    pd.testing.assert_frame_equal(found, frame_of(live))
    pruned = found[found.status == "pruned"]
    assert {"pruned", "completed"} == set(found.status)
    assert pruned.reason.str.match(r"pruned after step [1-4]").all()
    assert (pruned.seeds == 1).all()


def test_a_record_that_another_search_ended_early_is_trained_on(write: Callable[..., Path]) -> None:
    experiment = prepared(write(PEAK_STUDY + PRUNED))
    records: dict[str, Record] = {}
    drive(search_of(experiment), experiment, records)
    assert {"pruned", "completed"} == {record.status for record in records.values()}
    unpruned = prepared(write(PEAK_STUDY + MIXED))
    one, other = search_of(unpruned), search_of(unpruned)
    drive(one, unpruned, records)
    drive(other, unpruned, {})
    pd.testing.assert_frame_equal(frame_of(one), frame_of(other))


def test_a_failed_trial_ends_its_search_after_its_batch_and_goes_on_once_it_is_mended(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    text = SWEEP + f"training: {{fault: raise, above: 0.0, fault_seed: 10001, until: {tmp_path}/mended}}\n"
    experiment = prepared(write(text), search__batch=3)
    search, records = search_of(experiment), dict[str, Record]()

    def train_all() -> None:
        known: dict[str, Record] = {}
        while cells := search.ask(known):
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


def test_a_larger_budget_goes_on_and_another_batch_of_random_settings_changes_none(
    write: Callable[..., Path],
) -> None:
    path = write(PEAK_STUDY + MIXED)
    found = []
    for sets in ({"search__trials": 7}, {}, {"search__sampler": "random"}):
        search = search_of(prepared(path, **sets))
        drive(search, prepared(path, **sets), {})
        found.append(frame_of(search)["model.x"])
    pd.testing.assert_series_equal(found[0], found[1][:7])
    search = search_of(experiment := prepared(path, search__sampler="random", search__batch=5))
    drive(search, experiment, {})
    pd.testing.assert_series_equal(found[2], frame_of(search)["model.x"])


def test_a_pruner_of_seeds_trains_no_more_of_them_than_it_needs(write: Callable[..., Path]) -> None:
    text = SWEEP.replace("seeds: 2", "seeds: 8").replace("trials: 8", "trials: 10\n  pruner: wilcoxon")
    experiment = prepared(write(text))
    search = search_of(experiment)
    trained = drive(search, experiment, {})
    frame = frame_of(search)
    pruned = frame[frame.status == "pruned"]
    assert len(pruned)
    assert trained == frame.seeds.sum() < 80
    assert (pruned.pruned_at == pruned.seeds).all()
    assert (frame[frame.status == "completed"].seeds == 8).all()


def test_settings_that_cannot_be_built_are_listed_with_the_reason(write: Callable[..., Path]) -> None:
    text = f"{PEAK_STUDY}search: {{over: {{model.heads: {{int: [5, 8]}}}}, sampler: grid, seeds: 1}}\n"
    experiment = prepared(write(text))
    search = search_of(experiment)
    assert drive(search, experiment, {}) == 3
    frame = frame_of(search)
    assert list(frame.status) == ["completed", "completed", "invalid", "completed"]
    assert "must not be seven" in frame.reason[2]
    assert np.isnan(frame.score[2])
    assert frame.seeds[2] == 0


FAULTY = (
    SWEEP.replace("trials: 8", "trials: 12") + "training: {fault: FAULT, above: 0.0, fault_seed: 10001}\n"
)


def test_diverged_settings_have_the_value_of_guessing_and_are_told_as_such(
    write: Callable[..., Path],
) -> None:
    experiment = prepared(write(FAULTY.replace("FAULT", "diverge")))
    search = search_of(experiment)
    drive(search, experiment, {})
    frame = frame_of(search)
    diverged = frame[frame.status == "diverged"]
    assert 0 < len(diverged) < 12 == len(frame)
    assert (diverged["model.x"] >= 0).all()
    assert (diverged.diverged == 1).all()
    assert (diverged.reason == "1 of 2 seeds the peak left the numbers").all()
    assert all(values[1] == -9.0 for values in diverged["values"])
    assert diverged.score.tolist() == pytest.approx([np.mean(values) for values in diverged["values"]])


def test_every_trial_is_a_row_whatever_becomes_of_it(write: Callable[..., Path]) -> None:
    experiment = prepared(write(FAULTY.replace("FAULT", "diverge")), search__objectives="[loss]")
    search = search_of(experiment)
    drive(search, experiment, {})
    frame = frame_of(search)
    assert list(frame.number) == list(range(12))
    # No guess is known of the loss: the worst there is, which never wins.
    assert set(frame[frame.status == "diverged"].loss) == {np.inf}
    assert set(frame.status) == {"completed", "diverged"}


@pytest.mark.parametrize("sampler", ["tpe", "gp", "cmaes", "nsga2"])
def test_samplers_bear_worst_values(write: Callable[..., Path], sampler: str) -> None:
    text = SWEEP.replace("trials: 8", "trials: 20").replace("seeds: 2", "seeds: 1")
    text += "training: {fault: diverge, above: 0.0}\n"
    experiment = prepared(write(text), search__objectives="[loss]", search__sampler=sampler)
    search = search_of(experiment)
    drive(search, experiment, {})
    frame = frame_of(search)
    assert set(frame.status) == {"completed", "diverged"}
    assert np.isfinite(frame.loss).any()


@pytest.mark.parametrize("reason", ["time limit of 3 s", "RuntimeError: CUDA out of memory"])
def test_a_setting_that_needs_too_much_is_an_outcome_as_one_that_diverged(
    write: Callable[..., Path], reason: str
) -> None:
    experiment = prepared(write(SWEEP))
    search, known = search_of(experiment), dict[str, Record]()
    while cells := search.ask(known):
        for cell in cells:
            lost = cell.trial.config["model"]["x"] > 0.5
            record = Record.of(cell.trial, "failed", reason=reason) if lost else train(experiment, cell.trial)
            known[cell.id] = record
    frame = frame_of(search)
    assert search.complete
    assert set(frame.score[frame.status == "diverged"]) == {-9.0}
    assert set(frame.reason[frame.status == "diverged"]) == {f"2 of 2 seeds {reason}"}
    assert set(frame.status) == {"completed", "diverged"}
