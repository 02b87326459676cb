"""Evidence of studies that were never run, made from explicit generators."""

from dataclasses import replace

import numpy as np
import pandas as pd

from ablate.core.facts import BASELINE, Claim, Evidence, StudyFacts, TaskFacts, VariantFacts
from ablate.core.metric import Metric
from ablate.core.provenance import Planned

UGLY = "<script>alert('x')</script>|`a`*b*"
FACTORS = {
    "model.mixer.score": {"scaled_dot": 0.0, "additive": 0.001, "dot": -0.004},
    "model.position": {"learned": 0.0, "sincos": -0.002, "none": -0.46},
    "model.norm": {"layer": 0.0, "batch": -0.031},
    "model.mixer.value": {"full": 0.0, "low_rank(rank=4)": -0.012, "low_rank(rank=8)": 0.0005},
    "model.feedforward.activation": {"relu": 0.0, "gelu": 0.003},
    "training.lr": {"0.003": 0.0, "0.3": -0.02},
}
ACCURACY = Metric("max", 1 / 1024, floor=1 / 8, ceiling=1.0, solved=0.95)
LOSS = Metric("min", floor=2.08, ceiling=0.0)


def study(
    *,
    factors=FACTORS,
    num_seeds=5,
    tasks=("recall",),
    named=None,
    placebo=True,
    claims=True,
    trouble=True,
    margin=0.02,
    steps=600,
):
    """A one-factor study; the numbers of `factors` are the effects on accuracy.

    trouble: one run with the largest learning rate diverges, one of the last named variant fails.
    """
    base = {path: next(iter(levels)) for path, levels in factors.items()}
    variants = [VariantFacts(BASELINE, base, {}, parameters=dict.fromkeys(tasks, 25_728))]
    effects = {BASELINE: 0.0}
    for path, levels in factors.items():
        for level, effect in list(levels.items())[1:]:
            name = f"{path}={level}"
            variants.append(
                VariantFacts(name, base | {path: level}, {path: level}, False, dict.fromkeys(tasks, 25_000))
            )
            effects[name] = effect
    for name, effect in ({UGLY: -0.006} if named is None else named).items():
        changed = {"model.d_model": "16"}
        variants.append(VariantFacts(name, base | changed, changed, False, dict.fromkeys(tasks, 9_000)))
        effects[name] = effect
    if placebo:
        variants.append(
            VariantFacts("placebo", base, {}, placebo=True, parameters=dict.fromkeys(tasks, 25_728))
        )
        effects["placebo"] = 0.0

    rng = np.random.default_rng(7)
    trials, curves = [], []
    grid = np.arange(50, steps + 1, 50)
    fine = np.arange(10, steps + 1, 10)
    for task in tasks:
        blocks = rng.normal(0, 0.006, num_seeds)
        for index, variant in enumerate(variants):
            for seed in range(num_seeds):
                identity = f"{task}-{index:02d}-{seed}"
                last = float(
                    np.clip(0.985 + effects[variant.name] + blocks[seed] + rng.normal(0, 0.004), 0.1, 1.0)
                )
                status, reason = "completed", ""
                if trouble and variant.changes.get("training.lr") and seed == 1:
                    status, reason = "diverged", "the training loss is not finite at step 180"
                if trouble and index == len(variants) - 1 - placebo and seed == 2:
                    status, reason = "failed", "RuntimeError: out of memory | `x`"
                done = status == "completed"
                loss = 2.2 * (1 - last) + 0.02
                row = {"id": identity, "variant": variant.name, "task": task, "seed": seed, **variant.levels}
                row |= {"status": status, "reason": reason}
                trials.append(row | {"accuracy": last if done else np.nan, "loss": loss if done else np.nan})
                until = steps if done else 180
                delay = 150 * (1 + 0.2 * rng.normal())
                rise = 1 / (1 + np.exp(-(grid[grid <= until] - 1.3 * delay) / 35))
                curves.append(
                    _curve(
                        identity, "validation_accuracy", grid[grid <= until], 0.125 + (last - 0.125) * rise
                    )
                )
                drop = loss + 2.1 / (1 + np.exp((fine[fine <= until] - 1.3 * delay) / 35))
                values = drop * np.exp(rng.normal(0, 0.05, len(drop)))
                if status == "diverged":
                    values[-3:] = [30.0, 4e6, np.nan]
                curves.append(_curve(identity, "train_loss", fine[fine <= until], values))

    position, date = "model.position=", "2026-01-05T10:00:00+00:00"
    declared = (
        ("beats", BASELINE, f"{position}none", 0.0, f"{position}learned beats {position}none on accuracy"),
        (
            *("matches", f"{position}sincos", BASELINE, 0.02),
            f"{position}sincos matches {position}learned on accuracy within 0.02",
        ),
        (
            *("does_not_lose", "model.norm=batch", BASELINE, 0.01),
            "model.norm=batch does not lose to model.norm=layer on accuracy within 0.01",
        ),
    )
    found = [
        Claim(text, kind, "accuracy", [a], [b], by, date, kind == "does_not_lose")
        for kind, a, b, by, text in declared
        if claims and "model.position" in factors
    ]
    facts = StudyFacts(
        study="quickstart",
        question='Which parts of a small Transformer matter for recall, & is "<b>norm</b>" one of them?',
        notes="First line of the notes.\n# not a heading | nor a cell\nTried 1,000 steps: no change.",
        metric="accuracy",
        column="accuracy",
        at="last",
        margin=margin,
        design="one_factor",
        seeds=list(range(num_seeds)),
        tasks=[TaskFacts(task, {"accuracy": ACCURACY, "loss": LOSS}) for task in tasks],
        variants=variants,
        factors={path: list(levels) for path, levels in factors.items()},
        claims=found,
        environment={
            "command": "ablate run studies/quickstart.yaml",
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "dirty": True,
            "versions": {"python": "3.11.9", "torch": "2.13.0", "numpy": "2.4.6"},
            "machine": "Some Processor, 8 cores, Linux 6.1",
        },
    )
    columns = ["id", "step", "metric", "value"]
    frame = pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=columns)
    return Evidence(facts, pd.DataFrame(trials), frame)


def _curve(identity, metric, steps, values):
    return pd.DataFrame({"id": identity, "step": steps, "metric": metric, "value": values})


BATCH, RMS = "model.norm=batch", "model.norm=rms"
BEST = {"baseline": (0.98, 3e-3), BATCH: (0.97, 0.08), RMS: (0.98, 2e-3)}
"""Variant → its best accuracy, and the learning rate that gives it."""


def norms(batch=-0.002, **options):
    """A small study of tuned variants; `batch` is the effect of batch norm."""
    factors = {"model.norm": {"layer": 0.0, "batch": batch, "rms": 0.001}}
    made = study(factors=factors, named={}, claims=False, trouble=False, **options)
    return replace(made, facts=replace(made.facts, provenance=Planned(searched="tuning")))
