"""Seeds that are copies of one another but for jitter, such as `seed //= 3` on a GPU that does not repeat exactly.

Two seeds are alike where their runs lie within a thousandth of the spread of one another, in every variant that has
both. The spread of a variant is its largest value less its smallest, without the one run that lies furthest out: a seed
that fails everywhere would make all others alike. That of the widest variant counts. Copies do not narrow it, however
many there are, as long as two runs differ from them. Where all seeds are copies of one, the spread is that of the
jitter and shows nothing; a repeated run does (`analysis.repeats`).

That two honest runs of a variant of spread s lie within w of one another has a probability of about 2w/s at most,
unless runs crowd, as losses do near 0 beside a few that failed. Then there are others that are near, and not as near
as copies: the share of pairs between w and 10w apart takes the place of a smaller 2w/s. Seeds are reported where the
product of these over the variants, times the n²/2 pairs of seeds, is less than one in twenty, and two variants at
least give evidence. Of variants with the same runs one gives evidence; the same value at an end of the range, where
runs fail or have nothing left to gain, gives none. A metric whose steps are larger than w, as those of accuracies
are, is left out: equal values are no wonder there, and `analysis.alike` counts how many there may be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ablate.analysis.grid import resolution_of
from ablate.analysis.paired import Flags, Floats
from ablate.core.facts import Evidence, TaskFacts
from ablate.core.metric import FREE, Metric

NEAR = 1e-3
"""The share of the spread within which two runs are alike."""
CROWD = 10
"""How many times as far apart as alike runs two runs may be, and still show that runs crowd."""
RARE = 0.05
"""The share of studies below which chance is no reason."""
MOST_SEEDS = 500
"""The seeds that are compared with one another; of more, some are near by chance."""
LEAST_VARIANTS = 2
"""The variants that must give evidence."""


def judged_alike_seeds(evidence: Evidence, task: TaskFacts) -> list[list[int]]:
    """Returns groups of seeds that are copies of one another but for jitter, by the judged runs of a task."""
    facts = evidence.facts
    trials = evidence.trials
    judged = trials[(trials["task"] == task.name) & ~trials["variant"].isin(facts.placebos)]
    return alike_seeds(judged, {facts.column_of(name): metric for name, metric in task.metrics.items()})


def alike_seeds(trials: pd.DataFrame, metrics: Mapping[str, Metric]) -> list[list[int]]:
    """Returns groups of seeds that are copies of one another but for jitter, by the completed runs of one task."""
    completed = trials[trials["status"] == "completed"]
    seeds = sorted({*completed["seed"].tolist()})
    if len(seeds) > MOST_SEEDS:
        return []
    names = [name for name in metrics if name in completed and not name.endswith(FREE)]
    if not seeds or not names:
        return []

    scores = _scores(completed, names)
    widths = [_width(scores[:, place], metrics[name]) for place, name in enumerate(names)]
    are_alike = np.ones((len(seeds), len(seeds)), bool)
    by_chance = np.full((len(seeds), len(seeds)), len(seeds) ** 2 / 2)
    num_giving_evidence = np.zeros((len(seeds), len(seeds)), int)
    for of_variant in scores:
        rarity = np.ones((len(seeds), len(seeds)))
        for values, width in zip(of_variant, widths, strict=True):
            if width == 0:
                continue
            distances = np.abs(values[:, None] - values[None, :])
            are_alike &= ~(distances > width)  # A run that is missing is like any.
            # The metrics of one run depend on one another: the rarest gives evidence.
            rarity = np.minimum(rarity, _rarity(values, distances, width))
        by_chance *= rarity
        num_giving_evidence += rarity < 1
    is_reported = (by_chance < RARE) & (num_giving_evidence >= LEAST_VARIANTS)
    return _groups(are_alike & is_reported, seeds)


def _scores(completed: pd.DataFrame, names: Sequence[str]) -> Floats:
    """Returns the metrics by variant and seed, shape (num_variants, num_metrics, num_seeds), NaN without a finite one.

    The seeds are in rising order. Of variants with the same runs there is one.
    """
    cell = ["variant", "seed"]
    by_variant = completed.drop_duplicates(cell).set_index(cell)[[*names]].unstack("seed")
    scores = by_variant.to_numpy(float, na_value=np.nan).reshape(len(by_variant), len(names), -1)
    distinct = {of_variant.tobytes(): of_variant for of_variant in scores}
    scores = np.array([*distinct.values()])
    return np.where(np.isfinite(scores), scores, np.nan)


def _width(values: Floats, metric: Metric) -> float:
    """Returns the distance within which runs are alike in a metric; 0 where its spread or its steps leave it out.

    values: shape (num_variants, num_seeds).
    """
    width = NEAR * max(_spread(of_variant) for of_variant in values)
    is_coarse = resolution_of(metric, values[np.isfinite(values)]) > width
    return 0.0 if is_coarse else width


def _rarity(values: Floats, distances: Floats, width: float) -> Floats:
    """Returns the probability of runs this near by chance, (num_seeds, num_seeds); 1 where they give no evidence."""
    spread = _spread(values)
    if spread <= 2 * width:
        return np.ones_like(distances)
    is_end = np.isin(values, [np.nanmin(values), np.nanmax(values)])
    gives_none = np.isnan(distances) | (is_end[:, None] & (distances == 0))
    return np.where(gives_none, 1.0, max(2 * width / spread, _crowding(distances, width)))


def _crowding(distances: Floats, width: float) -> float:
    """Returns the share of the pairs of runs that are near, and not as near as copies: `width` to `CROWD` times it."""
    of_pairs = distances[np.triu_indices_from(distances, 1)]
    of_pairs = of_pairs[np.isfinite(of_pairs)]
    return float(np.mean((of_pairs > width) & (of_pairs <= CROWD * width)))


def _spread(values: Floats) -> float:
    """Returns the largest value less the smallest, without the one of both that lies further out; 0 of two or fewer."""
    ordered = np.sort(values[np.isfinite(values)])
    if len(ordered) < 3:
        return 0.0
    return float(min(ordered[-1] - ordered[1], ordered[-2] - ordered[0]))


def _groups(are_alike: Flags, seeds: Sequence[int]) -> list[list[int]]:
    """Returns the seeds that are alike, directly or through others; are_alike: shape (num_seeds, num_seeds)."""
    group_of = np.arange(len(seeds))
    for first, second in np.argwhere(np.triu(are_alike, 1)):
        group_of[group_of == group_of[second]] = group_of[first]
    groups = []
    for number in np.unique(group_of):
        members = [seeds[place] for place in np.flatnonzero(group_of == number).tolist()]
        if len(members) > 1:
            groups.append(members)
    return groups
