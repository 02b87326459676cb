"""How steadily each variant trains, against the baseline: how often it diverges, how much a wrong learning rate costs
it, how much its seeds differ. All of it is description: a claim about it is judged, a row is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from ablate.analysis.estimates import clopper_pearson
from ablate.analysis.judge import p_of
from ablate.analysis.measures import Measure, measure_of
from ablate.analysis.paired import NAN, Floats, mean_interval, mean_of, sd_of
from ablate.analysis.power import ALPHA, sd_interval
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence
from ablate.core.feature import derived
from ablate.core.reason import Interval

COLUMNS = (
    *("variant", "baseline", "task", "metric", "kind", "n", "mean_variant", "mean_baseline"),
    *("low_variant", "high_variant", "low_baseline", "high_baseline", "diff", "ci_low", "ci_high"),
    *("p", "reason", "placebo"),
)


def stability(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `COLUMNS`.

    Of variants that were settled on fewer seeds than others, on these.

    - `kind`: of the metric. `mean_*`: the mean over paired seeds of a `mean`, the rate of a `rate`, the standard
      deviation of a `spread`; `low_*` and `high_*`: its 95 % interval, of t, of Clopper and Pearson, and of chi-square.
    - `diff` is oriented, with its 95 % interval; a rate has none. `p` is that of no difference; `reason` what keeps
      the row from saying anything (`core.reason`).
    """
    facts, runs, rows = evidence.facts, Runs(evidence), []
    for variant, task, (name, metric) in product(facts.variants[1:], facts.tasks, derived().items()):
        measure = measure_of(name, task, facts) if metric.described else None
        if measure is None or (variant.placebo and metric.estimate is not None):
            continue  # what is trained or measured beside has no placebo
        names = (variant.name, facts.variants[0].name)
        count = int(np.logical_and(*(runs.of(name, task).asked for name in names)).sum())
        values = _row(runs.first(count), measure, names)
        rows.append((*names, task.name, name, measure.kind, *values, variant.placebo))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(runs: Runs, measure: Measure, names: Sequence[str]) -> tuple[object, ...]:
    """The columns from `n` to `reason`."""
    estimate = measure.estimate(runs, [[name] for name in names])
    blocked = [block.reason for block in estimate.blocks if block.wholly]
    if measure.kind == "spread":
        sides = np.stack([runs.of(name, measure.task).values(runs.facts.metric) for name in names])
        described = [_spread(side) for side in sides[:, ~np.isnan(sides).any(axis=0)]]
    else:
        c = measure.contrast(runs, [[name] for name in names])
        of_one = _rate if measure.kind == "rate" else mean_interval
        described = [of_one(side[0]) for side in (c.a, c.b)]
    (mean, bounds), (base, base_bounds) = described
    unknown = any(reason.code == "incomplete" for reason in blocked)
    return (
        *(estimate.n, mean, base, *bounds, *base_bounds),
        *(estimate.mean, *(estimate.interval(ALPHA) or (NAN, NAN))),
        NAN if unknown else p_of(estimate),
        str(blocked[0]) if blocked else "",
    )


def _rate(values: Floats) -> tuple[float, Interval]:
    return mean_of(values), clopper_pearson(int(values.sum()), len(values))


def _spread(values: Floats) -> tuple[float, Interval]:
    sd = sd_of(values)
    return sd, sd_interval(sd, len(values) - 1) if sd > 0 else (NAN, NAN)
