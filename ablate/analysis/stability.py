"""How steadily each variant trains beside the baseline: divergence, spread over seeds, sensitivity to the rate.

All of it is description: a claim about stability is judged, a row is not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from ablate.analysis.estimates import clopper_pearson
from ablate.analysis.judge import p_of
from ablate.analysis.measure import Measure
from ablate.analysis.measures import ESTIMATORS, measure_of
from ablate.analysis.paired import NAN, Floats, mean_interval, mean_of, sd_of
from ablate.analysis.power import ALPHA, sd_interval
from ablate.analysis.runs import Runs, runs_of
from ablate.core.derived import DERIVED, MetricKind
from ablate.core.facts import Evidence, VariantFacts
from ablate.core.reason import Interval
from ablate.core.rows import frame_of_rows


@dataclass(frozen=True)
class StabilityRow:
    """The steadiness of a variant on one task by one measure, beside the baseline's.

    The `mean_*` are means over paired seeds where `kind` is `mean`, rates (0 to 1) where it is `rate`, and standard
    deviations where it is `spread`; the `low_*` and `high_*` are the ends of their 95 % intervals, of t, of Clopper and
    Pearson, and of chi-square. NaN where a number is not known.
    """

    variant: str
    baseline: str
    task: str
    metric: str
    """The measure: `divergence_rate`, `seed_spread` or `lr_sensitivity`."""
    kind: MetricKind
    """The kind of the measure: `mean`, `rate` or `spread`."""
    n: int
    """The number of paired seeds."""
    mean_variant: float
    mean_baseline: float
    low_variant: float
    high_variant: float
    low_baseline: float
    high_baseline: float
    diff: float
    """The mean difference, oriented so that above 0 is better."""
    ci_low: float
    """The lower end of its 95 % interval; a rate has none."""
    ci_high: float
    """The upper end of its 95 % interval; a rate has none."""
    p: float
    """The p of no difference, two-sided; NaN where runs are missing."""
    reason: str
    """What keeps the row from saying anything, as `core.reason` writes it; empty where nothing does."""
    placebo: bool
    """Whether the variant is the placebo."""


def stability(evidence: Evidence) -> pd.DataFrame:
    """Returns a table of `StabilityRow`, one a variant, task and measure, in the order of the study.

    A variant that was settled on fewer seeds than others is described on these.
    """
    facts = evidence.facts
    runs = runs_of(evidence)
    rows: list[StabilityRow] = []
    if not facts.replication.says_seeds:
        # It is told of pairs alone.
        return frame_of_rows(rows, StabilityRow)
    for variant, task, name in product(facts.variants[1:], facts.tasks, DERIVED):
        if not DERIVED[name].described:
            continue
        if not all(facts.is_planned(side.name, task.name) for side in (facts.variants[0], variant)):
            continue
        # What is trained or measured beside the runs has no placebo.
        if variant.placebo and ESTIMATORS[name].estimate is not None:
            continue
        measure = measure_of(name, task, facts)
        if measure is not None:
            rows.append(_row(runs, measure, variant))
    return frame_of_rows(rows, StabilityRow)


def _row(runs: Runs, measure: Measure, variant: VariantFacts) -> StabilityRow:
    """Returns the row of a variant, by one measure."""
    baseline = runs.facts.variants[0].name
    estimate = measure.estimate(runs, [[variant.name], [baseline]])
    obstacles = [block.reason for block in estimate.blocks if block.wholly]
    incomplete = any(reason.code == "incomplete" for reason in obstacles)
    of_variant, of_baseline = _described(runs, measure, (variant.name, baseline))
    mean_variant, (low_variant, high_variant) = of_variant
    mean_baseline, (low_baseline, high_baseline) = of_baseline
    ci_low, ci_high = estimate.interval(ALPHA) or (NAN, NAN)
    return StabilityRow(
        variant=variant.name,
        baseline=baseline,
        task=measure.task.name,
        metric=measure.name,
        kind=measure.kind,
        n=estimate.n,
        mean_variant=mean_variant,
        mean_baseline=mean_baseline,
        low_variant=low_variant,
        high_variant=high_variant,
        low_baseline=low_baseline,
        high_baseline=high_baseline,
        diff=estimate.mean,
        ci_low=ci_low,
        ci_high=ci_high,
        p=NAN if incomplete else p_of(estimate),
        reason=str(obstacles[0]) if obstacles else "",
        placebo=variant.placebo,
    )


def _described(runs: Runs, measure: Measure, names: Sequence[str]) -> list[tuple[float, Interval]]:
    """Returns the mean, rate or standard deviation of each of two variants on paired seeds, with its interval."""
    if measure.kind == "spread":
        values = np.stack([runs.of(name, measure.task).values(runs.facts.metric) for name in names])
        paired = values[:, ~np.isnan(values).any(axis=0)]
        return [_spread(of_variant) for of_variant in paired]

    contrast = measure.contrast(runs, [[name] for name in names])
    describe = _rate if measure.kind == "rate" else mean_interval
    # Each side is a single variant.
    return [describe(contrast.a[0]), describe(contrast.b[0])]


def _rate(values: Floats) -> tuple[float, Interval]:
    """Returns the rate of values that are 0 or 1, with its 95 % interval."""
    return mean_of(values), clopper_pearson(int(values.sum()), len(values))


def _spread(values: Floats) -> tuple[float, Interval]:
    """Returns the standard deviation, with its 95 % interval, which is NaN where values do not differ."""
    sd = sd_of(values)
    if sd > 0:
        return sd, sd_interval(sd, len(values) - 1)
    return sd, (NAN, NAN)
