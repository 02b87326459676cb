"""How the factors of a factorial act together: the difference of differences of each two levels.

All of it is description: a claim about an interaction is judged, a row is not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import pandas as pd

from ablate.analysis.family import Levels, crossed_levels
from ablate.analysis.judge import ALPHA
from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence, StudyFacts, TaskFacts
from ablate.core.rows import frame_of_rows

Cells = list[str]


@dataclass(frozen=True)
class InteractionRow:
    """The interaction of two levels on one task: how much more a change does where the other is made as well."""

    first: str
    """`path=level` of the first change."""
    second: str
    """`path=level` of the second change."""
    task: str
    metric: str
    """The primary metric."""
    n: int
    """The number of paired seeds."""
    diff: float
    """Mean over seeds of (both − second alone) − (first alone − neither), oriented; over the levels of others."""
    ci_low: float
    """The lower end of its 95 % interval; NaN where there is none."""
    ci_high: float
    """The upper end of its 95 % interval; NaN where there is none."""


def interactions(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of interactions, with the columns of `InteractionRow`; empty unless factors are crossed."""
    runs = Runs(evidence)
    return frame_of_rows([*_rows(runs)], InteractionRow)


def _rows(runs: Runs) -> Iterator[InteractionRow]:
    """Yields the interaction of each two levels on each task that has the primary metric."""
    facts = runs.facts
    cells = crossed_levels(facts)
    if facts.design != "factorial" or not cells:
        return
    paths = list(next(iter(cells.values())))
    for task in facts.tasks:
        if facts.metric not in task.metrics:
            continue
        for first, second in combinations(paths, 2):
            for labels in product(facts.factors[first][1:], facts.factors[second][1:]):
                row = _row(runs, task, cells, {first: labels[0], second: labels[1]})
                if row is not None:
                    yield row


def _row(runs: Runs, task: TaskFacts, cells: Levels, changes: dict[str, str]) -> InteractionRow | None:
    """Returns the interaction of two levels, by path; None where a cell that it takes is missing."""
    facts = runs.facts
    first, second = changes
    groups = _corners(facts, cells, changes)
    if not groups:
        return None
    differences = Measure(facts.metric, "mean", task).contrast(runs, groups).differences
    ci_low, ci_high = differences.interval(ALPHA) or (NAN, NAN)
    return InteractionRow(
        first=f"{first}={changes[first]}",
        second=f"{second}={changes[second]}",
        task=task.name,
        metric=facts.metric,
        n=differences.n,
        diff=differences.mean,
        ci_low=ci_low,
        ci_high=ci_high,
    )


def _corners(facts: StudyFacts, cells: Levels, changes: dict[str, str]) -> list[Cells]:
    """Returns the cells with both changes, the second alone, the first alone and neither, over shared other levels.

    Empty where no combination of other levels has all four.
    """
    first, second = changes
    base_first = facts.factors[first][0]
    base_second = facts.factors[second][0]
    corners = [
        (changes[first], changes[second]),
        (base_first, changes[second]),
        (changes[first], base_second),
        (base_first, base_second),
    ]
    cells_by_corner: list[dict[tuple[str, ...], str]] = [{} for _ in corners]
    for name, levels in cells.items():
        corner = (levels[first], levels[second])
        if corner in corners:
            others = tuple(level for path, level in levels.items() if path not in changes)
            cells_by_corner[corners.index(corner)][others] = name
    shared = set.intersection(*[set(by_others) for by_others in cells_by_corner])
    if not shared:
        return []
    return [[name for others, name in by_others.items() if others in shared] for by_others in cells_by_corner]
