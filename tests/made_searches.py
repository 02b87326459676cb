"""Tables of searches that were never run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ablate.analysis.search_table import Objective, Parameter, SearchFacts, SearchTable
from ablate.core.facts import Evidence

LR = Parameter("training.lr", "float", 1e-4, 1e-1, log=True)
ACCURACY = Objective("accuracy", "max", "validation", floor=0.125)


def searched(
    values: Mapping[str | tuple[str, str], Sequence[float]],
    *,
    lrs: Mapping[str, Sequence[float]] | None = None,
    statuses: Mapping[tuple[str, int], str] | None = None,
    sampler: str = "random",
    pruner: str = "none",
    objective: Objective = ACCURACY,
    parameters: Sequence[Parameter] = (LR,),
    settings: Sequence[Mapping[str, Any]] | None = None,
    seeds: int = 2,
    trials: int | None = None,
) -> SearchTable:
    """`values`: variant, or variant and task (`recall` where it is not said) → the objective by setting, NaN: none.

    `lrs`: variant → training.lr by setting, or `settings`: by setting, path → value, the same for all. `statuses`:
    (variant, number) → status. The best completed setting is chosen.
    """
    rows: list[dict[str, Any]] = []
    for key, numbers in values.items():
        variant, task = (key, "recall") if isinstance(key, str) else key
        search = []
        for number, value in enumerate(numbers):
            status = (statuses or {}).get((variant, number), "completed")
            trained = {"completed": seeds, "diverged": seeds, "pruned": 1}.get(status, 0)
            given = settings[number] if settings else {"training.lr": 1e-3}
            given = {"training.lr": lrs[variant][number]} if lrs else given
            search.append(
                {"variant": variant, "task": task, "number": number, "status": status, "reason": ""}
                | {"chosen": "", "front": False, "seeds": trained, "diverged": int(status == "diverged")}
                | {"spread": 0.01, "pruned_at": 50 if status == "pruned" else None, "parameters": 100}
                | {"flops": 200, "train_seconds": 1.5 * trained, "ids": [f"{number}"] * trained}
                | {"values": [value] * trained, "ties": []}
                | {parameter.path: given.get(parameter.path) for parameter in parameters}
                | {objective.name: value}
            )
        up = 1 if objective.direction == "max" else -1
        finished = [row for row in search if row["status"] == "completed"]
        if finished:
            max(finished, key=lambda row: up * row[objective.name])["chosen"] = variant
        rows += search
    most = max(map(len, values.values()))
    facts = SearchFacts(
        [*parameters], [objective], sampler, pruner, trials or most, [10_000 + i for i in range(seeds)], 4
    )
    columns = [*SearchFacts.columns, *(parameter.path for parameter in parameters), objective.name]
    return SearchTable(facts, pd.DataFrame(rows, columns=columns))


def by_learning_rate(best, count=12, *, tasks=("recall",), sampler="random"):
    """`best`: variant → its best accuracy, and the learning rate that gives it; the rest falls off on the log scale.

    Every variant tries the same learning rates.
    """
    rng = np.random.default_rng(3)
    lrs = np.exp(rng.uniform(np.log(1e-4), np.log(1e-1), count))
    values = {
        (variant, task): np.clip(
            top - 0.06 * np.log(lrs / at) ** 2 + rng.normal(0, 0.004, count), 0.125, 1.0
        ).tolist()
        for variant, (top, at) in best.items()
        for task in tasks
    }
    return searched(values, lrs=dict.fromkeys(best, lrs.tolist()), sampler=sampler)


def after_search(table: SearchTable, judged: Evidence) -> Evidence:
    """The evidence of a study whose settings were searched for."""
    return judged.having(table.facts, table.trials)
