"""Speed: real processes of one configuration beside a busy one, as fictitious variants; a delay that was planted; and
simulated ratios without the rule of 2 %."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace

import numpy as np
import pandas as pd

from ablate.analysis.speed import Compared, speeds
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.core.speed import SpeedFacts
from ablate.records.store import Store
from ablate.stages.engine import reference
from ablate.stages.speed import measure
from ablate.study.facts import facts_of
from ablate.study.prepare import prepare

from .check import STUDIES, Check, Place, frequency

N = 8
"""Processes of a fictitious study."""
DRAWS = 100
DELAY = 0.05
SIMULATED = 2_000
FAMILIES = (1, 10)
MARGIN = 0.1


def speed(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Of measured processes first, of simulated ones after."""
    with busy(os.cpu_count() or 1):
        pool = timed(place, "speed")
    variant = next(name for name in pool.frames["speed"]["variant"].unique() if name != BASELINE)
    verdicts = [drawn(rng, pool, N).at[variant, "verdict"] for _ in range(DRAWS)]
    called = np.isin(verdicts, ["better", "worse"])
    yield frequency("Measured processes, A/A, on a loaded machine: `faster` or `slower`", called, {"n": N})
    quiet = timed(place, "speed", processes=N)
    step = float(steps(quiet).at[BASELINE, "value_baseline"])
    level = f"training.optimizer=[{{name: delayed, seconds: {DELAY * step:.3g}}}]"
    found = steps(timed(place, "delayed", [f"factors.{level}"]))
    for name, row in found.drop(index=BASELINE).iterrows():
        planted = "delayed" in str(name)
        setting = {"ratio": f"{row['ratio']:.3f}", "verdict": str(row["verdict"])}
        called = float(row["verdict"] == "worse") if planted else float(row["verdict"] in ("better", "worse"))
        what = (
            "Planted delay of 5 %: called `slower`"
            if planted
            else "Nothing planted: called `faster` or `slower`"
        )
        yield Check(what, setting, called, float(planted), float(planted))
    loads = {"busy": steps(pool), "idle": found}
    place.frames["speed"] = pd.concat([rows.assign(load=load) for load, rows in loads.items()]).reset_index()
    for m in FAMILIES:
        yield of(rng, SIMULATED, m)
        yield at_the_margin(rng, SIMULATED, m)


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that do nothing but take time."""
    with ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(process.kill)
        yield


def timed(place: Place, name: str, sets: Sequence[str] = (), processes: int | None = None) -> Evidence:
    """A study of `STUDIES`, timed and not trained; with fewer processes, measured anew."""
    experiment = prepare(STUDIES / f"{name}.yaml", sets)
    section = experiment.study.speed
    assert section is not None
    results = place.scratch
    if processes is not None:
        section, results = section.model_copy(update={"processes": processes}), place.scratch / "idle"
    store = Store(results / "store", print)
    frame = measure(experiment, store, reference(experiment), print, section=section)
    features = {"speed": asdict(section.facts(1, "here"))}
    facts = replace(facts_of(experiment), features=features)
    return Evidence(facts, pd.DataFrame(), pd.DataFrame(), frames={"speed": frame})


def drawn(rng: np.random.Generator, pool: Evidence, n: int) -> pd.DataFrame:
    """The verdicts of a study with `n` of the pool's processes, by variant."""
    every = pool.frames["speed"]["process"].unique()
    chosen = rng.choice(every, n, replace=False)
    speed = replace(SpeedFacts.of(pool.facts) or SpeedFacts(), processes=n)
    facts = replace(pool.facts, features={"speed": asdict(speed)})
    frame = pool.frames["speed"]
    frame = frame[frame["process"].isin(chosen)]
    return steps(replace(pool, facts=facts, frames={"speed": frame}))


def steps(evidence: Evidence) -> pd.DataFrame:
    """The verdicts on the time of a step, by variant."""
    found = speeds(evidence)
    return found[found["metric"] == "step_seconds"].set_index("variant")


def of(rng: np.random.Generator, studies: int, m: int) -> Check:
    """Log ratios of normal processes, so far apart that 2 % protects nobody."""
    found = [
        any(
            Compared(logs, 0.0, 0.02, m).verdict in ("better", "worse")
            for logs in rng.normal(0, 0.3, (m, N)) + rng.normal(0, 0.2, N)
        )
        for _ in range(studies)
    ]
    return frequency(
        f"Simulated ratios, {m} variants, no difference: any `faster` or `slower`", found, {"n": N}
    )


def at_the_margin(rng: np.random.Generator, studies: int, m: int) -> Check:
    """The same, apart by the margin."""
    found = [
        any(
            Compared(logs, 0.0, MARGIN, m).verdict == "equivalent"
            for logs in rng.normal(np.log1p(MARGIN), 0.03, (m, N))
        )
        for _ in range(studies)
    ]
    return frequency(f"Simulated ratios, {m} variants off by the margin: any `equivalent`", found, {"n": N})
