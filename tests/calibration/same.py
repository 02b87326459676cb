"""A variant with the baseline's own runs: the difference is exactly 0, and the verdict says so."""

from collections.abc import Iterator

import numpy as np
from made_evidence import ACCURACY, study

from ablate.analysis.compare import compare

from .check import Check, Place

WHAT = "Same variant, same seeds: largest difference"
CODE = "Same variant, same seeds: other codes than {}"


def same(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Made runs in the middle, at the ceiling and at the floor of an accuracy; then real ones, through the pipeline."""
    n = 8
    made = {
        ("in the middle", "graded", "degenerate"): rng.uniform(0.3, 0.95, n),
        ("at the ceiling", "graded", "ceiling"): np.full(n, 1.0),
        ("at the floor", "graded", "floor"): np.full(n, 0.1),
        ("some solved", "all_or_nothing", "degenerate"): np.where(np.arange(n) < 4, 0.97, 0.3),
        ("all solved", "all_or_nothing", "ceiling"): rng.uniform(0.91, 0.95, n),
        ("guessing", "all_or_nothing", "unsolved"): rng.uniform(0.09, 0.12, n),
    }
    for (where, outcome, expected), values in made.items():
        evidence = study(
            {"baseline": values, "again": values},
            metrics={"accuracy": ACCURACY},
            outcome=outcome,
            margin=0.02,
        )
        row = compare(evidence).iloc[0]
        setting = {"runs": where, "outcome": outcome}
        yield Check(WHAT, setting, float(abs(row["diff"])), 0.0, 0.0)
        yield Check(CODE.format(expected), setting, float(row["reason"].split()[0] != expected), 0.0, 0.0)
    results = place.trained("same")
    values = results.trials.pivot(index="seed", columns="variant", values="accuracy").to_numpy()
    setting = {"runs": "trained", "outcome": "graded"}
    yield Check(WHAT, setting, float(np.ptp(values, axis=1).max()), 0.0, 0.0)
    said = results.comparisons.query("metric == 'accuracy'")["reason"].astype(str).str.split().str[0]
    yield Check(CODE.format("degenerate"), setting, float((said != "degenerate").sum()), 0.0, 0.0)
