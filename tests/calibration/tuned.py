"""Identical variants that are tuned: how often is any told `better` or `worse`, by the luck of the settings chosen?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ablate.analysis.agreeing import IntersectionUnion
from ablate.analysis.compare import compare
from ablate.analysis.judge import row
from ablate.analysis.paired import Differences
from ablate.analysis.power import ALPHA
from ablate.analysis.runner_ups import MAX_RUNNER_UPS, resolvable_difference
from ablate.core.facts import BASELINE, RUNNER_UPS, Evidence, VariantFacts
from ablate.core.reason import Reason

from .check import Check, Place, frequency
from .simulations import RESOLUTION, Floats

SIDES, TUNING = 8, 3
"""The baseline and seven variants; tuning seeds."""
GAPS, SEEDS = (0.005, 0.01, 0.02), (8, 20)
FURTHER = (0.05, 0.1)
"""By how much the other rates are worse than the best."""
ON_VALIDATION, ON_TEST = 0.0105, 0.005
"""Standard deviations between runs beside what a seed has in common, as digits have them (METHODS §1)."""
WHAT = "Seven variants, tuned on three seeds, no difference: any `better` or `worse`"
CHOSEN = "the chosen setting alone"
DRAWS = 300
"""Fictitious studies that are drawn from trained runs."""


def tuned(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """The two best of four rates a gap apart."""
    for n in SEEDS:
        for gap in GAPS:
            found = np.array([simulated(rng, n, gap) for _ in range(place.studies)])
            yield frequency(WHAT, found[:, 0], {"n": n, "gap": gap})
            if gap < max(GAPS):
                yield frequency(WHAT, found[:, 1], {"n": n, "gap": gap}, rules=CHOSEN)


def rates(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Trained runs at four rates."""
    evidence = place.trained("rates").evidence
    what = "Trained runs, seven variants, tuned on three seeds: any `better` or `worse`"
    yield frequency(what, [drawn(rng, evidence) for _ in range(DRAWS)], {"n": 5})


def settings(validation: Mapping[int, Floats]) -> list[list[int]]:
    """Of each side, of whose scores (rates, tuning seeds) these are, the chosen rate and its rivals."""
    near = resolvable_difference([*validation.values()])
    found = []
    for scores in validation.values():
        order = np.argsort(-(means := scores.mean(axis=1)), kind="stable")
        found.append([int(r) for r in order if means[order[0]] - means[r] <= near][: 1 + MAX_RUNNER_UPS])
    return found


def simulated(rng: np.random.Generator, n: int, gap: float) -> tuple[bool, bool]:
    """Whether some variant is told to differ, by the rule and by the chosen settings alone."""
    rates = 0.9 - np.array([0, gap, *FURTHER])[:, None]
    seeds = rng.normal(0, 0.01, TUNING), rng.normal(0, 0.01, n)
    validation = rates + seeds[0] + rng.normal(0, ON_VALIDATION, (SIDES, len(rates), TUNING))
    test = rates + seeds[1] + rng.normal(0, ON_TEST, (SIDES, len(rates), n))
    base, *others = settings(dict(enumerate(validation)))
    said = []
    for side, mine in enumerate(others, 1):

        def against(a: int, b: int, side: int = side) -> Differences:
            return Differences.between(test[side, a], test[0, b], RESOLUTION)

        low = [(Reason("rivals"), against(mine[0], other)) for other in base[1:]]
        high = [(Reason("rivals"), against(other, base[0])) for other in mine[1:]]
        main = against(mine[0], base[0])
        said.append(
            [
                row(one, None, ALPHA / (SIDES - 1)).verdict
                for one in (IntersectionUnion(main, low, high), main)
            ]
        )
    rule, chosen = np.isin(said, ["better", "worse"]).any(axis=0)
    return bool(rule), bool(chosen)


def drawn(rng: np.random.Generator, evidence: Evidence, n: int = 5) -> bool:
    """The same, by the rule, of runs that were trained at several rates; every side has seeds of its own."""
    trials = evidence.trials.pivot(
        index="variant", columns="seed", values=["accuracy", "validation_accuracy"]
    )
    scores = {name: trials[name].to_numpy() for name in ("accuracy", "validation_accuracy")}
    ids = evidence.trials.pivot(index="variant", columns="seed", values="id").to_numpy()
    parts = rng.permutation(ids.shape[1])[: SIDES * (n + TUNING)].reshape(SIDES, -1)
    names = [BASELINE, *(f"again-{i}" for i in range(1, SIDES))]
    found = settings({i: scores["validation_accuracy"][:, part[n:]] for i, part in enumerate(parts)})
    frames, variants = [], []
    for name, part, rates in zip(names, parts, found, strict=True):
        every = {rate: name if rate == rates[0] else f"{name} at {rate}" for rate in rates}
        for rate, key in every.items():
            values = {
                "id": ids[rate, part[:n]],
                "seed": range(n),
                "accuracy": scores["accuracy"][rate, part[:n]],
            }
            frames.append(
                pd.DataFrame(values).assign(
                    variant=key, task=evidence.facts.tasks[0].name, status="completed"
                )
            )
        variants.append(
            VariantFacts(name, {}, {}, rivals={evidence.facts.tasks[0].name: [*every.values()][1:]})
        )
    whole = pd.concat(frames, ignore_index=True)
    facts = replace(evidence.facts, seeds=list(range(n)), variants=variants)
    judged = whole["variant"].isin(names)
    given = replace(evidence, facts=facts, trials=whole[judged], frames={RUNNER_UPS: whole[~judged]})
    return bool(compare(given)["verdict"].isin(["better", "worse"]).any())
