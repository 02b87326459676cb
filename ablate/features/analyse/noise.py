"""Known noise: how far runs of the baseline are apart, measured once, and reused for single new runs.

It is kept with what must not change: evaluation, data and machine. `analysis.unpaired` says how it is used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import TypeAdapter, ValidationError

from ablate.analysis.paired import sd_of
from ablate.base.errors import AblateError, Problem
from ablate.base.files import unreadable, write_text
from ablate.base.process import now
from ablate.features.analyse.reading import MOST, refuse
from ablate.features.analyse.runs import Asked, Given

SAME = ("evaluation", "data", "machine")
AGAIN = "Measure it: ablate analyse RUNS --keep-noise FILE"


@dataclass(frozen=True)
class Noise:
    """Runs of a baseline, by task."""

    baseline: str
    metric: str
    direction: str
    n: dict[str, int]
    sd: dict[str, float]
    date: str
    made_with: dict[str, str]  # Commit, and digests of `SAME`.
    values: dict[str, list[float]]


def keep(file: Path, given: Given, asked: Asked, made_with: Mapping[str, str]) -> Noise:
    """Writes the noise of the baseline's runs. Raises `AblateError`."""
    metric, direction = next((name, metric.direction) for name, metric in asked.metrics.items())
    own = given.trials[given.trials["variant"] == asked.baseline]
    if lacking := [f"--made-with {name} VALUE" for name in (*SAME, "commit") if name not in made_with]:
        rule = "noise is kept with what must not change, and with its commit"
        raise refuse(asked.runs, rule, hint=f"Give {' '.join(lacking)}, or columns of these names")
    by_task = {str(task): of[metric].tolist() for task, of in own.groupby("task")}
    if not by_task or min(map(len, by_task.values())) < 2 or (own["status"] != "completed").any():
        rule = "noise takes two completed runs of the baseline or more on each task, better ten"
        raise refuse(asked.runs, rule, given={task: len(of) for task, of in by_task.items()})
    n = {task: len(of) for task, of in by_task.items()}
    sd = {task: sd_of(np.array(of)) for task, of in by_task.items()}
    found = Noise(asked.baseline, metric, direction, n, sd, now(), dict(made_with), by_task)
    write_text(file, json.dumps(asdict(found), indent=1) + "\n")
    return found


def load(file: Path) -> Noise:
    """Raises `AblateError`."""
    try:
        why = unreadable(file, MOST)
        if not why:
            return TypeAdapter(Noise).validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        why = f"is no noise that was kept ({'.'.join(map(str, first['loc']))}: {first['msg']})"
    raise refuse(file, why, hint=AGAIN)


def beside(noise: Noise, given: Given, asked: Asked, made_with: Mapping[str, str], file: Path) -> Given:
    """The runs with those of the baseline that were kept. Raises `AblateError` where the noise is not theirs."""
    rows, changed = given.trials, list[Problem]()
    for name in SAME:
        mine, kept = made_with.get(name, "nothing"), noise.made_with.get(name)
        if mine != kept:
            rule = f"{name} must be that under which the noise was measured"
            changed.append(Problem(rule, given=mine, allowed=str(kept), hint=AGAIN, source=str(file)))
    if changed:
        raise AblateError("\n".join(map(str, changed)))
    if (rows["variant"] == asked.baseline).any():
        raise refuse(asked.runs, "has runs of the baseline beside the kept ones", given=asked.baseline)
    if lacking := {*rows["task"]} - {*noise.values}:
        raise refuse(file, "has no runs of a task", given=min(lacking), allowed=", ".join(noise.values))
    runs = [
        {"id": f"{file}: run {i}", "variant": asked.baseline, "task": task, "seed": i, noise.metric: value}
        for task in dict.fromkeys(rows["task"])
        for i, value in enumerate(noise.values[task], start=1)
    ]
    own = pd.DataFrame(runs).assign(status="completed", reason="")
    return replace(given, trials=pd.concat([own, rows], ignore_index=True))


def made_with(table: pd.DataFrame, given: Mapping[str, str]) -> dict[str, str]:
    """Commit and digests: as given, else those in the columns of these names, which must have one value each."""
    found = dict(given)
    for name in {*SAME, "commit"} & {*table} - {*given}:
        values = sorted({*table[name].astype(str)})
        if len(values) > 1:
            raise refuse(table.index[0], f"column {name} must have one value", given=", ".join(values[:4]))
        found[name] = values[0]
    return found
