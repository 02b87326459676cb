"""Runs a command, and ends all that it has started: a file that is run, and imports nothing of ours.

    python -I -S guard.py DESCRIPTOR

Standard input has the words of the command, and then stays open: when it is closed, or its writer is gone, all ends.
The descriptor is that of the file which takes the output of the command. Standard output gets a line each for what
happens: `failed ERRNO`, or `started PID` and `ended CODE`, where −n is the signal n.

On Linux a process whose parent has ended becomes a child of the guard, and so is found although it is in a session of
its own; elsewhere the process group of the command is ended, and what has left it goes on.
"""

import os
import select
import sys
import time

# Signals by their numbers, the same on all systems: the module of their names would double the time of the start.
_KILL = 9
_PIPE = 13
_FILE_SIZE = 25

_BE_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""
_PATIENCE = 5.0
"""Seconds after which a process that cannot be ended, such as that of another user, is left alone."""
_TICK = 1.0
"""Seconds between two looks at adopted processes that have ended, where the end of the command itself shows at once."""
_SHORT_TICK = 0.02
"""The same where the end of the command does not show."""


def main(output: int) -> None:
    """Runs the command that standard input names, until it ends or standard input does."""
    if sys.platform == "linux":
        adopt()
    try:
        pid = started(read_words(), output)
    except OSError as error:
        tell("failed", error.errno or 0)
        return
    tell("started", pid)
    try:
        code = awaited(pid)
    finally:
        end_all(pid)
    if code is not None:
        tell("ended", code)


def adopt() -> None:
    """Has processes whose parent has ended become children of this one."""
    try:
        # What ctypes calls in the end: to import ctypes itself takes as long as all else that a guard does.
        from _ctypes import call_function, dlopen, dlsym
    except ImportError:
        import ctypes

        ctypes.CDLL(None).prctl(_BE_SUBREAPER, 1, 0, 0, 0)
        return
    program = dlopen(None, 0)  # type: ignore[arg-type]
    call_function(dlsym(program, "prctl"), (_BE_SUBREAPER, 1, 0, 0, 0))


def read_words() -> list[bytes]:
    """Returns the words of the command: their number and then each, with a NUL after them."""
    given = b""
    while True:
        number, *words = given.split(b"\0")
        if words and len(words) > int(number):
            return words[:-1]
        more = os.read(0, 2**16)
        if not more:
            sys.exit()
        given += more


def started(words: list[bytes], output: int) -> int:
    """Starts a command in a session of its own, and returns its process. Raises `OSError`."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    return os.posix_spawnp(
        words[0],
        words,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, nothing, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
            (os.POSIX_SPAWN_CLOSE, output),
        ],
        setsid=True,
        # Python ignores these two signals, and what it starts would do so, too.
        setsigdef=[_PIPE, _FILE_SIZE],
    )


def awaited(pid: int) -> int | None:
    """Returns the exit code of a process, or None where standard input ends first."""
    watched = [0]
    tick = _SHORT_TICK
    try:
        watched.append(os.pidfd_open(pid))
        tick = _TICK
    except (AttributeError, OSError):
        pass  # Another system than Linux, or an old one: the end is noticed at the next short tick.
    while True:
        readable, _, _ = select.select(watched, [], [], tick)
        code = codes_of_ended().get(pid)
        if code is not None or 0 in readable:
            return code


def codes_of_ended() -> dict[int, int]:
    """Returns process → exit code of the children that have ended. Raises `ChildProcessError` where none was left."""
    codes: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if codes:
                return codes
            raise
        if not pid:
            return codes
        codes[pid] = os.waitstatus_to_exitcode(status)


def end_all(group: int) -> None:
    """Ends a process group and all other children, until there are none or `_PATIENCE` is over."""
    own_group = os.getpgrp()
    given_up_at = time.monotonic() + _PATIENCE
    groups = {group}
    while time.monotonic() < given_up_at:
        # Whole groups, since a process could fork before its turn; not its own, which would end the guard.
        for found in groups - {own_group}:
            kill(found)
        try:
            codes_of_ended()
        except ChildProcessError:
            return
        groups = {group, *groups_of_children()}
        time.sleep(0.001)


def kill(group: int) -> None:
    """Kills a process group, unless it has ended or is that of another user."""
    try:
        os.killpg(group, _KILL)
    except (ProcessLookupError, PermissionError):
        return


def groups_of_children() -> set[int]:
    """Returns the process groups of the children of this process; none on another system than Linux."""
    groups: set[int] = set()
    if sys.platform != "linux":
        return groups
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                status = file.read()
        except OSError:
            continue  # It has ended meanwhile.
        # The name of a program, in parentheses, may hold any character.
        _, parent, group, *_ = status.rpartition(b")")[2].split()
        if int(parent) == os.getpid():
            groups.add(int(group))
    return groups


def tell(*words: object) -> None:
    """Writes a line to standard output, unless nobody reads it any more."""
    try:
        os.write(1, f"{' '.join(map(str, words))}\n".encode())
    except OSError:
        return


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # Python would take its modules apart, for which a run would wait.
