"""Effects that were put into real training: are they found, with the right sign, and nothing where nothing is?"""

from collections.abc import Iterator

import numpy as np

from .check import Check, Place

STUDIES = ("labels", "width")


def planted(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Labels drawn at random for some of the training images, and half the width: each makes accuracy worse."""
    for study in STUDIES:
        results = place.trained(study)
        found = results.comparisons
        placebos = {variant.name for variant in results.evidence.facts.variants if variant.placebo}
        rows = found[found["metric"] == results.evidence.facts.metric]
        for row in rows.itertuples():
            setting = {"study": study, "variant": str(row.variant)}
            if row.variant in placebos:
                called = float(row.verdict in ("better", "worse"))
                yield Check(
                    "Nothing planted (placebo): called `better` or `worse`", setting, called, 0.0, 0.0
                )
            else:
                yield Check("Planted effect: difference in accuracy", setting, float(row.diff), high=0.0)
                yield Check(
                    "Planted effect: called `worse`", setting, float(row.verdict == "worse"), 1.0, 1.0
                )
