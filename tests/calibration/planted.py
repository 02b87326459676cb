"""Effects that were put into real training: are they found, with the right sign, and nothing where nothing is?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .check import Check, Place

SHOWN = [
    "variant",
    "metric",
    "n",
    "diff",
    "ci_low",
    "ci_high",
    "p",
    "p_adjusted",
    "verdict",
    "placebo",
    "exploratory",
]


def planted(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Labels drawn at random for some of the training images, and half the width: each makes accuracy worse."""
    results = place.trained("planted")
    metric = results.evidence.facts.metric
    found = results.comparisons[lambda rows: rows["metric"] == metric].sort_values("diff")
    place.frames["planted"] = found[SHOWN]
    for row in found.itertuples():
        setting = {"variant": row.variant, "verdict": row.verdict}
        if row.placebo:
            called = float(row.verdict in ("better", "worse"))
            yield Check("Nothing planted (placebo): called `better` or `worse`", setting, called, 0.0, 0.0)
        else:
            low, high = -np.inf, np.nextafter(0, -1)
            yield Check(
                "Planted effect: difference in accuracy, below 0", setting, float(row.diff), low, high
            )
            yield Check("Planted effect: called `worse`", setting, float(row.verdict == "worse"), 1.0, 1.0)
