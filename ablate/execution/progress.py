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
from ablate.core.events import Asked, Capacity, Event, Finished, Found, Started, Told
from ablate.core.metric import validated
from ablate.core.record import Record, outcome
from ablate.core.spelling import spelled
from ablate.core.trial import Cell

# Of a run where there is no terminal, beside those of trials without a result.
MOST_LINES = 20
# After which there is a line in any case.
SECONDS = 30.0


@dataclass
class Display:
    """A listener that counts trials known, trained, running and failed, and says how long the rest will take.

    `metric` is the one that judges trials; `capacity` is that of the engine; `at_most`: the study may train fewer than
    it plans; `compute`: FLOPs of one training of the baseline, and `usual` the seconds that such a training took here
    before.
    """

    console: Console
    study: str
    metric: str
    capacity: Callable[[], Capacity]
    at_most: bool = False
    compute: int | None = None
    usual: float | None = None
    total: int = 0
    done: int = 0
    failed: int = 0
    seconds: float = 0.0
    jobs: int = 1
    _last_line: float = field(default_factory=time.monotonic)
    _running: dict[str, float] = field(default_factory=dict)
    # Trial in the store → the seconds that it took.
    _known: dict[str, float] = field(default_factory=dict)
    _trained: set[str] = field(default_factory=set)
    _announced: bool = False

    def __enter__(self) -> Display:
        columns = [TextColumn("training"), BarColumn(bar_width=None), TextColumn("{task.fields[state]}")]
        terminal = self.console.is_terminal
        self._bar = Progress(*columns, console=self.console, transient=True, disable=not terminal)
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Shows one event of the driver."""
        if isinstance(event, Asked):
            self._asked(event)
        elif isinstance(event, Found):
            self._known[event.record.id] = event.record.seconds
        elif isinstance(event, Started):
            self._running.setdefault(event.trial_id, time.monotonic())
        elif isinstance(event, Finished) and event.record.id not in self._trained:
            self._trained.add(event.record.id)
            self._finished(event.cell, event.record)
        elif isinstance(event, Told):
            self._say(event.text)
            self.jobs = self.capacity().trials
        for task in self._bar.task_ids:
            self._bar.update(task, completed=self.done, total=self.total, state=self._state())

    def _asked(self, event: Asked) -> None:
        self.total = self.done + event.to_train + event.left
        if event.without_weights:
            self._say(
                f"{self.study}: {event.without_weights} finished trials lack the weights that the study keeps; they "
                "are trained again."
            )
        if self._announced or not (self.total or self._known):
            return
        self._announced = self.total > 0
        if not self.total:
            self._say(f"{self.study}: all {len(self._known)} trials are in the store.")
            return
        self.jobs = (here := self.capacity()).trials
        jobs = min(self.jobs, self.total)
        where = f"on {wording.counted(jobs, 'worker')}{here.where}" if jobs else "in this process"
        kept = f", {len(self._known)} already in the store" if self._known else ""
        most = "at most " if self.at_most else ""
        each = f", {wording.compact(self.compute, 3)} FLOPs each" if self.compute else ""
        self._say(f"{self.study}: {most}{self.total} trials to train {where}{kept}{each}{self._left(', ')}.")
        self._bar.start()
        self._bar.add_task("", total=self.total, state=self._state())

    def _say(self, line: str) -> None:
        self.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def _finished(self, cell: Cell, record: Record) -> None:
        took = time.monotonic() - self._running.pop(record.id, time.monotonic())
        self.done += 1
        self.seconds += took
        self.failed += record.status == "failed"
        if (self._bar.disable and self._is_due()) or record.status != "completed":
            self._last_line = time.monotonic()
            outcome = f"{self._outcome(cell, record)} ({took:.1f} s){self._left(', ')}"
            self._say(f"[{self.done}/{self.total}] {cell.name}: {outcome}")

    def _is_due(self) -> bool:
        """Whether so much has been trained, or so much time has passed, since the last line."""
        every = max(1, -(-self.total // MOST_LINES))
        overdue = time.monotonic() - self._last_line > SECONDS
        return self.done % every == 0 or self.done in (1, self.total) or overdue

    def _outcome(self, cell: Cell, record: Record) -> str:
        """The metric that counts: for a cell that tunes, on validation data if measured."""
        if record.status != "completed":
            return outcome(record.status, record.reason)
        validation = validated(self.metric)
        name = self.metric if cell.judged or validation not in record.metrics else validation
        value = record.metrics.get(name)
        said = spelled(name)
        if value is None or not math.isfinite(value):
            return f"completed, without a finite {said}"
        return f"{said} {value:.4g}"

    def _state(self) -> str:
        failed = f" · {self.failed} failed" if self.failed else ""
        left = self._left(" · ")
        return f"{self.done}/{self.total} done · {len(self._running)} running{failed}{left}"

    def _left(self, before: str) -> str:
        rest = self.total - self.done
        # Before the first is finished, by those in the store.
        took = [self.seconds / self.done] if self.done else [*filter(None, self._known.values())]
        took = took or [self.usual or 0.0]
        seconds = fmean(took) * rest / max(1, min(self.jobs, rest))
        return f"{before}about {wording.duration(seconds)} left" if seconds >= 1 else ""
