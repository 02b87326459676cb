"""Made-up evidence for each verdict and each reason, with the tables that are recorded."""

import dataclasses
import math

import numpy as np
from made_evidence import ACCURACY, LOSS, claim, crossed, study
from made_speed import speed_frame, timed
from numpy.typing import ArrayLike

from ablate.core.facts import Evidence, Less
from ablate.core.metric import Metric, Sampling
from ablate.core.provenance import Planned

BASE = np.array([0.850, 0.855, 0.848, 0.851, 0.853])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
AA = np.array([0.001, -0.002, 0.0015, -0.0005, 0.001, -0.001, 0.0005, -0.0005])
KINDS = (("beats", 0.0), ("beats", 0.01), ("matches", 0.01), ("does_not_lose", 0.01))
BOTH = ("comparisons", "claims")
Case = tuple[Evidence, tuple[str, ...]]
"""Evidence, and the tables that are recorded."""
Cases = dict[str, Case]


def pair(a: ArrayLike, b: ArrayLike = BASE, *, metric: str = "accuracy", **options: object) -> Case:
    """Returns the case of a variant `a` and its baseline, with a claim of each kind."""
    claims = [claim(kind, by=by, metric=metric) for kind, by in KINDS]
    return study({"baseline": b, "a": a}, claims=claims, metric=metric, **options), BOTH


def cases() -> Cases:
    """Returns every case by name."""
    made: Cases = {}
    for kind in (_graded, _single, _lost, _rates, _tasks, _family, _looks, _interactions, _beside, _speed):
        made |= kind()
    return made


def _graded() -> Cases:
    made: Cases = {}
    for margin in (None, 0.01):
        for name, a, b in (
            ("better", BASE + 0.02 + WOBBLE, BASE),
            ("worse", BASE - 0.02 + WOBBLE, BASE),
            ("equal within noise", BASE + 0.001 + WOBBLE, BASE),
            ("better by less than the margin", BASE + 0.004 + WOBBLE, BASE),
            ("at the margin", BASE + 0.0095 + WOBBLE, BASE),
            ("open", BASE + 30 * WOBBLE, BASE),
            ("every difference is 0", BASE, BASE),
            ("at the ceiling", np.ones(5), np.full(5, 0.997)),
            ("below the ceiling", np.ones(5), np.full(5, 0.9969)),
            ("within the margin of the ceiling", BASE + 0.145 + WOBBLE, BASE + 0.145),
            ("at the floor", [0.1, 0.12, 0.09, 0.1, 0.11], [0.09, 0.11, 0.1, 0.12, 0.1]),
            ("at the floor and better", [0.098, 0.118, 0.108, 0.128, 0.108], [0.09, 0.11, 0.1, 0.12, 0.1]),
            ("one pair", BASE[:1] - 0.3, BASE[:1]),
            ("two pairs", BASE[:2] - 0.3 + WOBBLE[:2], BASE[:2]),
        ):
            made[f"{name} with a margin" if margin else name] = pair(a, b, margin=margin)
    return made


def _single() -> Cases:
    made: Cases = {}
    rng = np.random.default_rng(7)
    seeds = {variant: rng.normal(0.8, 0.01, 6) for variant in ("baseline", "a")}
    examples = {variant: values[:, None] + rng.normal(0, 0.1, 40) for variant, values in seeds.items()}
    made["examples that all seeds share"] = pair(
        seeds["a"], seeds["baseline"], sampling=Sampling("held_out", 40), examples=examples, margin=0.05
    )
    made["a metric that should be small"] = pair(
        [1.0, 1.2, 0.9, 1.1], [2.0, 2.1, 1.9, 2.0], metric="loss", metrics={"loss": LOSS}
    )
    error = Metric("min", 0.01, floor=0.9, ceiling=0.0)
    made["an error at its ceiling"] = pair([0.0] * 5, [0.03] * 5, metrics={"accuracy": error})
    values = {"baseline": BASE, "a": BASE + WOBBLE, "b": [0.3, 0.3, 0.3, 0.6, 0.6]}
    claims = [claim("matches", by=0.02), claim("does_not_lose", by=0.02)]
    made["runs that fall into groups"] = study(values, margin=0.02, claims=claims), BOTH
    return made


def _lost() -> Cases:
    made: Cases = {}
    for side in ("a", "baseline"):
        for status in ("failed", "not run", "pruned", "diverged"):
            made[f"one {status} of {side}"] = pair(
                BASE - 0.3 + WOBBLE, statuses={(side, 1): status}, margin=0.01
            )
        made[f"every run of {side} diverged"] = pair(BASE, statuses={(side, i): "diverged" for i in range(5)})
    made["diverged without a floor"] = pair(
        BASE + 1, metric="loss", metrics={"loss": LOSS}, statuses={("a", 1): "diverged"}
    )
    for reason in ("OutOfMemoryError: CUDA out of memory", "time limit of 60 s: stopped", "ValueError: no"):
        made[f"failed for {reason}"] = pair(BASE, statuses={("a", 0): "failed"}, reasons={("a", 0): reason})
    return made


def _rates() -> Cases:
    def solved(*failures: int, n: int = 8) -> np.ndarray:
        return np.where(np.isin(np.arange(n), failures), 0.3, 0.99) + 1e-4 * np.arange(n)

    everybody = solved()
    nobody = solved(*range(8))
    made: Cases = {}
    for name, a, b in (
        ("the baseline alone", nobody, everybody),
        ("the variant alone", everybody, solved(*range(6))),
        ("a few", solved(0, 1, 2), everybody),
        ("everybody", everybody, everybody - 0.001),
        ("nobody", nobody, nobody + 0.01),
        ("one diverged", everybody, everybody),
        ("many seeds", solved(3, n=60), solved(4, n=60)),
    ):
        statuses = {("a", 2): "diverged"} if name == "one diverged" else None
        evidence = pair(a, b, outcome="all_or_nothing", margin=0.3, statuses=statuses)
        made[f"all or nothing: {name}"] = evidence
    claims = []
    for metric in ("solved_rate", "divergence_rate", "seed_spread"):
        claims.append(claim("beats", metric=metric))
        claims.append(claim("matches", by=0.4, metric=metric))
        claims.append(claim("does_not_lose", by=0.4, metric=metric))
    values = {"baseline": everybody, "a": solved(0, 1, 2, 3, 4)}
    made["claims about rates"] = study(values, claims=claims), ("claims",)
    diverged = {("a", seed): "diverged" for seed in range(6)}
    evidence = study(values, claims=claims, statuses=diverged)
    made["claims about rates where runs diverged"] = evidence, ("claims",)
    steps = np.array([1, 2, 0, 1, 2, 0, 1, 2]).repeat(3)
    spreads = {"baseline": 0.8 + 0.001 * steps, "a": 0.8 + 0.02 * steps[::-1]}
    made["claims about spreads"] = study(spreads, claims=claims[6:]), ("claims",)
    return made


def _tasks() -> Cases:
    made: Cases = {}
    accuracy = {"accuracy": ACCURACY}
    tasks = {"recall": accuracy, "sort": accuracy, "other": {"loss": LOSS}}
    claims = [claim("beats"), claim("matches", by=0.02)]
    for name, recall, sort in (
        ("both", 0.03, 0.005),
        ("against one another", 0.03, -0.01),
        ("one", 0.03, 0.0),
    ):
        variant = {"recall": BASE + recall + WOBBLE, "sort": BASE + sort - 1.5 * WOBBLE, "other": BASE}
        values = {"baseline": dict.fromkeys(tasks, BASE), "a": variant}
        made[f"several tasks: {name}"] = study(values, tasks=tasks, claims=claims), BOTH
    return made


def _family() -> Cases:
    values = {"baseline": BASE}
    for step in range(-3, 4):
        values[f"v{step}"] = BASE + 0.004 * step + 3 * WOBBLE
    values["p"] = BASE + WOBBLE
    claims = [
        claim("beats", "v1"),
        claim("beats", "v3"),
        claim("matches", "v0", by=0.02),
        claim("beats", ["v1", "v2"], ["v0", "v-1"]),
        claim("beats", "v2", exploratory=True),
        claim("beats", "v2", metric="speed"),
    ]
    evidence = study(values, placebos=["p"], margin=0.02, claims=claims)
    return {"a family of seven with a placebo": (evidence, BOTH)}


def _looks() -> Cases:
    made: Cases = {}
    noise = np.array([1.0, -2.0, 2.0, -1.0, 1.5, -1.0, 0.5, -1.0, 2.0, -2.0, 1.0, -1.5])
    base = 0.5 + 0.01 * noise[::-1]
    planned = {"baseline": base, "clear": base - 0.3 + 0.002 * noise, "open": base + 0.05 * noise}
    claims = [claim("beats", "baseline", "clear"), claim("beats", "open")]
    for taken in (4, 8, 12):
        values = {variant: values[:taken] for variant, values in planned.items()}
        evidence = study(values, claims=claims, planned=12)
        facts = dataclasses.replace(
            evidence.facts, provenance=Planned(looks=[4, 8, 12]), seeds=list(range(taken))
        )
        name = f"looks: {taken} of 12 seeds"
        made[name] = dataclasses.replace(evidence, facts=facts), BOTH
        stopped = dataclasses.replace(facts, provenance=Planned({"clear": {"recall": 4}}, [4, 8, 12]))
        trials = evidence.trials
        trials = trials[(trials["variant"] != "clear") | (trials["seed"] < 4)].reset_index(drop=True)
        evidence = dataclasses.replace(evidence, facts=stopped, trials=trials)
        made[f"{name}, the clear variant to 4"] = evidence, BOTH
    return made


def _interactions() -> Cases:
    made: Cases = {}
    interaction = dataclasses.replace(
        claim("interaction", "x=1,y=1", "y=1"), less=Less(["x=1"], ["baseline"], "accuracy")
    )
    for extra in (0.0, 0.1):

        def accuracy(levels: dict[str, str], seed: int, extra: float = extra) -> float:
            x = levels["x"] == "1"
            y = levels["y"] == "1"
            noise = (seed * (1 + 2 * x + 5 * y)) % 7
            return 0.5 + 0.1 * x + extra * (x and y) + 0.001 * noise

        evidence = crossed({"x": ["0", "1"], "y": ["0", "1"]}, accuracy)
        facts = dataclasses.replace(evidence.facts, claims=[interaction])
        made[f"an interaction of {extra:g}"] = dataclasses.replace(evidence, facts=facts), BOTH
    return made


def _beside() -> Cases:
    rng = np.random.default_rng(3)
    seeds = 8
    values = {variant: 0.8 + 0.01 * rng.normal(size=seeds) for variant in ("baseline", "a", "b")}
    norms = {variant: low + rng.random(seeds) for variant, low in (("baseline", 3), ("a", 6), ("b", 3))}
    spikes = dict.fromkeys(values, np.zeros(seeds))
    losses = {variant: 0.5 + 0.05 * rng.normal(size=(seeds, 3)) for variant in values}
    losses["a"][:, 2] = math.inf
    steadiness = {"grad_norm_max": Metric("min"), "loss_spikes": Metric("min", 0.01, 1.0, 0.0)}
    claims = [claim("beats", "baseline", variant, metric="lr_sensitivity") for variant in ("a", "b")]
    made: Cases = {}
    for name, statuses in (
        ("stability", None),
        ("stability where runs diverged", {("a", seed): "diverged" for seed in range(6)}),
    ):
        evidence = study(
            values,
            others={"grad_norm_max": norms, "loss_spikes": spikes},
            stability=steadiness,
            stress=losses,
            claims=claims,
            statuses=statuses,
        )
        made[name] = evidence, ("stability", "claims")
    return made


def _speed() -> Cases:
    made: Cases = {}
    logs = {"much": 0.3 + AA, "less": -0.15 + AA, "a little": 0.015 + AA, "alike": AA[::-1], "noisy": 60 * AA}
    memory = {"baseline": 1e6, "much": 1.021e6, "less": 0.5e6, "a little": 1.019e6}
    claims = [
        claim("beats", "much", metric="step_seconds"),
        claim("beats", "less", metric="step_seconds"),
        claim("beats", "a little", metric="step_seconds"),
        claim("beats", "less", by=0.1, metric="step_seconds"),
        claim("beats", "less", metric="step_memory"),
        claim("matches", "alike", by=0.02, metric="step_seconds"),
    ]
    for name, floor in (("quiet", AA), ("loud", 30 * AA)):
        evidence = timed(speed_frame({"baseline": floor, **logs}, memory=memory), claims=claims)
        made[f"speed on a {name} machine"] = evidence, ("speed", "claims")
    made["speed by one process"] = timed(speed_frame({"baseline": AA[:1], "a": AA[:1]})), ("speed",)
    variants = {"baseline": AA, "a": AA - 0.05}
    frames = [speed_frame(variants, size=size, own=size == 64) for size in (32, 64, 128)]
    made["speed at three sizes"] = timed(*frames), ("speed",)
    return made
