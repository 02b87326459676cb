"""Seeds whose runs repeat those of earlier seeds, such as `seed % 5` for a fold: no further evidence.

Which runs are copies of one another decide the rules of reports: `analysis.alike` of equal numbers, that chance does
not make, and `analysis.alike_seeds` of copies but for jitter.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from ablate.analysis.alike import alike_runs
from ablate.analysis.alike_seeds import alike_seeds
from ablate.base.errors import listed
from ablate.base.wording import counted
from ablate.core.metric import Metric

Side = Mapping[int, float]
"""Seed → the number of its run."""


def distinct_seeds(base: Side, head: Side) -> list[int]:
    """Returns the seeds without those whose runs, of both commits, repeat the runs of an earlier seed."""
    groups = _groups_of_copies([base, head])
    first_seeds: dict[tuple[int, int], int] = {}
    for seed in base:
        # A run that is like no other is a group of its own.
        of_base = groups.get((0, seed), -1 - seed)
        of_head = groups.get((1, seed), -1 - seed)
        first_seeds.setdefault((of_base, of_head), seed)
    return [*first_seeds.values()]


def not_counted(num_seeds: int, num_distinct: int) -> str:
    """Returns a note on seeds that are not counted, as they repeat others; empty where all are distinct."""
    repeated = num_seeds - num_distinct
    if not repeated:
        return ""
    verb = "repeats" if repeated == 1 else "repeat"
    return (
        f"{repeated} of {counted(num_seeds, 'seed')} {verb} the numbers of earlier seeds in both commits, and so "
        f"{'is' if repeated == 1 else 'are'} no further evidence: the verdict is by the {num_distinct} distinct ones. "
        "Look for what the code makes of its seed, such as a fold by `seed % 5`"
    )


def note_on_repeats(sides: Mapping[str, Side]) -> str:
    """Returns a note on commits whose runs have the same numbers, but for jitter, under different seeds; else "".

    sides: the commit by its name → its runs.
    """
    groups = _groups_of_copies([*sides.values()])
    names = [name for place, name in enumerate(sides) if _has_repeats(place, groups)]
    if not names:
        return ""
    return (
        f"some runs of {listed(names)} have the same numbers under different seeds: if the seed has no effect, they "
        "carry the evidence of one run, although each is counted"
    )


def _has_repeats(place: int, groups: Mapping[tuple[int, int], int]) -> bool:
    """Returns whether two runs of one side are in one group."""
    of_side = [number for (side, _), number in groups.items() if side == place]
    return len({*of_side}) < len(of_side)


def _groups_of_copies(sides: Sequence[Side]) -> dict[tuple[int, int], int]:
    """Returns (place of the side, seed) → number of its group, for each run that has copies.

    Copies are runs with the same numbers; where there are none, runs whose seeds are copies but for jitter.
    """
    runs: list[tuple[int, int]] = []
    values: list[float] = []
    for place, side in enumerate(sides):
        for seed, value in side.items():
            runs.append((place, seed))
            values.append(value)
    trials = pd.DataFrame(runs, columns=["variant", "seed"])
    # A run's id is its place in the list.
    trials = trials.assign(id=range(len(runs)), value=values, task="", status="completed")
    metrics = {"value": Metric("max")}
    groups: dict[tuple[int, int], int] = {}
    for number, ids in enumerate(alike_runs(trials, trials[:0], metrics)):
        groups |= dict.fromkeys([runs[int(one)] for one in ids], number)
    if not groups:
        for number, seeds in enumerate(alike_seeds(trials, metrics)):
            groups |= dict.fromkeys([run for run in runs if run[1] in seeds], number)
    return groups
