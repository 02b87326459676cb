"""Evidence that was made up, for each verdict and each reason: case → evidence, and the tables to look at."""

import dataclasses
import math
from typing import Any

import numpy as np
from made_evidence import ACCURACY, LOSS, claim, crossed, study
from made_speed import speed_frame, timed

from ablate.core.facts import Evidence
from ablate.core.metric import Metric, Sampling

BASE = np.array([0.850, 0.855, 0.848, 0.851, 0.853])
WOBBLE = np.array([0.001, -0.001, 0.002, 0.0, -0.002])
ONE_IN_TEN = np.array([1, 2, 0, 1, 2, 0, 1, 2])
AA = np.array([0.001, -0.002, 0.0015, -0.0005, 0.001, -0.001, 0.0005, -0.0005])
KINDS = (("beats", 0.0), ("beats", 0.01), ("matches", 0.01), ("does_not_lose", 0.01))
BOTH = ("comparisons", "claims")
Cases = dict[str, tuple[Evidence, tuple[str, ...]]]


def pair(a: Any, b: Any = BASE, **options: Any) -> tuple[Evidence, tuple[str, ...]]:
    """A variant `a` and its baseline, with a claim of each kind."""
    claims = [claim(kind, by=by, metric=options.get("metric", "accuracy")) for kind, by in KINDS]
    return study({"baseline": b, "a": a}, **{"claims": claims, **options}), BOTH


def cases() -> Cases:
    """All of them."""
    return {**_graded(), **_lost(), **_rates(), **_several(), **_beside(), **_speed()}


def _graded() -> Cases:
    found = {
        f"{name}{' with a margin' if margin else ''}": pair(a, b, margin=margin)
        for margin in (None, 0.01)
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
        )
    }
    rng = np.random.default_rng(7)
    seeds = {name: rng.normal(0.8, 0.01, 6) for name in ("baseline", "a")}
    examples = {name: values[:, None] + rng.normal(0, 0.1, 40) for name, values in seeds.items()}
    shared = {"examples": examples, "margin": 0.05}
    found["examples that all seeds share"] = pair(
        seeds["a"], seeds["baseline"], sampling=Sampling("held_out", 40), **shared
    )
    found["a metric that should be small"] = pair(
        [1.0, 1.2, 0.9, 1.1], [2.0, 2.1, 1.9, 2.0], metric="loss", metrics={"loss": LOSS}
    )
    below = Metric("min", 0.01, floor=0.9, ceiling=0.0)
    found["an error at its ceiling"] = pair([0.0] * 5, [0.03] * 5, metrics={"accuracy": below})
    found["runs that fall into groups"] = (
        study(
            {"baseline": BASE, "a": BASE + WOBBLE, "b": [0.3, 0.3, 0.3, 0.6, 0.6]},
            margin=0.02,
            claims=[claim("matches", by=0.02), claim("does_not_lose", by=0.02)],
        ),
        BOTH,
    )
    return found


def _lost() -> Cases:
    found: Cases = {}
    for side in ("a", "baseline"):
        for status in ("failed", "not run", "pruned", "diverged"):
            found[f"one {status} of {side}"] = pair(
                BASE - 0.3 + WOBBLE, statuses={(side, 1): status}, margin=0.01
            )
        found[f"every run of {side} diverged"] = pair(
            BASE, statuses={(side, i): "diverged" for i in range(5)}
        )
    found["diverged without a floor"] = pair(
        BASE + 1, metric="loss", metrics={"loss": LOSS}, statuses={("a", 1): "diverged"}
    )
    for reason in ("OutOfMemoryError: CUDA out of memory", "time limit of 60 s: stopped", "ValueError: no"):
        found[f"failed for {reason}"] = pair(BASE, statuses={("a", 0): "failed"}, reasons={("a", 0): reason})
    return found


def _rates() -> Cases:
    def solved(*failures: int, n: int = 8) -> np.ndarray:
        return np.where(np.isin(np.arange(n), failures), 0.3, 0.99) + 1e-4 * np.arange(n)

    options: dict[str, Any] = {"outcome": "all_or_nothing", "margin": 0.3}
    found = {
        "all or nothing: the baseline alone": pair(solved(*range(8)), solved(), **options),
        "all or nothing: the variant alone": pair(solved(), solved(*range(6)), **options),
        "all or nothing: a few": pair(solved(0, 1, 2), solved(), **options),
        "all or nothing: everybody": pair(solved(), solved() - 0.001, **options),
        "all or nothing: nobody": pair(solved(*range(8)), solved(*range(8)) + 0.01, **options),
        "all or nothing: one diverged": pair(solved(), solved(), statuses={("a", 2): "diverged"}, **options),
        "all or nothing: many seeds": pair(solved(3, n=60), solved(4, n=60), **options),
    }
    derived = [
        claim(kind, by=by, metric=metric)
        for metric in ("solved_rate", "divergence_rate", "seed_spread")
        for kind, by in (("beats", 0.0), ("matches", 0.4), ("does_not_lose", 0.4))
    ]
    values = {"baseline": solved(), "a": solved(0, 1, 2, 3, 4)}
    found["claims about rates"] = study(values, claims=derived), ("claims",)
    lost = {("a", i): "diverged" for i in range(6)}
    found["claims about rates where runs diverged"] = (
        study(values, claims=derived, statuses=lost),
        ("claims",),
    )
    wide = {"baseline": 0.8 + 0.001 * ONE_IN_TEN.repeat(3), "a": 0.8 + 0.02 * ONE_IN_TEN.repeat(3)[::-1]}
    found["claims about spreads"] = study(wide, claims=derived[6:]), ("claims",)
    return found


def _several() -> Cases:
    metrics = {"accuracy": ACCURACY}
    tasks = {"recall": metrics, "sort": metrics, "other": {"loss": LOSS}}
    found: Cases = {}
    for name, recall, sort in (
        ("both", 0.03, 0.005),
        ("against one another", 0.03, -0.01),
        ("one", 0.03, 0.0),
    ):
        values = {
            "baseline": dict.fromkeys(tasks, BASE),
            "a": {"recall": BASE + recall + WOBBLE, "sort": BASE + sort - 1.5 * WOBBLE, "other": BASE},
        }
        found[f"several tasks: {name}"] = (
            study(values, tasks=tasks, claims=[claim("beats"), claim("matches", by=0.02)]),
            BOTH,
        )
    many = {
        "baseline": BASE,
        **{f"v{i}": BASE + 0.004 * i + 3 * WOBBLE for i in range(-3, 4)},
        "p": BASE + WOBBLE,
    }
    claims = [claim("beats", "v1"), claim("beats", "v3"), claim("matches", "v0", by=0.02)]
    claims += [claim("beats", ["v1", "v2"], ["v0", "v-1"]), claim("beats", "v2", exploratory=True)]
    claims += [claim("beats", "v2", metric="speed")]
    found["a family of seven with a placebo"] = study(many, placebos=["p"], margin=0.02, claims=claims), BOTH
    noise = np.array([1.0, -2.0, 2.0, -1.0, 1.5, -1.0, 0.5, -1.0, 2.0, -2.0, 1.0, -1.5])
    base = 0.5 + 0.01 * noise[::-1]
    values = {"baseline": base, "clear": base - 0.3 + 0.002 * noise, "open": base + 0.05 * noise}
    for taken in (4, 8, 12):
        made = study(
            {name: of[:taken] for name, of in values.items()},
            claims=[claim("beats", "baseline", "clear"), claim("beats", "open")],
            planned=12,
        )
        for until in (None, 4):
            stops = {} if until is None else {"clear": {"recall": until}}
            facts = dataclasses.replace(made.facts, looks=[4, 8, 12], until=stops, seeds=list(range(taken)))
            rows = made.trials
            if until is not None:
                rows = rows[(rows["variant"] != "clear") | (rows["seed"] < until)].reset_index(drop=True)
            name = f"looks: {taken} of 12 seeds{'' if until is None else ', the clear variant to 4'}"
            found[name] = dataclasses.replace(made, facts=facts, trials=rows), BOTH
    factors = {"x": ["0", "1"], "y": ["0", "1"]}
    for extra in (0.0, 0.1):
        evidence = crossed(
            factors,
            lambda levels, seed, extra=extra: (
                0.5
                + 0.1 * (levels["x"] == "1")
                + extra * (levels["x"] == levels["y"] == "1")
                + 0.001 * ((seed * (1 + 2 * (levels["x"] == "1") + 5 * (levels["y"] == "1"))) % 7)
            ),
        )
        one = claim("interaction", "x=1,y=1", "y=1")
        one = dataclasses.replace(one, a_less=["x=1"], b_less=["baseline"])
        facts = dataclasses.replace(evidence.facts, claims=[one])
        found[f"an interaction of {extra:g}"] = dataclasses.replace(evidence, facts=facts), BOTH
    return found


def _beside() -> Cases:
    rng = np.random.default_rng(3)
    n = 8
    values = {name: 0.8 + 0.01 * rng.normal(size=n) for name in ("baseline", "a", "b")}
    numbers = {
        "grad_norm_max": {"baseline": 3 + rng.random(n), "a": 6 + rng.random(n), "b": 3 + rng.random(n)},
        "loss_spikes": dict.fromkeys(values, np.zeros(n)),
    }
    known = {"grad_norm_max": Metric("min"), "loss_spikes": Metric("min", 0.01, 1.0, 0.0)}
    grids = {
        "baseline": 0.5 + 0.05 * rng.normal(size=(n, 3)),
        "a": np.where(np.arange(3) == 2, math.inf, 0.5 + 0.05 * rng.normal(size=(n, 3))),
        "b": 0.5 + 0.05 * rng.normal(size=(n, 3)),
    }
    claims = [claim("beats", "baseline", x, metric="lr_sensitivity") for x in "ab"]
    options: dict[str, Any] = {"others": numbers, "stability": known, "stress": grids, "claims": claims}
    lost = {("a", seed): "diverged" for seed in range(6)}
    return {
        "stability": (study(values, **options), ("stability", "claims")),
        "stability where runs diverged": (study(values, statuses=lost, **options), ("stability", "claims")),
    }


def _speed() -> Cases:
    found: Cases = {}
    logs = {"much": 0.3 + AA, "less": -0.15 + AA, "a little": 0.015 + AA, "alike": AA[::-1], "noisy": 60 * AA}
    for name, floor in (("quiet", AA), ("loud", 30 * AA)):
        memory = {"baseline": 1e6, "much": 1.021e6, "less": 0.5e6, "a little": 1.019e6}
        claims = [claim("beats", a, metric="step_seconds") for a in ("much", "less", "a little")]
        claims += [
            claim("beats", "less", by=0.1, metric="step_seconds"),
            claim("beats", "less", metric="step_memory"),
        ]
        claims += [claim("matches", "alike", by=0.02, metric="step_seconds")]
        evidence = timed(speed_frame({"baseline": floor, **logs}, memory=memory), claims=claims)
        found[f"speed on a {name} machine"] = evidence, ("speed", "claims")
    found["speed by one process"] = timed(speed_frame({"baseline": AA[:1], "a": AA[:1]})), ("speed",)
    frames = [
        speed_frame({"baseline": AA, "a": AA - 0.05}, size=size, own=size == 64) for size in (32, 64, 128)
    ]
    found["speed at three sizes"] = timed(*frames), ("speed",)
    return found
