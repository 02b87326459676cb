"""The queue: a budget in Optuna's storage, of which several drivers draw."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from ablate.search import queue as module
from ablate.search.queue import Item, Queue
from ablate.search.storage import open_storage

Open = Callable[..., Queue]


@pytest.fixture(params=["sqlite", "journal"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the queue of one search, each time in a storage of its own on the same file."""
    url = {"sqlite": f"sqlite:///{tmp_path}/x.db", "journal": f"journal:{tmp_path}/x.log"}[request.param]
    made: list[Queue] = []

    def opened(driver: str = "a", budget: int = 6, name: str = "s") -> Queue:
        made.append(Queue(open_storage(url), name, ["max"], budget, driver))
        return made[-1]

    yield opened
    for queue in made:
        queue.close()


def finish(queue: Queue, item: Item, state: str = "COMPLETE", **result: Any) -> bool:
    queue.save_point(item, {"x": item.rank})
    values = [float(item.rank)] if state == "COMPLETE" else None
    return queue.tell(item, state, values, {"status": state.lower(), "reason": "", **result})


def states(queue: Queue) -> list[str]:
    return [trial.state.name for trial in queue.trials()]


def test_a_budget_is_drawn_batch_by_batch_and_once(opened: Open) -> None:
    queue = opened(budget=6)
    found = []
    while drawn := queue.draw(4):
        found.append([item.rank for item in drawn])
        for item in drawn:
            assert finish(queue, item)
    assert found == [[0, 1, 2, 3], [4, 5]]
    assert queue.finished
    assert queue.count_unfinished() == 0
    assert [trial.value for trial in queue.trials()] == [0, 1, 2, 3, 4, 5]


def test_a_larger_budget_goes_on_and_a_smaller_one_looks_at_the_first(opened: Open) -> None:
    queue = opened(budget=3)
    for item in queue.draw(4):
        finish(queue, item)
    more = opened(budget=5)
    assert [item.rank for item in more.draw(5)] == [3, 4]
    assert len(opened(budget=2).trials()) == 2
    assert opened(budget=2).finished
    assert len(opened(budget=7, name="other").draw(9)) == 7


def test_what_was_drawn_and_not_finished_is_the_same_drivers_again(opened: Open) -> None:
    first = opened("a").draw(4)
    opened("a").save_point(first[0], {"x": 0.5})
    # Another has the rest of the batch, and the next.
    assert [item.rank for item in opened("b").draw(4)] == [4, 5]
    assert opened("b").draw(4) != []
    again = opened("a").draw(4)
    assert [item.number for item in again] == [item.number for item in first]
    assert [item.point for item in again] == [{"x": 0.5}, None, None, None]
    assert opened("c").count_unfinished() == 6
    assert opened("c").draw(4) == []


def test_what_failed_is_tried_again_by_the_next_run_and_only_that(opened: Open) -> None:
    queue = opened(budget=3)
    for item in queue.draw(4):
        finish(queue, item, "FAIL" if item.rank == 1 else "COMPLETE")
    assert queue.finished
    assert not queue.draw(4)
    for attempt, end in enumerate(["FAIL", "FAIL", "COMPLETE"]):
        run = opened(budget=3)
        run.requeue()
        (item,) = run.draw(4)
        assert (item.rank, item.point) == (1, {"x": 1}), attempt
        assert finish(run, item, end)
        assert states(run) == ["COMPLETE", end, "COMPLETE"]
    run.requeue()
    assert not run.draw(4)
    assert len(run.study.get_trials(deepcopy=False)) == 6


def test_two_that_replace_the_same_count_once(opened: Open) -> None:
    queue = opened(budget=2)
    for item in queue.draw(4):
        finish(queue, item, "FAIL")
    failed = queue.trials()[0]
    queue._replace(failed)
    queue._replace(failed)
    assert len(queue.trials()) == 2
    run = opened(budget=2)
    run.requeue()
    assert [item.rank for item in run.draw(4)] == [0, 1]
    assert not opened("b", budget=2).draw(4)


def test_drivers_that_begin_and_draw_at_once_share_the_budget(opened: Open) -> None:
    opened(name="imports what threads cannot import at once")
    counts: Counter[int] = Counter()
    barrier = threading.Barrier(4)
    faults: list[Exception] = []

    def work(driver: str) -> None:
        try:
            barrier.wait()
            queue = opened(driver, budget=12)
            while drawn := queue.draw(3):
                for item in drawn:
                    counts[item.rank] += finish(queue, item)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert counts == Counter(range(12))
    assert states(opened(budget=12)) == ["COMPLETE"] * 12


def test_a_driver_without_signs_of_life_is_replaced_and_may_come_back(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.1)
    gone, here = opened("gone", budget=3), opened("here", budget=3)
    (lost,) = gone.draw(1)
    gone.save_point(lost, {"x": 7})
    gone.close()
    monkeypatch.setattr(module, "HEARTBEAT", 0.1)
    for item in here.draw(3):
        finish(here, item)
    waited = threading.Event()
    for _ in range(100):
        if not here.count_unfinished() or here.draw(1):
            break
        waited.wait(0.05)
    (mine,) = here.draw(1)
    assert (mine.rank, mine.point) == (0, {"x": 7})
    assert not gone.tell(lost, "COMPLETE", [1.0], {"status": "completed"}), "taken over"
    assert finish(here, mine)
    assert states(here) == ["COMPLETE"] * 3
    assert here.trials()[0].number != lost.number


def test_a_driver_that_lives_is_not_replaced(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    busy, here = opened("busy", budget=1), opened("here", budget=1)
    (item,) = busy.draw(1)
    waited = threading.Event()
    for _ in range(12):
        assert here.count_unfinished() == 1
        waited.wait(0.05)
    assert finish(busy, item)
    assert here.count_unfinished() == 0


def test_an_item_that_was_taken_by_a_driver_that_died_at_once_is_found(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the state and its name: nobody's."""
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    queue = opened("a", budget=1)
    queue.storage.set_trial_state_values(queue.trials()[0]._trial_id, TrialState.RUNNING)
    waited = threading.Event()
    for _ in range(100):
        if drawn := queue.draw(1) or (queue.count_unfinished() and []):
            break
        waited.wait(0.05)
    assert [item.rank for item in drawn] == [0]
