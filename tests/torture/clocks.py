"""Clocks that jump: the time of day under a run, the dates of files between two, the monotonic clock after a start.

The time of day is changed for all that asks Python for it, in the driver and in each worker; what C code reads, and the
dates that the system gives to files, stay right, so the latter are changed by hand.
"""

from __future__ import annotations

import os
import shutil
from random import Random

from .case import Place
from .namespaces import inside
from .process import ENVIRONMENT
from .studies import STUDIES, Watched
from .tables import finished

# Python reads this before anything else is imported. Every 50 ms the clock jumps to some other time.
JUMPS = """
import os, time
import datetime as module

_of_day, _seed = time.time, int(os.environ["TORTURE_CLOCK"])

def _jump():
    tick = int(time.monotonic() / 0.05) + _seed
    return ((tick * 2654435761) % (1 << 32) / (1 << 31) - 1) * float(os.environ["TORTURE_JUMP"])

time.time = lambda: _of_day() + _jump()
time.time_ns = lambda: int(time.time() * 1e9)

class datetime(module.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.fromtimestamp(time.time(), module.timezone.utc).replace(tzinfo=None)

module.datetime = datetime
"""
DAY = 86_400.0


def clocks(rng: Random, place: Place) -> str:
    """A run under a clock that jumps, or between other clocks; then the same again, with nothing left to train."""
    study = STUDIES[rng.choice(("run", "states", "tune", "sweep"))]
    watched = Watched(place, study)
    way = rng.choice(("jumps", "jumps", "dates", "monotonic"))
    place.counts[way] += 1
    jump = rng.choice((2.0, 3600.0, 30 * DAY, 3000 * DAY))
    place.path.joinpath("clock").mkdir()
    place.path.joinpath("clock/sitecustomize.py").write_text(JUMPS)
    path = [str(place.path / "clock"), ENVIRONMENT["PYTHONPATH"]]
    jumping = {"PYTHONPATH": os.pathsep.join(path)}
    jumping |= {"TORTURE_CLOCK": str(rng.randrange(1000)), "TORTURE_JUMP": f"{jump:g}"}
    if way == "dates":
        shutil.copytree(study.pristine(place.shared) / "results", watched.results)
        for each in sorted(watched.results.rglob("*")):
            os.utime(each, (when := each.stat().st_mtime + rng.uniform(-jump, jump), when))
    elif way == "jumps":
        for _ in range(2):
            # Killed once: what it left is dated by a clock that was wrong.
            started = watched.start(rng.choice((0, 2)), 0.02, cold=True, environment=jumping)
            if (done := started.wait(rng.uniform(3, 8))).code is not None:
                place.hold(done)
                break
        watched.look()
        watched.run("under a clock that jumps", cold=True, environment=jumping)
    else:
        clock = f"--monotonic={rng.choice((-1, 1)) * 1000}", f"--boottime={rng.randrange(1, 10**6)}"
        started = watched.start(1, 0.05, inside=inside("--time", *clock, "--fork"))
        if (done := started.wait(rng.uniform(4, 10))).code is not None:
            place.hold(done)
    watched.forgive()
    watched.run("with the right clock")
    watched.complete()
    if place.ablate("clean", "--yes").code == 0 and not _kept(watched):
        place.violation("`clean` removed trials of the study")
    return "recovered"


def _kept(watched: Watched) -> bool:
    expected = finished(watched.study.pristine(watched.place.shared) / "results" / "store")
    return expected.keys() <= finished(watched.results / "store").keys()
