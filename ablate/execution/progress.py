"""What a person sees while trials run: a bar on a terminal, a line a trial elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from ablate.base import wording
from ablate.core.events import Event, Finished, Saved, Started
from ablate.core.events import Progress as Step
from ablate.core.record import Record


class Display:
    """Counts trials done, running and failed, and says how long the rest will take."""

    def __init__(
        self,
        console: Console,
        total: int,
        names: Mapping[str, str],
        jobs: int,
        metric: Callable[[Record], str],
    ) -> None:
        """`names` may grow while trials run; `metric` says which number of a record is shown."""
        self.console = console
        self.total = total
        self.names = names
        self.jobs = max(1, jobs)
        self.metric = metric
        self.done = 0
        self.failed = 0
        self.running: dict[str, float] = {}
        self.seconds = 0.0
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[state]}"),
            )
            self._bar = Progress(*columns, console=self.console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("training", total=self.total, state=self._state())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, event: Event) -> None:
        """Takes one event of the driver."""
        if isinstance(event, Started):
            self.running.setdefault(event.trial_id, time.monotonic())
        elif isinstance(event, Finished):
            self._finished(event.record)
        elif isinstance(event, (Step, Saved)):
            return
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, state=self._state())

    def _finished(self, record: Record) -> None:
        took = time.monotonic() - self.running.pop(record.id, time.monotonic())
        self.done += 1
        self.seconds += took
        self.failed += record.status == "failed"
        name = self.names.get(record.id, record.id)
        if record.status == "completed":
            metric = self.metric(record)
            value = record.metrics.get(metric)
            outcome = f"{metric.replace('_', ' ')} {value:.4g}" if value is not None else "completed"
        else:
            outcome = f"{record.status}: {record.reason}"
        if self._bar is None or record.status != "completed":
            line = f"[{self.done}/{self.total}] {name}: {outcome} ({took:.1f} s){self._left(', ')}"
            self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _state(self) -> str:
        parts = [f"{self.done}/{self.total} done", f"{len(self.running)} running"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        return " · ".join(parts) + self._left(" · ")

    def _left(self, before: str) -> str:
        rest = self.total - self.done
        if not self.done or not rest:
            return ""
        return f"{before}about {wording.duration(self.seconds / self.done * rest / self.jobs)} left"
