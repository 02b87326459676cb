"""Real trainings of one configuration, as fictitious variants: how often is one called better or worse than another?

A/A: 2n of the baseline's runs, drawn at random and paired at random. Placebo: n seeds, each with the baseline's run and
that under other initialisation and dropout streams, which shares its data; either may be called the variant, since the
two have one distribution. So no difference is the truth of every draw, whatever the runs are. Where all seeds share
their test examples this holds too: the examples are the same on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ablate.analysis.compare import compare
from ablate.core.facts import BASELINE, Evidence, VariantFacts
from ablate.core.provenance import Planned

from .check import Check, Place, frequency

if TYPE_CHECKING:
    from ablate.commands._results import Results

TASKS = ("digits", "reverse")
SEEDS = (5, 10)
LOOKS = (5, 10, 15, 20)
BLOCK = 5
"""Seeds of a study whose placebo the whole pipeline judges."""
MINIMUM = 40


def runs(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Fictitious variants of each task, through `compare`."""
    for task in TASKS:
        evidence = _slim(place.trained(task).evidence)
        count = float(len(evidence.facts.seeds))
        yield Check("Trained runs of one configuration, at least 40", {"task": task}, count, MINIMUM, np.inf)
        drawn = [compare(fictitious(rng, evidence, "A/A", LOOKS[-1], LOOKS)) for _ in range(place.draws)]
        verdicts = pd.concat(drawn).query("not exploratory")["verdict"]
        what = "Trained runs, A/A, looks at 5, 10, 15, 20 seeds: `better` or `worse`"
        yield frequency(what, verdicts.isin(["better", "worse"]), {"task": task})
        for kind in ("A/A", "placebo"):
            for n in SEEDS:
                drawn = [compare(fictitious(rng, evidence, kind, n)) for _ in range(place.draws)]
                for metric, rows in pd.concat(drawn).groupby("metric", sort=False):
                    setting = {"task": task, "metric": str(metric), "n": n}
                    # Of other metrics, which have no verdict, whether the interval leaves 0 out.
                    wrong = (rows["ci_low"] > 0) | (rows["ci_high"] < 0)
                    yield frequency(
                        f"Trained runs, {kind}: `better` or `worse`", wrong, setting, exactly=True
                    )


def placebos(rng: np.random.Generator, place: Place) -> Iterator[Check]:
    """Studies with `placebo: on` through `ablate run`: how many call it better or worse."""
    verdicts: dict[str, list[str]] = {"five": [], "all": []}
    for task in TASKS:
        whole = place.trained(task)
        seeds = whole.evidence.facts.seeds
        blocks = [tuple(seeds[start : start + BLOCK]) for start in range(0, len(seeds), BLOCK)]
        verdicts["all"].append(_of_placebo(whole))
        verdicts["five"] += [_of_placebo(place.trained(task, block)) for block in blocks]
    for name, found in verdicts.items():
        wrong = np.isin(found, ["better", "worse"])
        yield frequency("Placebos through the whole pipeline: `better` or `worse`", wrong, {"seeds": name})


def _of_placebo(results: Results) -> str:
    placebos = {variant.name for variant in results.evidence.facts.variants if variant.placebo}
    rows = results.comparisons
    rows = rows[rows["variant"].isin(placebos) & ~rows["exploratory"]]
    return str(rows["verdict"].iloc[0])


def _slim(evidence: Evidence) -> Evidence:
    """Without what no comparison at the last step needs."""
    metrics = [name for task in evidence.facts.tasks for name in task.metrics]
    columns = ["id", "variant", "task", "seed", "status", "reason", *metrics]
    return replace(evidence, trials=evidence.trials[columns], curves=evidence.curves[:0])


def fictitious(
    rng: np.random.Generator, evidence: Evidence, kind: str, n: int, looks: Sequence[int] = ()
) -> Evidence:
    """A study of n seeds, with or without looks, whose one variant is the baseline again."""
    facts, trials = evidence.facts, evidence.trials
    baseline, placebo = (trials[trials["variant"] == v.name].sort_values("seed") for v in facts.variants)
    order = rng.permutation(len(baseline))
    sides = [baseline.iloc[order[:n]], baseline.iloc[order[n : 2 * n]]]
    if kind == "placebo":
        pairs = np.array([order[:n], len(baseline) + order[:n]])
        sides = [pd.concat([baseline, placebo]).iloc[rows] for rows in rng.permuted(pairs, axis=0)]
    names = (BASELINE, "again")
    rows = [side.assign(variant=name, seed=range(n)) for name, side in zip(names, sides, strict=True)]
    variants = [facts.variants[0], VariantFacts(names[1], {}, {})]
    known = replace(facts, seeds=list(range(n)), provenance=Planned(looks=list(looks)), variants=variants)
    return replace(
        evidence, facts=known, trials=pd.concat(rows, ignore_index=True), curves=evidence.curves[:0]
    )
