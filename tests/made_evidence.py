"""Evidence of studies that were never run, from arrays."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ablate.core.facts import Claim, Evidence, StudyFacts, TaskFacts, VariantFacts
from ablate.core.metric import FRESH, Metric, Outcome, Sampling
from ablate.core.stress_facts import StressFacts

ACCURACY = Metric("max", resolution=0.001, floor=0.1, ceiling=1.0, solved=0.9)
LOSS = Metric("min")
RATES = (1e-3, 3e-3, 1e-2)


def study(
    values: Mapping[str, ArrayLike | Mapping[str, ArrayLike]],
    *,
    metric: str = "accuracy",
    column: str = "",
    metrics: Mapping[str, Metric] | None = None,
    tasks: Mapping[str, Mapping[str, Metric]] | None = None,
    others: Mapping[str, Mapping[str, ArrayLike]] | None = None,
    statuses: Mapping[tuple[str, int], str] | None = None,
    reasons: Mapping[tuple[str, int], str] | None = None,
    placebos: Sequence[str] = (),
    planned: int | None = None,
    claims: Sequence[Claim] = (),
    margin: float | None = None,
    curves: Mapping[tuple[str, int], Sequence[float]] | None = None,
    outcome: Outcome = "graded",
    sampling: Sampling = FRESH,
    examples: Mapping[str, ArrayLike] | None = None,
    stability: Mapping[str, Metric] | None = None,
    stress: Mapping[str, ArrayLike] | None = None,
    rates: Sequence[float] = RATES,
    initial: float = 2.0,
) -> Evidence:
    """`values`: variant → (task →) primary metric by seed, NaN where the trial has not run; the first is the baseline.

    `others`: metric → variant → values. `statuses` and `reasons`: by variant and seed, on every task. Seeds count from
    0. `curves`: (variant, seed) → validation curve of the primary metric. `examples`: variant → primary metric by seed
    and test example, on every task; they are used where `sampling` says that all seeds share them. `stability`: the
    metrics of `others` that say how steadily a run trained. `stress`: variant → held-out loss by seed and learning rate
    of `rates`, on every task: infinite where the run diverged, NaN where it is missing; `initial` is the loss before
    the first step.
    """
    tasks = tasks or {"recall": metrics or {"accuracy": ACCURACY}}
    by_task = {
        variant: v if isinstance(v, Mapping) else dict.fromkeys(tasks, v) for variant, v in values.items()
    }
    seeds = max(len(np.atleast_1d(v)) for per_task in by_task.values() for v in per_task.values())
    judged = column or metric
    rows = []
    for variant, per_task in by_task.items():
        for task, numbers in per_task.items():
            for seed, value in enumerate(np.asarray(numbers, float)):
                status = (statuses or {}).get((variant, seed), "not run" if np.isnan(value) else "completed")
                if status == "not run":
                    continue
                found = {judged: value} | {name: of[variant][seed] for name, of in (others or {}).items()}
                row = {"id": f"{variant}-{task}-{seed}", "variant": variant, "task": task, "seed": seed}
                row |= {"status": status, "reason": (reasons or {}).get((variant, seed), "")}
                rows.append(row | (found if status == "completed" else dict.fromkeys(found, np.nan)))
    facts = StudyFacts(
        **{"study": "made", "question": "", "notes": "", "at": "last", "design": "one_factor", "factors": {}},
        metric=metric,
        column=judged,
        margin=margin,
        seeds=list(range(planned or seeds)),
        tasks=[
            TaskFacts(name, dict(of_task), outcome, sampling, dict(stability or {}))
            for name, of_task in tasks.items()
        ],
        variants=[VariantFacts(name, {}, {}, placebo=name in placebos) for name in values],
        claims=list(claims),
        features={StressFacts.key: StressFacts("training.lr", list(rates)).plain()} if stress else {},
    )
    points = [
        (f"{variant}-{task}-{seed}", 100 * i, f"validation_{metric}", value)
        for (variant, seed), curve in (curves or {}).items()
        for task in tasks
        for i, value in enumerate(curve)
    ]
    outcomes = [
        (row["id"], metric, np.asarray(examples[row["variant"]], float)[row["seed"]])
        for row in rows
        if examples and row["variant"] in examples and row["status"] == "completed"
    ]
    grid = [
        {
            "id": f"{variant}-{task}-{seed}-{rate}",
            "variant": variant,
            "task": task,
            "seed": seed,
            "value": rate,
        }
        | {"status": "diverged" if np.isinf(loss) else "completed", "reason": ""}
        | {"test_loss": np.nan if np.isinf(loss) else loss, "initial_loss": initial}
        for variant, losses in (stress or {}).items()
        for task in tasks
        for seed, by_rate in enumerate(np.asarray(losses, float))
        for rate, loss in zip(rates, by_rate, strict=True)
        if not np.isnan(loss)
    ]
    columns = ["id", "variant", "task", "seed", "status", judged]
    return Evidence(
        facts,
        pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns),
        pd.DataFrame(points, columns=["id", "step", "metric", "value"]),
        pd.DataFrame(outcomes, columns=["id", "metric", "values"]),
        frames={StressFacts.key: pd.DataFrame(grid, columns=list(StressFacts.columns))},
    )


def crossed(factors, value, seeds=5, keep=lambda levels: True, design="factorial", **options):
    """A study of every combination of levels that `keep` keeps; `value` of levels and seed, baselines come first."""
    values, variants = {}, []
    base = {path: levels[0] for path, levels in factors.items()}
    for chosen in itertools.product(*factors.values()):
        levels = dict(zip(factors, chosen, strict=True))
        changes = {path: level for path, level in levels.items() if level != base[path]}
        name = ",".join(f"{path}={level}" for path, level in changes.items()) or "baseline"
        if keep(levels):
            variants.append(VariantFacts(name, levels, changes))
            values[name] = [value(levels, seed) for seed in range(seeds)]
    evidence = study(values, **{"metrics": {"accuracy": Metric("max")}, **options})
    facts = StudyFacts(**{**vars(evidence.facts), "variants": variants, "design": design})
    facts.factors.update({path: list(levels) for path, levels in factors.items()})
    return replace(evidence, facts=facts)


def claim(kind, a="a", b="baseline", by=0.0, *, metric="accuracy", exploratory=False):
    """A claim about variants, in the words of a study."""
    sides = [[side] if isinstance(side, str) else list(side) for side in (a, b)]
    words = [
        " and ".join(sides[0]),
        {"does_not_lose": "does not lose to"}.get(kind, kind),
        " and ".join(sides[1]),
    ]
    words += ["on", metric, *(["by" if kind == "beats" else "within", str(by)] if by else [])]
    text = " ".join(words)
    return Claim(text, kind, metric, *sides, by, "2025-01-01T00:00:00", exploratory)
