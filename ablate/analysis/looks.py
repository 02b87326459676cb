"""The looks of a sequential design, and the share of the level that each spends.

A study with `seeds: {min, max}` looks at every multiple of `min` up to `max`, until it is settled: K looks, the k-th at
exactly the first k·min seeds. No verdict is revoked, and look k spends the share w_k = k/(1 + … + K) of the level,
fixed beforehand, so that

    p_seq = min(1, min over the looks taken of p_k / w_k)

is a p-value whatever the test and whenever the looks end, by the union bound. A fixed plan is the case K = 1.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ablate.analysis.chances import weights
from ablate.analysis.runs import Runs
from ablate.core.facts import StudyFacts, TaskFacts


@dataclass(frozen=True)
class Look:
    """A look of a sequential design."""

    number: int
    """From 1 to `count`."""
    count: int
    """Looks that are planned, K."""
    seeds: int
    """The first seeds of the plan that it sees."""


def p_sequential(p_by_look: Sequence[float], count: int) -> float:
    """Returns p_seq after the first looks of `count`; a p that is NaN decides nothing."""
    p_seq = 1.0
    for p, weight in zip(p_by_look, weights(count), strict=False):
        if not math.isnan(p):
            p_seq = min(p_seq, p / weight)
    return p_seq


def looks_taken(facts: StudyFacts) -> list[Look]:
    """Returns the looks that a study has taken, the last at all of its seeds; the first at least."""
    planned = facts.plan.looks or [len(facts.seeds)]
    looks = [Look(number, len(planned), seeds) for number, seeds in enumerate(planned, start=1)]
    return [look for look in looks if look.number == 1 or look.seeds <= len(facts.seeds)]


def at_looks(runs: Runs, places: Sequence[tuple[TaskFacts, Sequence[str]]]) -> Iterator[tuple[Look, Runs]]:
    """Yields each look that was taken, with the runs of its seeds.

    places: tasks, and the variants on each. The looks end where these were not all asked for on the seeds of the next:
    a variant may have been settled on fewer.
    """
    for look in looks_taken(runs.facts):
        runs_at_look = runs.first(look.seeds)
        sides = [runs_at_look.of(name, task) for task, names in places for name in names]
        if look.number > 1 and not all(side.asked.all() for side in sides):
            break
        yield look, runs_at_look
