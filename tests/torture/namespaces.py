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
    # Another machine's driver is known to be gone after two beats without one.
    environment = watched[first.name].environment(pace=0.05) | {"ABLATE_HEARTBEAT": "2"}
    drivers = []
    for number, study in enumerate((first, second)):
        study.write(place.path)
        named = [*container, "sh", "-c", f'hostname box-{number}; exec "$@"', "sh"]
        drivers.append(
            place.start(
                *(study.command, f"{study.name}.yaml", "--jobs", rng.choice((0, 1))),
                inside=named if number == 0 or rng.random() < 0.7 else (),
                cold=True,
                environment=environment,
            )
        )
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
        place.hold(done)
        if done.code != 0:
            place.violation(
                f"the driver in container {number} ended with {done.code}: {done.output[-400:]!r}"
            )
    for each in watched.values():
        each.look()
    command = (first.command, f"{first.name}.yaml", "--jobs", 0)
    done = place.ablate(*command, environment=environment, cold=True)
    if done.code != 0:
        place.violation(f"outside of the container it then ended with {done.code}: {done.output[-400:]!r}")
    for each in watched.values():
        each.complete(mlflow=False)
    return "recovered"
