"""The files into which the shell's call of this process is written: `> log.txt`, `2>&1 | tee log.txt`, `nohup`."""

import functools
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

File = tuple[int, int]
"""Device and number of a file."""
_WRITES = os.O_WRONLY | os.O_RDWR


@functools.cache
def written_by_call() -> frozenset[File]:
    """Returns the plain files that take the output of this process, or that a process of its pipeline writes.

    The other processes of the pipeline are known on Linux alone.
    """
    files = {found for number in (1, 2) if (found := _file(number)) is not None}
    with suppress(OSError):
        group = os.getpgrp()
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                if os.getpgid(int(process.name)) == group and int(process.name) != os.getpid():
                    files.update(_written(process))
    return frozenset(files)


def _written(process: Path) -> Iterator[File]:
    """Yields the plain files that a process has open for writing."""
    for descriptor in (process / "fd").iterdir():
        flags = int((process / "fdinfo" / descriptor.name).read_text().split("flags:")[1].split()[0], 8)
        found = _file(descriptor) if flags & _WRITES else None
        if found is not None:
            yield found


def _file(place: int | Path) -> File | None:
    """Returns the plain file of a descriptor or a path; None for any other kind."""
    with suppress(OSError):
        status = os.stat(place)
        if stat.S_ISREG(status.st_mode):
            return status.st_dev, status.st_ino
    return None
