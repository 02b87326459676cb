"""A search on a space with a condition and a choice, sampler by sampler; run as a program, it prints its settings."""

import json
import math
import sys

import optuna

from ablate.base.quiet import quiet
from ablate.base.registry import CATALOGUE
from ablate.base.streams import stream_seed
from ablate.search.samplers import NUM_SEEDS, SAMPLERS

CATALOGUE.load_package("search")


def config(name, **arguments):
    """A sampler as a study gives it."""
    part, given = SAMPLERS.config({"name": name, **arguments})
    return part.model_validate(given)


def suggest(trial):
    point = {"lr": trial.suggest_float("lr", 1e-4, 1e-1, log=True)}
    point["mixer"] = trial.suggest_categorical("mixer", ["attention", "lstm", "mlp"])
    if point["mixer"] == "attention":
        point["heads"] = trial.suggest_int("heads", 1, 8)
    point["width"] = trial.suggest_float("width", 0.0, 1.0, step=0.125)
    point["depth"] = trial.suggest_int("depth", 1, 6)
    return point


def loss(point):
    """Least at lr 0.01, attention of 4 heads, width 0.5, depth 3; the second value is a cost."""
    distance = abs(math.log10(point["lr"]) + 2) + abs(point["width"] - 0.5) + 0.3 * abs(point["depth"] - 3)
    distance += {"attention": 0.0, "lstm": 1.0, "mlp": 2.0}[point["mixer"]]
    return [distance + 0.1 * abs(point.get("heads", 4) - 4), point["width"] + point["depth"]]


def search(sampler, trials, objectives=1, batch=1, stream="s"):
    """The settings that are found by ask and tell."""
    found = []
    with quiet():
        made = sampler.build().build(stream_seed(0, "sampler", stream) % NUM_SEEDS, trials)
        study = optuna.create_study(sampler=made, directions=["minimize"] * objectives)
        while len(found) < trials:
            asked = [study.ask() for _ in range(min(batch, trials - len(found)))]
            points = [suggest(trial) for trial in asked]
            for trial, point in zip(asked, points, strict=True):
                study.tell(trial, loss(point)[:objectives])
            found += points
    return found


if __name__ == "__main__":
    for line in sys.stdin:
        name, arguments, trials, objectives, batch = json.loads(line)
        print(json.dumps(search(config(name, **arguments), trials, objectives, batch)))
