"""The driver: looks cells up, trains the rest, stores before it tells; and what every plan may rely on."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from engines import ENGINES, SLOW_ON_RAY, TOY_REF, children, run, toy_cells
from harness import content

from ablate.core.events import BatchPlanned, CacheHit, FixedPlan, Plan, Progress, Saved, TrialStored
from ablate.core.trial import RUNNER_UP, Cell, Trial
from ablate.execution.driver import drive
from ablate.execution.engines.in_process import InProcess
from ablate.execution.engines.local_pool import LocalPool
from ablate.execution.run_trial import WorkloadRef
from ablate.execution.supervisor import Supervised
from ablate.records.store import Store
from ablate.study.ids import TrialIds


class Deciding(FixedPlan):
    """Asks once, and ends trials as a test decides."""

    def __init__(self, cells, decide):
        super().__init__(cells)
        self.decide = decide

    def should_prune(self, report):
        return self.decide(report)


class InTurn(Plan):
    """Asks for one cell after the other."""

    def __init__(self, cells):
        self.cells = list(cells)
        self.seen = []

    def next_cells(self, records):
        self.seen.append(len(records))
        return [self.cells.pop(0)] if self.cells else []

    def should_prune(self, report):
        return False

    @property
    def left(self):
        return len(self.cells)


def driven(cells, store, name="in process", **options):
    heard = []
    engine = Supervised(ENGINES[name](TOY_REF))
    try:
        return drive(FixedPlan(cells), engine, store, heard.append, **options), heard
    finally:
        engine.close()


def cells_of(kind, heard):
    return [event.cell for event in heard if isinstance(event, kind)]


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize("name", SLOW_ON_RAY)
def test_every_record_is_stored_before_anyone_hears_of_it(tmp_path, name):
    store, engine = Store(tmp_path), Supervised(ENGINES[name](TOY_REF))
    told = []

    def listen(event):
        if isinstance(event, TrialStored):
            assert store.load(event.record.id) is not None
            told.append(event.cell.name)

    cells = toy_cells(tmp_path)
    records = drive(FixedPlan(cells), engine, store, listen)
    engine.close()
    assert sorted(told) == sorted(cell.name for cell in cells)
    assert records.keys() == {cell.id for cell in cells}


def test_a_trial_that_cells_share_is_trained_once_and_told_for_each(tmp_path):
    first = toy_cells(tmp_path)[0]
    twin = replace(first, variant="twin", name="twin seed 0")
    records, heard = driven([first, twin], Store(tmp_path))
    assert [event.to_train for event in heard if isinstance(event, BatchPlanned)] == [1]
    assert cells_of(TrialStored, heard) == [first, twin]
    assert len(records) == 1


def test_what_is_finished_is_known_and_what_is_not_wanted_is_never_trained(tmp_path):
    cells, store = toy_cells(tmp_path), Store(tmp_path)
    driven(cells[:2], store)
    records, heard = driven(cells[:5], store, wanted=lambda cell: cell in cells[1:4])
    assert cells_of(CacheHit, heard) == cells[:2]
    assert cells_of(TrialStored, heard) == cells[2:4]
    assert records.keys() == {cell.id for cell in cells[:4]}
    _, heard = driven(cells[:3], store, wanted=lambda cell: cell != cells[0], fresh=True)
    assert cells_of(CacheHit, heard) == cells[:1]
    assert cells_of(TrialStored, heard) == cells[1:3]


def test_a_failed_trial_is_no_outcome_but_its_record_counts_until_it_is_trained(tmp_path):
    store = Store(tmp_path)
    cells = [cell for cell in toy_cells(tmp_path, "training.fault=raise") if cell.seed == 0]
    driven(cells, store)
    assert cells_of(TrialStored, driven(cells, store)[1]) == cells
    records, heard = driven(cells, store, wanted=lambda cell: False)
    assert {record.status for record in records.values()} == {"failed"}
    assert cells_of(CacheHit, heard) == cells
    records, heard = driven(cells, store, fail_fast=True)
    assert cells_of(TrialStored, heard) == cells[:1]
    assert records.keys() == {cell.id for cell in cells}


def in_turn(cells, store, **options):
    """Drives a plan that asks for one cell after the other; returns it, and what was heard."""
    heard = []
    plan = InTurn(cells)
    drive(plan, Supervised(InProcess(TOY_REF)), store, heard.append, **options)
    return plan, heard


def test_a_plan_sees_every_record_before_it_is_asked_again(tmp_path):
    cells = toy_cells(tmp_path)[:3]
    plan, heard = in_turn(cells, Store(tmp_path), later=4)
    assert plan.seen == [0, 1, 2, 3]
    asked = [event for event in heard if isinstance(event, BatchPlanned)]
    assert [(event.to_train, event.left) for event in asked] == [(1, 6), (1, 5), (1, 4)]
    assert cells_of(TrialStored, heard) == cells


@pytest.mark.parametrize("fresh", [False, True])
def test_a_trial_that_a_plan_asks_for_twice_is_trained_once(tmp_path, fresh):
    first, second, *_ = toy_cells(tmp_path)
    twin = replace(first, role=RUNNER_UP, name="twin")
    _, heard = in_turn([first, second, twin], Store(tmp_path), fresh=fresh)
    assert cells_of(TrialStored, heard) == [first, second]
    assert cells_of(CacheHit, heard) == [twin]


def test_a_trial_that_failed_is_not_trained_again_by_the_same_run(tmp_path):
    first, *_ = [cell for cell in toy_cells(tmp_path, "training.fault=raise") if cell.seed == 0]
    _, heard = in_turn([first, replace(first, name="twin")], Store(tmp_path))
    assert cells_of(TrialStored, heard) == [first]
    assert cells_of(CacheHit, heard) == [replace(first, name="twin")]


class InTurnPruned(InTurn):
    """Asks for one cell after the other, and ends each trial that may be pruned at its first report."""

    def should_prune(self, report):
        return True


def test_a_pruned_trial_that_a_plan_asks_for_whole_is_trained_to_its_end(tmp_path):
    first, *_ = toy_cells(tmp_path)
    pruned = replace(first, trial=replace(first.trial, prunable=True))
    plan = InTurnPruned([pruned, replace(first, name="whole")])
    records = drive(plan, Supervised(InProcess(TOY_REF)), Store(tmp_path), lambda event: None)
    assert records[first.id].status == "completed"


@pytest.mark.parametrize("fresh", [False, True])
def test_a_trial_that_was_looked_up_unwanted_is_trained_where_a_later_cell_wants_it(tmp_path, fresh):
    store = Store(tmp_path)
    # Without `fresh` one that has failed, with it one that is finished.
    sets = [] if fresh else ["training.fault=raise"]
    first, *_ = [cell for cell in toy_cells(tmp_path, *sets) if cell.seed == 0]
    driven([first], store)
    twin = replace(first, name="twin")
    _, heard = in_turn([first, twin], store, wanted=lambda cell: cell is twin, fresh=fresh)
    assert cells_of(CacheHit, heard) == [first]
    assert cells_of(TrialStored, heard) == [twin]


def test_a_trial_of_which_a_later_cell_keeps_weights_is_trained_for_them(tmp_path):
    first, *_ = toy_cells(tmp_path)
    keeping = replace(first, trial=replace(first.trial, checkpoint="final"), name="keeping")
    _, heard = in_turn([first, keeping], Store(tmp_path))
    assert cells_of(TrialStored, heard) == [first, keeping]


CONFIG = {
    "task": {"name": "recall", "validation_size": 32, "test_size": 32},
    "model": {"d_model": 16, "num_layers": 1, "mixer": {"num_heads": 2}, "dropout": {"residual": 0.1}},
    "training": {"steps": 24, "batch_size": 8, "eval_every": 4},
}
SEQUENCE = Trial("x", CONFIG, 10_000, prunable=True, save_every=6)
SEQUENCE_REF = WorkloadRef("sequence")


def train(trial, store, decide=lambda report: False):
    """Through the driver, in this process."""
    plan = Deciding([Cell("baseline", "", trial.seed, trial)], decide)
    return drive(plan, Supervised(InProcess(SEQUENCE_REF)), store, lambda event: None)["x"]


def whole(trial, decide=lambda report: False):
    """Without a store."""
    return run(InProcess(SEQUENCE_REF), [trial], decide)[0]


def test_a_pruned_trial_is_trained_by_a_run_that_asks_for_it_whole(tmp_path):
    cell, store = toy_cells(tmp_path)[0], Store(tmp_path / "store")
    prunable = replace(cell, trial=replace(cell.trial, prunable=True))
    engine = Supervised(InProcess(TOY_REF))
    drive(Deciding([prunable], lambda report: True), engine, store, lambda event: None)
    pruned = store.load(cell.id)
    assert pruned is not None
    assert pruned.status == "pruned"
    assert not store.is_finished(pruned, "final")
    assert store.is_finished(pruned, "final", pruned=True)
    assert cells_of(CacheHit, driven([prunable], store)[1])
    records, heard = driven([cell], store)
    assert not cells_of(CacheHit, heard)
    assert records[cell.id].status == "completed"


def test_a_pruned_model_that_is_trained_to_its_end_resumes_from_its_state(tmp_path):
    store = Store(tmp_path)
    stopped = train(SEQUENCE, store, lambda report: report.step == 16)
    assert (stopped.status, stopped.reason) == ("pruned", "stopped after step 16 of 24")
    assert store.load_state("x") is not None
    plain = replace(SEQUENCE, prunable=False, checkpoint="best")
    resumed = train(plain, store)
    assert content(resumed) == content(whole(plain))
    assert store.load_state("x") is None


def test_a_prunable_model_never_resumes_from_a_state_that_was_left_behind(tmp_path):
    """A run that was not to be pruned may have come further than the step at which a search ends it."""
    store = Store(tmp_path)
    heard = []
    run(InProcess(SEQUENCE_REF), [replace(SEQUENCE, prunable=False)], heard=heard)
    store.save_state("x", [event.state for event in heard if isinstance(event, Saved)][-1])
    stopped = train(SEQUENCE, store, lambda report: report.step == 8)
    assert content(stopped) == content(whole(SEQUENCE, lambda report: report.step == 8))
    np.testing.assert_array_equal(stopped.curves["train_loss"].steps, [4, 8])


@pytest.mark.slow  # Two workers import torch.
def test_a_model_whose_worker_is_lost_is_stopped_where_it_would_have_been(tmp_path):
    calm = whole(SEQUENCE, lambda report: report.step == 16)
    assert len(calm.arrays["train_loss"]) == 16
    killed = []
    heard = []

    def decide(report):
        # The last state is that of step 12, from which the next worker comes to 16 again.
        if report.step == 16 and not killed:
            killed.append(children()[0])
            os.kill(killed[0], signal.SIGKILL)
        return report.step == 16

    # A worker trains what its own sources give the id.
    known = replace(SEQUENCE, id=TrialIds(SEQUENCE_REF.load()).identity(CONFIG)(SEQUENCE.seed, ""))
    disturbed = run(LocalPool(SEQUENCE_REF, 1), [known], decide, heard)[0]
    assert content(disturbed) == content(calm)
    assert disturbed.attempts == 2
    assert [event.step for event in heard if isinstance(event, Saved)] == [6, 12]
    assert [event.step for event in heard if isinstance(event, Progress)] == [4, 8, 12, 16]


def test_no_trial_begins_before_its_plan_was_dated(tmp_path):
    """Whatever the clock says, of this machine or of a node; it takes as long as it took."""
    engine = Supervised(InProcess(TOY_REF))
    moment = "2999-12-31T23:59:59.999+00:00"
    (cell,) = toy_cells(tmp_path)[:1]
    records = drive(FixedPlan([cell]), engine, Store(tmp_path), lambda event: None, not_before=moment)
    record = records[cell.id]
    assert record.started_at == moment
    assert 0 <= record.seconds < 30
