"""How the factors of a factorial act together: the difference of differences of each two levels.

All of it is description: a claim about an interaction is judged, a row is not. A row is clear where it says that a main
effect hides what its levels do: such a main effect is the mean of effects that differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import pandas as pd

from ablate.analysis.family import Levels, crossed_levels, family_size
from ablate.analysis.measure import Measure
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, runs_of
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
    first_alone: float
    """Mean over seeds of first alone − neither: what the first change does without the second, oriented."""
    second_alone: float
    """The same of the second change without the first. Either does `diff` more where the other is made as well."""
    clear: bool
    """Whether it differs from 0 as strictly as a verdict, and by what matters.

    The interval at 1 − 0.05/(M + k), of k rows beside M members of the family, excludes 0; that at 95 % does not lie
    within the margin.
    """


@dataclass(frozen=True)
class _Interaction:
    """The interaction of two levels on one task, by path: the runs of its four corners."""

    runs: Runs
    task: TaskFacts
    changes: Mapping[str, str]
    corners: Sequence[Cells]
    """The cells with both changes, the second alone, the first alone and neither."""

    def _differences(self, *groups: Cells) -> Differences:
        return Measure(self.runs.facts.metric, "mean", self.task).contrast(self.runs, groups).differences

    def row(self, alpha: float) -> InteractionRow:
        """Returns its row; alpha: the level at which it is clear."""
        facts = self.runs.facts
        _, second_alone, first_alone, neither = self.corners
        differences = self._differences(*self.corners)
        ci_low, ci_high = differences.interval(ALPHA) or (NAN, NAN)
        corrected = differences.interval(alpha)
        is_apart = corrected is not None and not corrected[0] <= 0 <= corrected[1]
        first, second = self.changes
        return InteractionRow(
            first=f"{first}={self.changes[first]}",
            second=f"{second}={self.changes[second]}",
            task=self.task.name,
            metric=facts.metric,
            n=differences.n,
            diff=differences.mean,
            ci_low=ci_low,
            ci_high=ci_high,
            first_alone=self._differences(first_alone, neither).mean,
            second_alone=self._differences(second_alone, neither).mean,
            clear=is_apart and max(-ci_low, ci_high) > (facts.margin or 0.0),
        )


def interactions(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of interactions, with the columns of `InteractionRow`; empty unless factors are crossed."""
    found = [*_interactions(runs_of(evidence))]
    alpha = ALPHA / max(1, family_size(evidence.facts) + len(found))
    return frame_of_rows([interaction.row(alpha) for interaction in found], InteractionRow)


def _interactions(runs: Runs) -> Iterator[_Interaction]:
    """Yields the interaction of each two levels on each task that has the primary metric and its four corners."""
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
                changes = {first: labels[0], second: labels[1]}
                corners = _corners(facts, cells, changes)
                if corners:
                    yield _Interaction(runs, task, changes, corners)


def _corners(facts: StudyFacts, cells: Levels, changes: Mapping[str, str]) -> list[Cells]:
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
