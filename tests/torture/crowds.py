"""Four drivers at once on one results folder, one of which is killed."""

from __future__ import annotations

import time
from random import Random

from .case import Place
from .studies import STUDIES, Watched
from .tables import trained


def crowds(rng: Random, place: Place) -> str:
    """Two drivers of one study, and two of others, in one results folder; one is killed at a random moment."""
    first, *others = rng.sample([STUDIES[name] for name in ("run", "states", "tune", "sweep")], 3)
    studies = [first, first, *others]
    for study in studies:
        study.write(place.path)
    watched = {study.name: Watched(place, study) for study in studies}
    environment = watched[first.name].environment(pace=rng.choice((0.02, 0.05)))
    jobs = rng.choice((0, 1, 2))
    drivers = [
        place.start(
            study.command,
            f"{study.name}.yaml",
            "--jobs",
            jobs,
            environment=environment,
            cold=rng.random() < 0.25,
        )
        for study in studies
    ]
    victim = rng.randrange(4)
    time.sleep(rng.uniform(0.1, 6))
    killed = drivers[victim].running()
    drivers[victim].kill()
    place.counts["kills"] += killed
    for number, driver in enumerate(drivers):
        done = driver.wait(90)
        if number == victim and killed:
            continue
        place.hold(done)
        if done.code != 0:
            place.violation(
                f"{studies[number].name}, which was not killed, ended with {done.code}: {done.output[-400:]!r}"
            )
    again = studies[victim]
    for each in watched.values():
        each.look()
    done = place.ablate(again.command, f"{again.name}.yaml", "--jobs", 0, environment=environment)
    if done.code != 0:
        place.violation(
            f"{again.name}, which was killed, then ended with {done.code}: {done.output[-400:]!r}"
        )
    # In flight when the driver was killed: as many as it had workers.
    most = trained(watched[first.name].ledger)
    twice = sum(count - 1 for count in most.values() if count > 1)
    if twice > killed * max(1, jobs):
        place.violation(f"{twice} trials were trained twice; {max(1, jobs)} could be in flight at the kill")
    for each in watched.values():
        # MLflow of all studies in one database; `tracked` counts the trials of one.
        each.complete(mlflow=False)
    return "recovered"
