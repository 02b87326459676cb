"""Disks that are full, and files that may not grow."""

import functools
import os
import resource
import shutil
import subprocess
from random import Random

from .case import Place, Skipped
from .studies import STUDIES, Watched


@functools.cache
def _unshare(kinds: tuple[str, ...]) -> list[str] | str:
    """The command that runs another inside new namespaces; or why there is none."""
    if shutil.which("unshare") is None:
        return "there is no `unshare` here"
    said = ""
    for user in ([], ["--user", "--map-root-user"]):
        command = ["unshare", *user, *kinds]
        done = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return command
        said = done.stderr.strip()
    return f"namespaces ({' '.join(kinds)}) may not be made here: {said}"


def inside(*kinds: str) -> list[str]:
    """A command that runs another inside such namespaces. Raises `Skipped`."""
    found = _unshare(kinds)
    if isinstance(found, str):
        raise Skipped(found)
    return found


def small_files(rng: Random, place: Place) -> str:
    """A limit on the size of every file, which needs no rights: what is larger cannot be written."""
    watched = Watched(place, STUDIES[rng.choice(("run", "states", "tune", "sweep"))])
    size = int(10 ** rng.uniform(2.5, 6.2))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    started = watched.start(rng.choice((0, 1)), before=limit)
    return _then_whole(place, watched, place.hold(started.wait()).code)


def full_disk(rng: Random, place: Place) -> str:
    """A disk of a random size for the results, which are then moved to one with room."""
    watched = Watched(place, STUDIES[rng.choice(("run", "states", "tune", "sweep"))])
    kilobytes = int(10 ** rng.uniform(2, 3.9))
    (place.path / "small").mkdir()
    # The disk lives as long as the namespace; what was on it is copied out.
    mount = f"mount -t tmpfs -o size={kilobytes}k tmpfs small"
    script = f'{mount} && "$@" --results small; code=$?; cp -a small results; exit $code'
    started = watched.start(rng.choice((0, 1)), inside=[*inside("--mount"), "sh", "-c", script, "sh"])
    return _then_whole(place, watched, place.hold(started.wait()).code)


WAYS = (small_files, full_disk)


def disks(rng: Random, place: Place) -> str:
    """One of the ways, in turn."""
    way = rng.choice(WAYS)
    place.counts[way.__name__] += 1
    return way(rng, place)


def _then_whole(place: Place, watched: Watched, code: int | None) -> str:
    """With room and rights again, the run goes on from what it had."""
    watched.look()
    if not os.path.exists(place.path / "results") and code == 0:
        place.violation("nothing was written, and the exit code is 0")
    watched.run("with room again")
    watched.complete()
    return "recovered"
