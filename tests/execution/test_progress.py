"""The progress of a run counts to one total, which changes only with a reason that is said."""

import io

from rich.console import Console

from ablate.core.events import BatchPlanned, Capacity, TrialStored
from ablate.core.record import Record
from ablate.core.trial import Cell, Trial
from ablate.execution.progress import Display


class Progress:
    """A display, and the batches that a test plans and trains on it."""

    def __init__(self):
        self.console = Console(file=io.StringIO(), width=300)
        self.display = Display(self.console, "toy", "accuracy", lambda: Capacity(2), at_most=True)
        self.trained = 0

    def plan(self, to_train, left, reason="why"):
        self.display(BatchPlanned(to_train, left, reason=reason))
        for _ in range(to_train):
            trial = Trial(f"{self.trained:016x}", {}, self.trained)
            record = Record.of(trial, metrics={"accuracy": 0.5})
            self.display(TrialStored(Cell("baseline", "", 0, trial, f"trial {self.trained}"), record))
            self.trained += 1

    def lines(self):
        return self.console.file.getvalue().splitlines()


def totals(lines):
    return {line.partition("/")[2].partition("]")[0] for line in lines if line.startswith("[")}


def planned(*batches):
    progress = Progress()
    with progress.display:
        for batch in batches:
            progress.plan(*batch)
    return progress.lines()


def test_trials_that_are_not_needed_are_said_with_the_reason_and_the_total_stays():
    lines = planned((4, 16), (4, 12), (6, 0, "looks"))
    assert totals(lines) == {"20"}
    assert [line for line in lines if "not needed" in line] == ["toy: 6 of 20 trials are not needed: looks."]
    assert lines[-1].startswith("[20/20] ")


def test_settings_that_a_search_drops_one_by_one_are_said_a_few_at_a_time():
    lines = planned((10, 190), *[(1, 189 - 2 * step) for step in range(1, 40)])
    said = [line for line in lines if "not needed" in line]
    assert totals(lines) == {"200"}
    assert 1 < len(said) < 6


def test_more_trials_than_planned_are_said():
    lines = planned((4, 4), (8, 0))
    assert totals(lines) == {"8", "12"}
    assert [line for line in lines if "12 trials in all" in line]


def test_a_plan_that_ends_early_says_so():
    lines = planned((4, 4), (0, 0, "decided"))
    assert lines[-1] == "toy: 4 of 8 trials are not needed: decided."
