"""Searches in memory: what they find does not depend on interruptions, and TPE finds more than chance does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from scipy.stats import wilcoxon
from searching import GRID, PEAK_STUDY, SWEEP, TIMES, drive, prepared, search_in_memory

from ablate.core.record import Record
from ablate.search.search import Search
from ablate.search.table import best, table
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

WRITES = (
    "create_new_trial",
    "set_trial_param",
    "set_trial_state_values",
    "set_trial_intermediate_value",
    "set_trial_user_attr",
    "set_trial_system_attr",
    "set_study_system_attr",
)


class Killed(BaseException):
    """The process is gone."""


class Fragile(optuna.storages.InMemoryStorage):
    """Ends whoever writes to it for the `last`th time, before that is written."""

    last = 10**9
    written = 0


def _counted(name: str) -> Callable[..., Any]:
    def write(self: Fragile, *args: Any, **kwargs: Any) -> Any:
        self.written += 1
        if self.written == self.last:
            raise Killed
        return getattr(optuna.storages.InMemoryStorage, name)(self, *args, **kwargs)

    return write


for _name in WRITES:
    setattr(Fragile, _name, _counted(_name))


def frame_of(search: Search) -> pd.DataFrame:
    """All that a table says, but times."""
    return table([search], "memory").trials.drop(columns=TIMES)


@pytest.mark.slow
def score(experiment: Experiment, name: str) -> float:
    """The best value that a search finds, without noise."""
    search = search_in_memory(experiment, name)
    drive(search, experiment, {})
    found = table([search], "memory")
    return float(found.trials.loc[best(found, "baseline", "")[0], "score"])


@pytest.mark.slow
def test_tpe_beats_random_at_equal_budget(write: Callable[..., Path]) -> None:
    """Over 20 searches that differ in their streams alone; the better one is nearer to 0, less the fixed -0.2."""
    path = write(SWEEP.replace("trials: 8", "trials: 30").replace("seeds: 2", "seeds: 1"))
    tpe, random = prepared(path, search__sampler="tpe"), prepared(path, search__sampler="random")
    gains = [score(tpe, f"s{index}") - score(random, f"s{index}") for index in range(20)]
    assert len(set(gains)) == 20
    assert wilcoxon(gains, alternative="greater").pvalue < 0.001
    assert np.mean(np.array(gains) > 0) >= 0.8


def test_a_grid_has_every_point_once(write: Callable[..., Path]) -> None:
    experiment = prepared(write(GRID))
    search = search_in_memory(experiment)
    assert drive(search, experiment, {}) == 18
    frame = frame_of(search)
    points = frame[["model.kind", "model.x", "model.heads"]].fillna(-1)
    assert len(points) == len(points.drop_duplicates()) == 9
    assert set(map(tuple, points.to_numpy().tolist())) == {
        *(("plain", x, -1.0) for x in (0.0, 0.2, 0.4)),
        *(("wide", x, heads) for x in (0.0, 0.2, 0.4) for heads in (2.0, 3.0)),
    }


def killed_and_resumed(experiment: Experiment, moment: int) -> tuple[Search, int]:
    """A search whose process ends at its `moment`th write, and what the next makes of it; how often it wrote."""
    storage = Fragile()
    storage.last = moment
    records: dict[str, Record] = {}
    try:
        drive(search_in_memory(experiment, storage=storage), experiment, records)
    except Killed:
        storage.last = 10**9
    search = search_in_memory(experiment, storage=storage)
    search.queue.requeue()
    # Records are in the store; what the pruner had heard is not.
    drive(search, experiment, records)
    return search, storage.written


LEARNS = "{name: tpe, n_startup_trials: 4}"
OFTEN = pytest.mark.slow


@pytest.mark.parametrize(
    ("sampler", "step"),
    [
        *[(LEARNS, 31), ("random", 67), ("{name: tpe, group: true}", 61), ("qmc", 71)],
        *[pytest.param(LEARNS, 1, marks=OFTEN), pytest.param("random", 3, marks=OFTEN)],
    ],
)
def test_a_search_that_is_killed_at_any_write_finds_the_same(
    write: Callable[..., Path], sampler: str, step: int
) -> None:
    experiment = prepared(write(PEAK_STUDY + MIXED), search__sampler=sampler)
    whole, writes = killed_and_resumed(experiment, 10**9)
    expected = frame_of(whole)
    assert len(expected) == 14
    for moment in range(2, writes, step):
        found, _ = killed_and_resumed(experiment, moment)
        pd.testing.assert_frame_equal(frame_of(found), expected, obj=f"killed at write {moment}")


@pytest.mark.parametrize("sampler", ["gp", "nsga2", "cmaes"])
def test_samplers_with_a_memory_of_their_own_go_on_as_well(write: Callable[..., Path], sampler: str) -> None:
    experiment = prepared(write(PEAK_STUDY + MIXED), search__sampler=sampler)
    whole, writes = killed_and_resumed(experiment, 10**9)
    for moment in (writes // 5, writes // 2):
        found, _ = killed_and_resumed(experiment, moment)
        pd.testing.assert_frame_equal(frame_of(found), frame_of(whole), obj=f"killed at write {moment}")


def test_a_search_with_a_pruner_is_the_same_after_a_kill(write: Callable[..., Path]) -> None:
    experiment = prepared(write(PEAK_STUDY + PRUNED))
    whole, writes = killed_and_resumed(experiment, 10**9)
    expected = frame_of(whole)
    assert {"pruned", "completed"} == set(expected.status)
    pruned = expected[expected.status == "pruned"]
    assert pruned.reason.str.match(r"pruned after step [1-4]").all()
    assert (pruned.seeds == 1).all()
    for moment in range(2, writes, 43):
        found, _ = killed_and_resumed(experiment, moment)
        pd.testing.assert_frame_equal(frame_of(found), expected, obj=f"killed at write {moment}")


def test_a_pruner_of_seeds_trains_no_more_of_them_than_it_needs(write: Callable[..., Path]) -> None:
    text = SWEEP.replace("seeds: 2", "seeds: 8").replace("trials: 8", "trials: 10\n  pruner: wilcoxon")
    experiment = prepared(write(text))
    search = search_in_memory(experiment)
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
    search = search_in_memory(experiment)
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
    search = search_in_memory(experiment)
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
    search = search_in_memory(experiment)
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
    search = search_in_memory(experiment)
    drive(search, experiment, {})
    frame = frame_of(search)
    assert set(frame.status) == {"completed", "diverged"}
    assert np.isfinite(frame.loss).any()
