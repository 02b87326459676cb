"""`kill -9` and interruptions at random moments: of the driver with its workers, of the driver alone, of one worker."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random

from .case import Place
from .process import Done, Started
from .studies import STUDIES, Study, Watched
from .tables import finished

KILLS = 2
"""In one case; what was killed last is then brought to its end."""
ATTEMPTS = 8
ENDS = (*[signal.SIGKILL] * 4, *[signal.SIGINT] * 2, signal.SIGTERM, signal.SIGHUP)
"""Signals, as often as they are chosen; workers are killed only."""
INTERRUPTED = 130
AIMS = ("anywhere", "anywhere", "MLflow's start", "report")


def kills(rng: Random, place: Place) -> str:
    """Kills a study twice at random moments, then runs it to its end."""
    study = STUDIES[rng.choices(list(STUDIES), [3, 3, 3, 4, 1])[0]]
    watched = Watched(place, study)
    made = 0
    for _ in range(ATTEMPTS):
        if made == KILLS:
            break
        whom = rng.choice(("group", "group", "driver", "worker"))
        jobs = rng.choice((0, 1, 2)) if whom != "worker" else 2
        pace = rng.choice((0.0, 0.02, 0.05))
        aim = rng.choice(AIMS)
        done = _struck(rng, watched, study, whom=whom, jobs=jobs, pace=pace, aim=aim)
        if done is None:
            made += 1
            place.counts[f"kills of a {whom}" if whom == "worker" else f"kills of the {whom}"] += 1
            watched.look()
        elif done.code == 0:
            # Over before the moment came: what it left must be right, and the next one begins anew.
            watched.complete()
            shutil.rmtree(watched.results)
            watched.ledger.unlink(missing_ok=True)
            watched.forgive()
        else:
            watched.violation_of(done, "undisturbed")
            break
    place.counts["kills"] += made
    done = watched.run(f"after {made} kills", rng.choice((0, 2)))
    for word in ("corrupt", "set aside", "warning: MLflow"):
        if word in done:
            place.violation(f"after {made} kills: {word!r} in {done.output[-500:]!r}")
    watched.complete()
    return "recovered"


def _struck(
    rng: Random, watched: Watched, study: Study, *, whom: str, jobs: int, pace: float, aim: str
) -> Done | None:
    """Runs the study and kills `whom`; None when that was in time, else how the run ended."""
    place = watched.place
    trials = len(finished(study.pristine(place.shared) / "results" / "store"))
    usual = study.seconds(place.shared) + trials * 4 * pace / max(1, jobs) + (2.0 if jobs else 0.0)
    moment = rng.uniform(0, 1)
    cold = rng.random() < 0.1
    started = watched.start(jobs, pace, cold=cold)
    if aim == "anywhere":
        delay = moment * (usual + 5 * cold)
    else:
        store = watched.results / "store"
        _wait_for(
            started,
            lambda: any(store.glob("*mlflow.db*")) if aim != "report" else _all_trained(watched, trials),
        )
        delay = moment * 1.5
    until = time.monotonic() + delay
    while time.monotonic() < until and started.running():
        time.sleep(0.005)
    if whom == "worker":
        return _worker_struck(rng, watched, started)
    if not started.running():
        return place.hold(started.wait())
    workers = started.workers()
    number = rng.choice(ENDS)
    times = rng.choice((1, 1, 2, 3)) if number == signal.SIGINT else 1
    for _ in range(times):
        started.send(number, whole=whom == "group")
        time.sleep(rng.choice((0, 0.05, 0.3)))
    if whom == "driver":
        until = time.monotonic() + 20
        while any(map(_alive, workers)):
            if time.monotonic() > until:
                place.violation("a worker goes on 20 s after its driver was killed")
                break
            time.sleep(0.02)
    done = started.wait()
    if done.code == -number:
        return None
    if number == signal.SIGKILL or done.code != INTERRUPTED:
        return place.hold(done)
    place.counts[f"interruptions by {number.name}"] += 1
    place.hold(done, codes=(INTERRUPTED,))
    return None


def _worker_struck(rng: Random, watched: Watched, started: Started) -> Done | None:
    """The driver goes on without the worker, to the right end."""
    place = watched.place
    workers = started.workers()
    if workers:
        with suppress(ProcessLookupError):
            os.kill(rng.choice(workers), signal.SIGKILL)
    done = place.hold(started.wait())
    if not workers:
        return done
    if done.code != 0:
        watched.violation_of(done, "after one kill of a worker")
    return None


def _all_trained(watched: Watched, trials: int) -> bool:
    return len(list((watched.results / "store" / "trials").glob("[!.]*.json"))) >= trials


def _wait_for(started: Started, condition: Callable[[], bool]) -> None:
    while started.running() and not condition():
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
