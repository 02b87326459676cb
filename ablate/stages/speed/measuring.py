"""The process that measures, and how its driver sees it: it times what it is sent, once, and ends.

It ends at once when its pipe closes. Each message is a word and what belongs to it: `at` the key of the config that it
turns to, `done` the times of a group, `failed` why the config that it was at cannot be measured.
"""

import gc
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Literal, NoReturn, Protocol, TypeVar, assert_never

from ablate.base.errors import AblateError, described
from ablate.base.plugins import raised_by_plugin
from ablate.core.workload import Workload
from ablate.execution.child import Child, fresh, parent
from ablate.execution.run_trial import WorkloadRef
from ablate.stages.speed.group import Group, GroupTimes

Word = Literal["at", "done", "failed"]
"""What a message of the process is about."""


class Requested(Protocol):
    """The groups that one process is to measure."""

    @property
    def groups(self) -> Sequence[Group]:
        """The groups, in the order in which they are measured."""


RequestT = TypeVar("RequestT", bound=Requested)
Measure = Callable[[Workload, Group, RequestT, Callable[[str], object]], GroupTimes]
"""A function that measures one group of a request in this process.

It calls the last argument with the key of each config before it turns to it.
"""


class CannotBeTimedError(AblateError):
    """A config that could not be measured, and why."""

    exit_code = 1


def measured(
    where: WorkloadRef,
    measure: Measure[RequestT],
    request: RequestT,
    advice: Callable[[str, str, str], str],
) -> Generator[tuple[str, GroupTimes]]:
    """Yields the key and the times of each group of a request as soon as it is measured.

    It is measured in a process of its own, which ends with this generator. Raises `CannotBeTimedError`, with the
    `advice` on a group, a config and the reason.
    """
    child = Child(partial(fresh, __name__, threads=where.threads))
    try:
        child.send((where, measure, request))
        for group in request.groups:
            yield group.key, _received(child, group, advice)
    finally:
        child.end()


def _received(child: Child, group: Group, advice: Callable[[str, str, str], str]) -> GroupTimes:
    """Waits for the times of a group. Raises `CannotBeTimedError` where its process fails or ends."""
    config = group.baseline
    while True:
        word: Word
        try:
            word, content = child.connection.recv()
        except (EOFError, OSError):
            word = "failed"
            content = f"its process {child.fate()}"
        match word:
            case "at":
                config = content
            case "done":
                times: GroupTimes = content
                return times
            case "failed":
                raise CannotBeTimedError(advice(group.key, config, content))
            case _:
                assert_never(word)


def main() -> NoReturn:
    """Measures what the driver asks for, and ends this process, which `Child` has started."""
    connection = parent()
    with suppress(EOFError, OSError):
        reference, measure, request = connection.recv()
        threading.Thread(target=_end_with, args=[connection], daemon=True).start()
        gc.disable()  # it would choose its own moments
        try:
            _measure_all(connection, reference, measure, request)
        except (Exception, SystemExit) as error:
            connection.send(("failed", _reason(error)))
    os._exit(0)


def _measure_all(
    connection: Connection, reference: WorkloadRef, measure: Measure[RequestT], request: RequestT
) -> None:
    """Measures the groups of a request, and sends the times of each as soon as it is measured."""
    workload = reference.load()
    for group in request.groups:
        times = measure(workload, group, request, lambda key: connection.send(("at", key)))
        connection.send(("done", times))
        gc.collect()


def _reason(error: BaseException) -> str:
    """Returns in words why a config cannot be measured."""
    if isinstance(error, AblateError):
        return str(error)
    return str(raised_by_plugin(error) or described(error)[0])


def _end_with(connection: Connection) -> NoReturn:
    """Ends this process as soon as its pipe closes."""
    with suppress(EOFError, OSError):
        connection.recv()
    os._exit(0)
