"""Two descriptions of a comparison over many conditions; no verdict depends on them (Agarwal et al. 2021).

The interquartile mean is the mean of the middle half of all differences d_it/u_t, of every seed in every condition: a
few conditions with large differences do not move it. P(A > B) is the chance that A is better than B in a pair of runs
of one condition, the mean over conditions, where a tie counts one half: it has no scale, and says how often and not by
how much.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ablate.analysis.agreeing import Groups
from ablate.analysis.conditions import Condition, scales_of
from ablate.analysis.family import planned_pairs
from ablate.analysis.measure import Measure
from ablate.analysis.over_conditions import shared_scale
from ablate.analysis.paired import ROUNDING, Floats
from ablate.analysis.runs import Runs
from ablate.analysis.unpaired import OfSummaries, Unpaired

LEAST_DESCRIBED = 5
"""The fewest conditions over which a comparison is described."""
CUT = 0.25
"""The share of the differences at either end that an interquartile mean leaves out."""


@dataclass(frozen=True)
class ComparisonDescription:
    """How large the differences of a comparison are over conditions, and how often they favour the variant."""

    interquartile_mean: float
    """Above 0 the variant is better; in the scaled unit, or in the metric's own where all conditions share a scale."""
    chance_of_better: float
    """P(A > B), from 0 to 1."""


def interquartile_mean(values: Floats) -> float:
    """Returns the mean without the smallest and the largest quarter of the values; a quarter of n is rounded down."""
    cut = int(CUT * len(values))
    ordered = np.sort(values)
    return float(ordered[cut : len(values) - cut].mean())


def chance_of_better(differences: Sequence[Floats]) -> float:
    """Returns P(A > B), where a tie counts one half; differences: those of all pairs of runs, an array a condition."""
    shares = [np.mean((one > 0) + 0.5 * (one == 0)) for one in differences]
    return float(np.mean(shares))


def describe_over_conditions(runs: Runs) -> dict[tuple[str, str], ComparisonDescription]:
    """Returns (variant, baseline) → the description of their planned comparison over all conditions.

    Left out are pairs in fewer than `LEAST_DESCRIBED` conditions, means whose runs are not known, and pairs that have
    no runs in some condition, or whose conditions have no common scale.
    """
    compared = {(pair.name, pair.against): (pair.a, pair.b) for pair in planned_pairs(runs.facts)}
    descriptions = {}
    for names, groups in compared.items():
        description = _described(conditions_of(runs, groups))
        if description is not None:
            descriptions[names] = description
    return descriptions


def conditions_of(runs: Runs, groups: Groups) -> list[Condition]:
    """Returns the comparison of two groups of variants on the primary metric in each condition that has it."""
    facts = runs.facts
    conditions = []
    for task in facts.tasks:
        if facts.metric in task.metrics:
            contrast = Measure(facts.metric, "mean", task).contrast(runs, groups)
            scale = facts.over.scales.get(task.name)
            conditions.append(Condition.of_contrast(task.name, contrast, facts.metric, declared_scale=scale))
    return conditions


def _described(conditions: Sequence[Condition]) -> ComparisonDescription | None:
    """Returns the description of a comparison; None where there is none."""
    scales = scales_of(conditions)
    if len(conditions) < LEAST_DESCRIBED or scales is None:
        return None
    if any(isinstance(one.differences, OfSummaries) or not one.differences.n for one in conditions):
        return None
    unit = shared_scale(conditions)
    by_condition = []
    for condition, scale in zip(conditions, scales, strict=True):
        by_condition.append(differences_of_runs(condition) * unit / scale)
    return ComparisonDescription(
        interquartile_mean(np.concatenate(by_condition)), chance_of_better(by_condition)
    )


def differences_of_runs(condition: Condition) -> Floats:
    """Returns the difference of each pair of runs: of one seed, or of any two where runs are unpaired."""
    differences = condition.differences
    if not isinstance(differences, Unpaired):
        return differences.values
    runs = differences.values + differences.others.mean()
    of_runs = np.subtract.outer(runs, differences.others).ravel()
    is_tie = np.abs(of_runs) <= ROUNDING * np.abs(runs).max()
    return np.where(is_tie, 0.0, of_runs)
