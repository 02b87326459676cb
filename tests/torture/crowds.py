"""Four drivers at once on one results folder, one of which is killed."""

import time
from random import Random

from .case import Place
from .studies import STUDIES, Watched
from .tables import trained


def crowds(rng: Random, place: Place) -> str:
    """Two drivers of one study, and two of others, in one results folder; one is killed at a random moment."""
    first, *others = rng.sample([STUDIES[name] for name in ("run", "states", "tune", "sweep")], 3)
    watched = {study.name: Watched(place, study) for study in (first, *others)}
    crowd = [watched[study.name] for study in (first, first, *others)]
    pace, jobs = rng.choice((0.02, 0.05)), rng.choice((0, 1, 2))
    drivers = [each.start(jobs, pace, cold=rng.random() < 0.25) for each in crowd]
    victim = rng.randrange(4)
    time.sleep(rng.uniform(0.1, 6))
    killed = drivers[victim].running()
    drivers[victim].kill()
    place.counts["kills"] += killed
    for number, driver in enumerate(drivers):
        done = driver.wait(90)
        if number == victim and killed:
            continue
        if place.hold(done).code != 0:
            crowd[number].violation_of(done, "not killed")
    for each in watched.values():
        each.look()
    crowd[victim].run("after it was killed", 0, pace)
    # In flight when the driver was killed: as many as it had workers.
    most = trained(watched[first.name].ledger)
    twice = sum(count - 1 for count in most.values() if count > 1)
    if twice > killed * max(1, jobs):
        place.violation(f"{twice} trials were trained twice; {max(1, jobs)} could be in flight at the kill")
    for each in watched.values():
        # MLflow of all studies in one database; `tracked` counts the trials of one.
        each.complete(mlflow=False)
    return "recovered"
