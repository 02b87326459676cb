"""Tickets: a budget in Optuna's storage, of which several drivers draw."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from ablate.search import tickets as module
from ablate.search.storage import open_storage
from ablate.search.tickets import Ticket, Tickets

Open = Callable[..., Tickets]


@pytest.fixture(params=["sqlite", "journal"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the tickets of one search, each time in a storage of its own on the same file."""
    url = {"sqlite": f"sqlite:///{tmp_path}/x.db", "journal": f"journal:{tmp_path}/x.log"}[request.param]
    made: list[Tickets] = []

    def opened(driver: str = "a", asked: int = 6, name: str = "s") -> Tickets:
        made.append(Tickets(open_storage(url), name, ["max"], asked, driver))
        return made[-1]

    yield opened
    for tickets in made:
        tickets.close()


def finish(tickets: Tickets, ticket: Ticket, state: str = "COMPLETE", **result: Any) -> bool:
    tickets.note(ticket, {"x": ticket.rank})
    values = [float(ticket.rank)] if state == "COMPLETE" else None
    return tickets.tell(ticket, state, values, {"status": state.lower(), "reason": "", **result})


def states(tickets: Tickets) -> list[str]:
    return [trial.state.name for trial in tickets.trials()]


def test_a_budget_is_drawn_batch_by_batch_and_once(opened: Open) -> None:
    tickets = opened(asked=6)
    found = []
    while drawn := tickets.draw(4):
        found.append([ticket.rank for ticket in drawn])
        for ticket in drawn:
            assert finish(tickets, ticket)
    assert found == [[0, 1, 2, 3], [4, 5]]
    assert tickets.over
    assert tickets.elsewhere() == 0
    assert [trial.value for trial in tickets.trials()] == [0, 1, 2, 3, 4, 5]


def test_a_larger_budget_goes_on_and_a_smaller_one_looks_at_the_first(opened: Open) -> None:
    tickets = opened(asked=3)
    for ticket in tickets.draw(4):
        finish(tickets, ticket)
    more = opened(asked=5)
    assert [ticket.rank for ticket in more.draw(5)] == [3, 4]
    assert len(opened(asked=2).trials()) == 2
    assert opened(asked=2).over
    assert len(opened(asked=7, name="other").draw(9)) == 7


def test_what_was_drawn_and_not_finished_is_the_same_drivers_again(opened: Open) -> None:
    first = opened("a").draw(4)
    opened("a").note(first[0], {"x": 0.5})
    # Another has the rest of the batch, and the next.
    assert [ticket.rank for ticket in opened("b").draw(4)] == [4, 5]
    assert opened("b").draw(4) != []
    again = opened("a").draw(4)
    assert [ticket.number for ticket in again] == [ticket.number for ticket in first]
    assert [ticket.point for ticket in again] == [{"x": 0.5}, None, None, None]
    assert opened("c").elsewhere() == 6
    assert opened("c").draw(4) == []


def test_what_failed_is_tried_again_by_the_next_run_and_only_that(opened: Open) -> None:
    tickets = opened(asked=3)
    for ticket in tickets.draw(4):
        finish(tickets, ticket, "FAIL" if ticket.rank == 1 else "COMPLETE")
    assert tickets.over
    assert not tickets.draw(4)
    for attempt, end in enumerate(["FAIL", "FAIL", "COMPLETE"]):
        run = opened(asked=3)
        run.again()
        (ticket,) = run.draw(4)
        assert (ticket.rank, ticket.point) == (1, {"x": 1}), attempt
        assert finish(run, ticket, end)
        assert states(run) == ["COMPLETE", end, "COMPLETE"]
    run.again()
    assert not run.draw(4)
    assert len(run.study.get_trials(deepcopy=False)) == 6


def test_two_that_replace_the_same_count_once(opened: Open) -> None:
    tickets = opened(asked=2)
    for ticket in tickets.draw(4):
        finish(tickets, ticket, "FAIL")
    failed = tickets.trials()[0]
    tickets._replace(failed)
    tickets._replace(failed)
    assert len(tickets.trials()) == 2
    run = opened(asked=2)
    run.again()
    assert [ticket.rank for ticket in run.draw(4)] == [0, 1]
    assert not opened("b", asked=2).draw(4)


def test_drivers_that_begin_and_draw_at_once_share_the_budget(opened: Open) -> None:
    opened(name="imports what threads cannot import at once")
    counts: Counter[int] = Counter()
    barrier = threading.Barrier(4)
    faults: list[Exception] = []

    def work(driver: str) -> None:
        try:
            barrier.wait()
            tickets = opened(driver, asked=12)
            while drawn := tickets.draw(3):
                for ticket in drawn:
                    counts[ticket.rank] += finish(tickets, ticket)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert counts == Counter(range(12))
    assert states(opened(asked=12)) == ["COMPLETE"] * 12


def test_a_driver_without_signs_of_life_is_replaced_and_may_come_back(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.1)
    gone, here = opened("gone", asked=3), opened("here", asked=3)
    (lost,) = gone.draw(1)
    gone.note(lost, {"x": 7})
    gone.close()
    monkeypatch.setattr(module, "HEARTBEAT", 0.1)
    for ticket in here.draw(3):
        finish(here, ticket)
    waited = threading.Event()
    for _ in range(100):
        if not here.elsewhere() or here.draw(1):
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
    busy, here = opened("busy", asked=1), opened("here", asked=1)
    (ticket,) = busy.draw(1)
    waited = threading.Event()
    for _ in range(12):
        assert here.elsewhere() == 1
        waited.wait(0.05)
    assert finish(busy, ticket)
    assert here.elsewhere() == 0


def test_a_ticket_that_was_taken_by_a_driver_that_died_at_once_is_found(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the state and its name: nobody's."""
    monkeypatch.setattr(module, "HEARTBEAT", 0.05)
    tickets = opened("a", asked=1)
    tickets.storage.set_trial_state_values(tickets.trials()[0]._trial_id, TrialState.RUNNING)
    waited = threading.Event()
    for _ in range(100):
        if drawn := tickets.draw(1) or (tickets.elsewhere() and []):
            break
        waited.wait(0.05)
    assert [ticket.rank for ticket in drawn] == [0]
