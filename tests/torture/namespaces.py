"""Containers: drivers that see one store and not each other's processes, nor the same name of the machine."""

from __future__ import annotations

import functools
import shutil
import subprocess
import time
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


CONTAINER = ("--pid", "--fork", "--mount-proc", "--kill-child", "--uts", "--mount")


def namespaces(rng: Random, place: Place) -> str:
    """A driver in a container, killed or not, and another in a second one or outside, on one results folder."""
    container = inside(*CONTAINER)
    names = ("run", "states", "tune")
    first, second = (STUDIES[name] for name in (rng.choice(names), rng.choice(names)))
    watched = {study.name: Watched(place, study) for study in (first, second)}
    pair = [watched[study.name] for study in (first, second)]
    # Another machine's driver is known to be gone after two beats without one.
    beats = {"ABLATE_HEARTBEAT": "2"}
    drivers = []
    for number, each in enumerate(pair):
        named = [*container, "sh", "-c", f'hostname box-{number}; exec "$@"', "sh"]
        outside = number == 1 and rng.random() >= 0.7
        within = () if outside else named
        drivers.append(each.start(rng.choice((0, 1)), 0.05, inside=within, cold=True, environment=beats))
    killed = rng.random() < 0.5
    if killed:
        time.sleep(rng.uniform(2, 8))
        killed = drivers[0].running()
        drivers[0].kill()
        place.counts["kills"] += killed
    for number, driver in enumerate(drivers):
        done = driver.wait(90)
        if number == 0 and killed:
            continue
        if place.hold(done).code != 0:
            pair[number].violation_of(done, "in a container, not killed")
    for each in watched.values():
        each.look()
    pair[0].run("outside of the container", 0, 0.05, environment=beats, cold=True)
    for each in watched.values():
        each.complete(mlflow=False)
    return "recovered"
