"""Sweeps that were never run, made from explicit generators."""

import dataclasses
import math

import numpy as np
import pandas as pd
from made_evidence import study

from ablate.analysis.search_table import Objective, Parameter, SearchFacts, SearchTable
from ablate.core.facts import BASELINE, VariantFacts
from ablate.core.metric import Metric
from ablate.core.provenance import Planned

ACCURACY = Objective("accuracy", "max", "validation", floor=0.1)
PARAMETERS = Objective("parameters", "min", "cost")
DIVERGENCE = Objective("divergence_rate", "min", "stability")
SPACE = [
    Parameter("training.lr", "float", 1e-4, 1e-1, log=True),
    Parameter("model.mixer", "choice", choices=["attention", "lstm", "gmlp"]),
    Parameter("model.mixer.num_heads", "int", 1, 8, when="model.mixer=attention"),
    Parameter("model.dropout.residual", "float", 0.0, 0.4, step=0.05),
    Parameter("model.feedforward.activation", "choice", choices=["relu", "gelu", "swiglu(expansion=2.67)"]),
    Parameter("model.d_model", "int", 16, 128, log=True),
]
SEEDS = [10_000, 10_001, 10_002]
REASONS = {
    "failed": "RuntimeError: out of memory | `x`",
    "invalid": "model.mixer.num_heads: must divide d_model (37), given 5",
    "pruned": "",
    "diverged": "the training loss is not finite at step 180",
}


def sweep(trials=40, objectives=(ACCURACY,), *, trouble=True, winners=1, seed=3):
    """A search whose accuracy depends most on the learning rate, then on the width and the mixer.

    trouble: some diverge (one without a value), some are pruned, one fails, one is invalid.
    """
    rng = np.random.default_rng(seed)
    rows = [_row(number, rng, trouble) for number in range(trials)]
    frame = pd.DataFrame(rows)
    names = [objective.name for objective in objectives]
    for name in names:
        frame.loc[frame["status"].isin(["pruned", "failed", "invalid"]), name] = np.nan
    columns = SearchFacts.columns
    kept = [*columns, *(p.path for p in SPACE), *(name for name in names if name not in columns)]
    frame = frame[kept]
    whole = frame["status"] == "completed"
    signs = [1 if objective.direction == "max" else -1 for objective in objectives]
    points = frame.loc[whole, names].to_numpy(float) * signs
    worse = [bool(((points >= p).all(axis=1) & (points > p).any(axis=1)).any()) for p in points]
    frame.loc[whole, "front"] = [not found for found in worse]
    order = frame.loc[whole & frame["front"]].sort_values(names[0], ascending=signs[0] < 0).index[:winners]
    for i, index in enumerate(order):
        frame.loc[index, "chosen"] = "winner" if i == 0 else f"winner-{i + 1}"
    facts = SearchFacts(
        SPACE, list(objectives), "tpe(n_startup_trials=10)", "median", trials, SEEDS, 4, {"optuna": "5.0.0"}
    )
    return SearchTable(facts, frame)


def _row(number: int, rng: np.random.Generator, trouble: bool) -> dict[str, object]:
    mixer = str(rng.choice(["attention", "lstm", "gmlp"], p=[0.5, 0.3, 0.2]))
    lr, width = 10 ** rng.uniform(-4, -1), round(2 ** rng.uniform(4, 7))
    heads = int(rng.integers(1, 9)) if mixer == "attention" else None
    accuracy = 0.93 - 0.06 * (math.log10(lr) + 2.6) ** 2 + 0.02 * math.log2(width / 45) / 3
    accuracy += {"attention": 0.01, "lstm": 0.0, "gmlp": -0.02}[mixer]
    values = [float(v) for v in np.clip(accuracy + rng.normal(0, 0.008, 3), 0.1, 1)]
    status = "completed"
    if trouble:
        status = {5: "failed", 9: "invalid"}.get(number % 40, status)
        status = "pruned" if number % 7 == 6 else status
        status = "diverged" if lr > 0.06 else status
    if status == "diverged":
        # Every second search has a metric without a floor on that seed.
        values[0] = 0.1 if number % 2 else float("nan")
    if status in ("failed", "invalid"):
        values = []
    size = float("nan") if status == "invalid" else 1_000.0 + 12 * width**2 + 800 * (mixer == "lstm")
    spread = np.std(values, ddof=1) if len(values) > 1 and status != "pruned" else np.nan
    return (
        {
            "variant": "",
            "task": "digits",
            "number": number,
            "status": status,
            "reason": REASONS.get(status, ""),
        }
        | {"chosen": "", "front": False, "seeds": 1 if status == "pruned" else len(values)}
        | {"diverged": int(status == "diverged"), "spread": float(spread), "train_seconds": 3.0}
        | {"pruned_at": 200.0 if status == "pruned" else np.nan, "parameters": size, "flops": 2 * size}
        | {"ids": [f"{number}-{i}" for i in range(len(values))], "values": values, "ties": []}
        | {"training.lr": lr, "model.mixer": mixer, "model.mixer.num_heads": heads, "model.d_model": width}
        | {"model.dropout.residual": float(rng.integers(0, 9)) * 0.05}
        | {"model.feedforward.activation": str(rng.choice(SPACE[4].choices))}
        | {"accuracy": float(np.mean(values)) if values else np.nan}
        | {"divergence_rate": 1 / 3 if status == "diverged" else 0.0}
    )


def after(searched, num_seeds=5, *, trained=True, placebo=False):
    """The baseline and the winners on fresh seeds, on which a winner is 0.012 worse than it looked.

    trained: whether the winners have run.
    """
    rng = np.random.default_rng(11)
    chosen = searched.trials[searched.trials["chosen"] != ""].sort_values("chosen")
    variants = [VariantFacts(BASELINE, {}, {}, parameters={"digits": 9_000}, flops={"digits": 18_000})]
    means = {BASELINE: 0.9}
    for row in chosen.to_dict("records"):
        changes = {path: str(row[path]) for path in searched.paths if row[path] == row[path]}
        costs = {"digits": int(row["parameters"])}
        variants.append(VariantFacts(row["chosen"], {}, changes, parameters=costs))
        means[row["chosen"]] = float(row["accuracy"]) - 0.012
    if placebo:
        variants.append(VariantFacts("placebo", {}, {}, placebo=True))
        means["placebo"] = 0.9
    ran = {name: mean for name, mean in means.items() if trained or not name.startswith("winner")}
    noise = {name: rng.normal(0, 0.006, (num_seeds, 2)).T for name in ran}
    found = study(
        {name: mean - 0.004 + noise[name][1] for name, mean in ran.items()},
        others={"validation_accuracy": {name: mean + noise[name][0] for name, mean in ran.items()}},
        tasks={"digits": {"accuracy": Metric("max", 1 / 360, floor=0.1, ceiling=1.0)}},
        margin=0.01,
    )
    facts = dataclasses.replace(
        found.facts,
        study="sweep-digits",
        question="Which setting?",
        variants=variants,
        provenance=Planned(searched="sweep"),
    )
    return dataclasses.replace(found, facts=dataclasses.replace(facts, design="sweep"))
