"""Speed: real processes of one configuration beside a busy one, as fictitious variants; a delay that was planted; and
simulated ratios."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
from harness import prepare

from ablate.analysis.claims import judge_claims
from ablate.analysis.judge import judge
from ablate.analysis.power import ALPHA
from ablate.analysis.speed import log_ratios
from ablate.analysis.speed_tables import speeds
from ablate.core.facts import BASELINE, Claim, ClaimKind, Evidence
from ablate.core.speed_facts import LEAST, SpeedFacts
from ablate.pipeline.evidence.from_records import gather
from ablate.records.store import Store
from ablate.stages.speed.timing import Timing
from ablate.study.facts import facts_of

from .check import STUDIES, Check, Place, frequency

N = 8
"""Processes of a fictitious study."""
DRAWS = 100
DELAY = 0.05
SIMULATED = 2_000
FAMILIES = (1, 10)
MARGIN = 0.1


def speed(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Of measured processes."""
    with busy(os.cpu_count() or 1):
        pool = timed(place, "speed")
    variant = next(name for name in pool.frames["speed"]["variant"].unique() if name != BASELINE)
    called = [drawn(rng, pool, N)[variant] != "inconclusive" for _ in range(DRAWS)]
    yield frequency("Measured processes, A/A, on a loaded machine: `faster` or `slower`", called, {"n": N})
    quiet = timed(place, "speed", processes=N)
    step = float(steps(quiet).at[BASELINE, "value_baseline"])
    level = f"training.optimizer=[{{name: delayed, seconds: {DELAY * step:.3g}}}]"
    slow = timed(place, "delayed", [f"factors.{level}"])
    found, said = steps(slow), verdicts(slow)
    for name, row in found.drop(index=BASELINE).iterrows():
        planted = "delayed" in str(name)
        setting = {"ratio": f"{row['ratio']:.3f}", "verdict": said[str(name)]}
        called = float(said[str(name)] == "refuted" if planted else said[str(name)] != "inconclusive")
        what = (
            "Planted delay of 5 %: claimed faster, refuted" if planted else "Nothing planted: a claim decided"
        )
        yield Check(what, setting, called, float(planted), float(planted))


def ratios(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Simulated processes, judged with 2 % of slack."""
    for m in FAMILIES:
        what = f"Simulated ratios, {m} variants, no difference: any claim decided"
        yield frequency(what, claimed(rng, m, "beats", 0.0, 0.0), {"n": N})
        what = f"Simulated ratios, {m} variants, 2 % slower: any claimed faster or slower"
        yield frequency(what, claimed(rng, m, "beats", 0.0, np.log1p(LEAST)), {"n": N}, rate=0.025)
        what = f"Simulated ratios, {m} variants off by the margin: any `matches` supported"
        yield frequency(what, claimed(rng, m, "matches", MARGIN, np.log1p(MARGIN), ("supported",)), {"n": N})


def claimed(
    rng: np.random.Generator,
    m: int,
    kind: ClaimKind,
    by: float,
    shift: float,
    outcomes: Sequence[str] = ("supported", "refuted"),
) -> list[bool]:
    """Whether any of m claims has one of these outcomes, a study; log ratios are apart by `shift`."""
    level, slack = ALPHA / m, float(np.log1p(LEAST))
    return [
        any(
            judge(log_ratios(logs), kind, float(np.log1p(by)), level, slack).outcome in outcomes
            for logs in rng.normal(shift, 0.03, (m, N))
        )
        for _ in range(SIMULATED)
    ]


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
    section = experiment.config.speed
    assert section is not None
    results = place.scratch
    if processes is not None:
        section, results = section.model_copy(update={"processes": processes}), place.scratch / "idle"
    store = Store(results / "store", print)
    frame = Timing(experiment, store, section).complete(print).measurement.frame
    return gather(facts_of(experiment), [], {}).having(section.facts(1, "here"), frame)


def drawn(rng: np.random.Generator, pool: Evidence, n: int) -> dict[str, str]:
    """The verdicts of a study with `n` of the pool's processes, by variant."""
    frame = pool.frame(SpeedFacts)
    every = frame["process"].unique()
    chosen = rng.choice(every, n, replace=False)
    speed = replace(pool.facts.of(SpeedFacts) or SpeedFacts(), processes=n)
    return verdicts(pool.having(speed, frame[frame["process"].isin(chosen)]))


def verdicts(evidence: Evidence) -> dict[str, str]:
    """Variant → what is said of the claim that a step of it takes less time than one of the baseline."""
    names = [variant.name for variant in evidence.facts.variants[1:]]
    claims = [Claim(name, "beats", "step_seconds", [name], [BASELINE], 0.0) for name in names]
    found = judge_claims(replace(evidence, facts=replace(evidence.facts, claims=claims)))
    return dict(zip(names, found["verdict"], strict=True))


def steps(evidence: Evidence) -> pd.DataFrame:
    """The ratios of the time of a step, by variant."""
    found = speeds(evidence)
    return found[found["metric"] == "step_seconds"].set_index("variant")
