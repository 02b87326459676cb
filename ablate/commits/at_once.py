"""Runs of which several go on at once, each in a thread that waits for its process."""

import re
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from ablate.base.errors import AblateError
from ablate.external.command import TimeLimit

_TICK = 0.2
"""Seconds between two looks at whether this process is interrupted, which the wait for a thread may miss."""
_OF_TIME = re.compile(
    r"(^|[^a-z])(time|seconds?|secs?|latency|duration|throughput|speed|walltime|fps)($|[^a-z])|(^|[^a-z])ms$"
    r"|per_?s(ec|econd)?$|/s$"
)
"""Names of metrics such as `step_seconds`, `tokens_per_s` and `ms`, but not `ms_ssim`."""
Task = TypeVar("Task")
Result = TypeVar("Result")


def measures_time(metric: str) -> bool:
    """Returns whether a metric seems to be a time or a speed, by its name."""
    return _OF_TIME.search(re.sub(r"([a-z])([A-Z])", r"\1_\2", metric).lower()) is not None


class Stop(TimeLimit):
    """A signal that ends the commands which watch it."""

    def __init__(self) -> None:
        super().__init__()
        self._is_set = threading.Event()

    def set(self) -> None:
        """Ends the commands that watch it."""
        self._is_set.set()

    def check(self) -> None:
        """Raises `AblateError` once it is set."""
        if self._is_set.is_set():
            raise AblateError("was interrupted")


def at_once(
    tasks: Iterator[Task], run: Callable[[Task], Result], jobs: int, stop: Stop
) -> Generator[tuple[Task, Future[Result]]]:
    """Runs tasks in `jobs` threads, and yields each with its result or error as it ends.

    The next task is taken when a thread is free. Where the caller is interrupted, or closes this generator, `stop` is
    set.
    """
    running: dict[Future[Result], Task] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                for task in islice(tasks, jobs - len(running)):
                    running[pool.submit(run, task)] = task
                if not running:
                    return
                done, _ = wait(running, _TICK, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future
        finally:
            stop.set()
