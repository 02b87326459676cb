"""One fresh process that measures, as its driver sees it."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.base.errors import AblateError
from ablate.execution.child import Child
from ablate.execution.trial import WorkloadRef
from ablate.features.speed.measuring import At, Done, Failed, Found, Group, Request


class CannotBeTimedError(AblateError):
    """A config that could not be measured: its key, and the reason."""

    def __init__(self, group: Group, config: str, reason: str) -> None:
        self.group, self.config, self.reason = group, config, reason
        super().__init__(reason)


def measured(where: WorkloadRef, request: Request) -> Iterator[tuple[Group, Found]]:
    """Each group of a request as soon as it is measured, in a process of its own, which ends with this iterator.

    Raises `CannotBeTimedError`.
    """
    child = Child("ablate.features.speed.measuring", where.threads)
    try:
        child.send((where, request))
        for group in request.groups:
            config = next(iter(group.configs))
            while True:
                try:
                    message = child.connection.recv()
                except (EOFError, OSError):
                    raise CannotBeTimedError(group, config, f"its process {child.fate()}") from None
                if isinstance(message, Failed):
                    raise CannotBeTimedError(group, config, message.reason)
                if isinstance(message, Done):
                    yield group, message.found
                    break
                assert isinstance(message, At)
                config = message.config
    finally:
        child.end()
