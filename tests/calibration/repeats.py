"""Runs of one seed that are repeated, and seeds that are copies: how often the notes on them are given."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ablate.analysis.alike_seeds import alike_seeds
from ablate.analysis.repeats import spread_no_more
from ablate.core.metric import Metric
from ablate.core.repeats import NUM_REPEATED

from .check import Check, Place, at_most, frequency
from .simulations import Floats

SEEDS = 5
STATED = {0: 0.743, 1: 0.479, 3: 0.074, 10: 0.0012}
"""Standard deviation of seeds, that of a repeat being 1 → how often seeds spread no more, as METHODS §1 states."""
UNHEARD = "Seeds spread no more than a repeat of one seed: the note"
ALIKE = "Seeds that are honest: some named as copies"
COPIES = "Seeds in threes, with jitter: all found"
SPREAD = 0.01
"""The standard deviation of runs."""
JITTERS = (1e-6, 1e-5)
METRICS = {"score": Metric("max")}


def repeats(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Of the note on repeats; then of that on copies, with few studies, as each takes a frame."""
    for ratio, rate in STATED.items():
        setting = {"n": SEEDS, "SD of seeds / repeat": ratio}
        yield frequency(UNHEARD, unheard(rng, place.studies, ratio), setting, rate=rate, exactly=True)

    few = max(20, place.studies // 20)
    for num_variants, num_seeds, num_examples in itertools.product((2, 4), (5, 20), (0, 1000)):
        honest = [runs(rng, num_variants, num_seeds, num_examples) for _ in range(few)]
        setting = {"variants": num_variants, "n": num_seeds, "values": num_examples or "full floats"}
        yield at_most(ALIKE, [bool(groups_of(values)) for values in honest], setting, most=0.05, alpha=0.05)
    in_threes = np.arange(9) // 3
    for jitter in JITTERS:
        copied = (runs(rng, 3, 3)[:, in_threes] + jitter * rng.normal(size=(3, 9)) for _ in range(few))
        found = [groups_of(values) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]] for values in copied]
        yield Check(COPIES, {"jitter": jitter, "spread": SPREAD}, float(np.mean(found)), studies=few)


def unheard(rng: np.random.Generator, studies: int, ratio: float) -> list[bool]:
    """Returns whether the note is given, a study of seeds that vary by `ratio` and repeats that vary by 1."""
    seeds = ratio * rng.normal(size=(studies, SEEDS))
    first = seeds + rng.normal(size=seeds.shape)
    second = seeds[:, :NUM_REPEATED] + rng.normal(size=(studies, NUM_REPEATED))
    return [spread_no_more(x, y - x[:NUM_REPEATED]) for x, y in zip(first, second, strict=True)]


def runs(rng: np.random.Generator, num_variants: int, num_seeds: int, num_examples: int = 0) -> Floats:
    """Returns scores by variant and seed, which share half of their variance; as shares of so many examples, if any."""
    shared = rng.normal(size=num_seeds)
    values = 0.8 + SPREAD * 0.5**0.5 * (shared + rng.normal(size=(num_variants, num_seeds)))
    return np.rint(values * num_examples) / num_examples if num_examples else values


def groups_of(values: Floats) -> list[list[int]]:
    """Returns the groups of seeds that are named as copies; values: by variant and seed."""
    rows: list[dict[str, Sequence[object] | object]] = []
    for variant, of_variant in enumerate(values):
        for seed, score in enumerate(of_variant):
            rows.append({"variant": variant, "seed": seed, "status": "completed", "score": score})
    return alike_seeds(pd.DataFrame(rows), METRICS)
