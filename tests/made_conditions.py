"""Conditions, and studies over them, from arrays of differences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from made_evidence import study
from numpy.typing import ArrayLike

from ablate.analysis.conditions import Condition
from ablate.analysis.paired import Differences
from ablate.core.facts import Evidence
from ablate.core.metric import Metric
from ablate.core.over import Family, Form, Over
from ablate.core.reason import Block

SCORE = Metric("max")

# The differences of the references, a row a seed and a column a condition.
SCALED = np.array([(0.10, 2), (0.04, 1), (0.07, -1), (0.05, 3), (0.09, 0.5)])
GROWING = np.array(
    [(0.01, 0.03, 0.06), (0.02, 0.03, 0.05), (0, 0.02, 0.07), (0.01, 0.04, 0.04), (0.02, 0.02, 0.06)]
)
REVERSED = np.array(
    [(0.03, 0.02, -0.02), (0.05, 0.03, -0.03), (0.04, 0.02, -0.01), (0.02, 0.04, -0.02), (0.04, 0.03, -0.02)]
)


def conditions(
    d: ArrayLike, scales: Sequence[float] | None = None, metric: Metric = SCORE
) -> list[Condition]:
    """Returns the conditions of differences of shape (num_seeds, num_conditions)."""
    values = np.asarray(d, float)
    made = []
    for t, one in enumerate(values.T):
        differences = Differences.between(one, 0 * one)
        scale = None if scales is None else scales[t]
        made.append(Condition(f"c{t}", differences, "score", metric, range(len(one)), scale))
    return made


def with_examples(d: ArrayLike) -> list[Condition]:
    """Returns the conditions of differences of shape (num_conditions, num_seeds, num_examples)."""
    made = []
    for t, one in enumerate(np.asarray(d, float)):
        differences = Differences.between(one.mean(axis=1), np.zeros(len(one)), examples=one)
        made.append(Condition(f"c{t}", differences, "score", SCORE, range(len(one))))
    return made


def other_seeds(conditions: Sequence[Condition]) -> list[Condition]:
    """Returns the conditions with seed numbers of which no two share any."""
    made = []
    for t, one in enumerate(conditions):
        made.append(replace(one, seeds=range(100 * t, 100 * t + one.difference.n)))
    return made


def blocked(condition: Condition, *blocks: Block) -> Condition:
    """Returns the condition with these blocks."""
    return replace(condition, difference=replace(condition.difference, blocks=blocks))


def study_over(
    d: ArrayLike,
    form: Form = "mean",
    *,
    names: Sequence[str] = (),
    metric: Metric = SCORE,
    family: Family = "all",
    noise: float = 0.1,
    along: str = "",
    sizes: Mapping[str, float] | None = None,
    scales: Mapping[str, float] | None = None,
    **options: Any,
) -> Evidence:
    """Returns evidence in which `a` differs from the baseline by `d`, (num_seeds, num_conditions), on the same seeds.

    noise: the standard deviation of the baseline's scores. options: of `made_evidence.study`.
    """
    differences = np.asarray(d, float)
    num_seeds, num_conditions = differences.shape
    rng = np.random.default_rng(1)
    names = names or [f"c{t}" for t in range(num_conditions)]
    base = {name: 0.5 + rng.normal(0, noise, num_seeds) for name in names}
    made = {name: base[name] + differences[:, t] for t, name in enumerate(names)}
    tasks = {name: {"score": metric} for name in names}
    evidence = study({"baseline": base, "a": made}, metric="score", tasks=tasks, **options)
    over = Over(form, along, dict(sizes or {}), dict(scales or {}))
    return replace(evidence, facts=replace(evidence.facts, over=over, family=family))
