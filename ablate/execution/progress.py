"""The progress of a run: a bar on a terminal, a line for each trial or for each few per cent elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ablate.base import wording
from ablate.base.text import printable
from ablate.core.events import BatchPlanned, CacheHit, Capacity, EngineMessage, Event, Started, TrialStored
from ablate.core.facts import BASELINE
from ablate.core.metric import validated
from ablate.core.overhead import Overhead
from ablate.core.record import Record, outcome
from ablate.core.spelling import spelled
from ablate.core.trial import Cell

# The number of lines of a run without a terminal, beside those of trials without a result.
MAX_LINES = 20
# Seconds after the last line after which the next trial has one in any case.
MAX_SILENCE = 30.0


@dataclass
class Display:
    """A listener that counts trials known, trained, running and failed, and says how long the rest will take."""

    console: Console
    study: str
    metric: str  # The one that judges trials.
    capacity: Callable[[], Capacity]  # That of the engine.
    at_most: bool = False  # Whether the study may train fewer trials than it plans.
    compute: int | None = None  # FLOPs of one training of the baseline.
    usual: float | None = None  # Seconds that such a training took here before.
    # Whether the run ends where the first run of the baseline fails, and the error that ends it says why.
    ends_at_failure: bool = False
    # What the run takes beside training, and when it began, by `time.monotonic`.
    overhead: Overhead = field(default_factory=Overhead)
    began: float = field(default_factory=time.monotonic)
    # When the first trial began; until training has ended without any, None.
    trains_since: float | None = None
    # The most trainings of the run, as it has been said last.
    total: int = 0
    done: int = 0
    failed: int = 0
    # Of the total, the trainings that turned out not to be needed; and those of them that a line has told of.
    spared: int = 0
    said_spared: int = 0
    seconds: float = 0.0  # Of all trials that are done.
    jobs: int = 1
    _last_line: float = field(default_factory=time.monotonic)
    # Trial that runs → when it began.
    _running: dict[str, float] = field(default_factory=dict)
    # Trial in the store → the seconds that it took.
    _known: dict[str, float] = field(default_factory=dict)
    _trained: set[str] = field(default_factory=set)
    _announced: bool = False

    def __enter__(self) -> Display:
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[state]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()
        if self.trains_since is None:
            self.trains_since = time.monotonic()

    def __call__(self, event: Event) -> None:
        """Shows one event of the driver."""
        if isinstance(event, BatchPlanned):
            self._plan(event)
        elif isinstance(event, CacheHit):
            self._known[event.record.id] = event.record.seconds
        elif isinstance(event, Started):
            self._running.setdefault(event.trial_id, time.monotonic())
            if self.trains_since is None:
                self.trains_since = time.monotonic()
        elif isinstance(event, TrialStored) and event.record.id not in self._trained:
            self._trained.add(event.record.id)
            self._finish(event.cell, event.record)
        elif isinstance(event, EngineMessage):
            self._say(event.text)
            self.jobs = self.capacity().trials
        for task in self._bar.task_ids:
            self._bar.update(task, completed=self._counted, total=self.total, state=self._state())

    @property
    def has_results(self) -> bool:
        """True where a trial that was trained has not failed."""
        return self.done > self.failed

    def _plan(self, event: BatchPlanned) -> None:
        """Takes the number of trials, and announces the run where that has not been done."""
        left = event.to_train + event.left
        if event.without_weights:
            self._say(
                f"{self.study}: {event.without_weights} finished trials lack the weights that the study keeps; they "
                "are trained again."
            )
        if self._announced:
            self._replan(left, event)
        elif event.to_train:
            self._announced = True
            self.total = left
            self._announce()
        elif not left and self._known:
            self._say(f"{self.study}: all {len(self._known)} trials are in the store.")

    def _replan(self, left: int, event: BatchPlanned) -> None:
        """Counts trainings that are not needed any more as spared, and says why there are fewer or more.

        Of a search, which drops settings one by one, a line says so for each few per cent, and at its end.
        """
        more = left - (self.total - self._counted)
        if more > 0:
            self.total += more
            self._say(
                f"{self.study}: {self.total} trials in all: what was found asks for {more} more than planned."
            )
            return
        self.spared -= more
        unsaid = self.spared - self.said_spared
        is_end = not left or not event.to_train
        if unsaid and (is_end or unsaid * MAX_LINES >= self.total):
            self.said_spared = self.spared
            self._say(f"{self.study}: {self.spared} of {self.total} trials are not needed: {event.reason}.")

    @property
    def _counted(self) -> int:
        """The trainings that are done or not needed."""
        return self.done + self.spared

    def _announce(self) -> None:
        """Says what will be trained, and shows the bar."""
        capacity = self.capacity()
        self.jobs = capacity.trials
        at_most = "at most " if self.at_most else ""
        where = "in this process"
        workers = min(self.jobs, self.total)
        if workers:
            where = f"on {wording.counted(workers, 'worker')}{capacity.where}"
        stored = f", {len(self._known)} already in the store" if self._known else ""
        compute = f", {wording.compact(self.compute, 3)} FLOPs each" if self.compute else ""
        left = self._left(", ")
        overhead = self.overhead_left()
        if left and overhead >= 1:
            left += f", of which {wording.duration(overhead)} is starting and reporting"
        self._say(f"{self.study}: {at_most}{self.total} trials to train {where}{stored}{compute}{left}.")
        self._bar.start()
        self._bar.add_task("", total=self.total, state=self._state())

    def _say(self, line: str) -> None:
        self.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def _finish(self, cell: Cell, record: Record) -> None:
        """Counts a trial that was trained, and has a line for it where one is due."""
        now = time.monotonic()
        seconds = now - self._running.pop(record.id, now)
        self.done += 1
        self.seconds += seconds
        if record.status == "failed":
            self.failed += 1
        has_lines = self._bar.disable
        if record.status != "completed" or (has_lines and self._is_due()):
            self._last_line = time.monotonic()
            text = f"{self._outcome(cell, record)} ({seconds:.1f} s){self._left(', ')}"
            self._say(f"[{self._counted}/{self.total}] {cell.name}: {text}")

    def _is_due(self) -> bool:
        """Returns whether so much has been trained, or so much time has passed, since the last line."""
        trials_a_line = max(1, math.ceil(self.total / MAX_LINES))
        is_overdue = time.monotonic() - self._last_line > MAX_SILENCE
        is_last = self._counted == self.total
        return self.done % trials_a_line == 0 or self.done == 1 or is_last or is_overdue

    def _outcome(self, cell: Cell, record: Record) -> str:
        """Returns the metric that counts, which for a cell that tunes is that on validation data if measured."""
        if record.status == "failed" and self.ends_at_failure and not self.has_results:
            return record.status if cell.variant == BASELINE else outcome(record.status, record.reason)
        if record.status != "completed":
            return outcome(record.status, record.reason)

        validation = validated(self.metric)
        name = self.metric if cell.judged or validation not in record.metrics else validation
        value = record.metrics.get(name)
        if value is None or not math.isfinite(value):
            return f"completed, without a finite {spelled(name)}"
        return f"{spelled(name)} {value:.4g}"

    def _state(self) -> str:
        """Returns what stands beside the bar."""
        failed = f" · {self.failed} failed" if self.failed else ""
        left = self._left(" · ")
        spared = f" · {self.spared} not needed" if self.spared else ""
        return f"{self._counted}/{self.total} done · {len(self._running)} running{failed}{spared}{left}"

    def _left(self, separator: str) -> str:
        """Returns how long the rest will take, after a separator.

        Nothing where no training has been timed, and for less than a second.
        """
        usual = self._usual_seconds()
        if not usual:
            return ""
        trials = self.total - self._counted
        at_once = max(1, min(self.jobs, trials))
        seconds = usual * trials / at_once + self.overhead_left()
        return f"{separator}about {wording.duration(seconds)} left" if seconds >= 1 else ""

    def overhead_left(self) -> float:
        """Returns the seconds that the run still takes beside training."""
        if self.trains_since is not None:
            return self.overhead.report
        return self.overhead.left(time.monotonic() - self.began)

    def _usual_seconds(self) -> float:
        """Returns how long a training takes here: by this run, else by the store, else by earlier runs."""
        if self.done:
            return self.seconds / self.done
        stored = [seconds for seconds in self._known.values() if seconds]
        if stored:
            return fmean(stored)
        return self.usual or 0.0
