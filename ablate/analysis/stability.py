"""How steadily each variant trains, against the baseline: how often it diverges, how much a wrong learning rate costs
it, how much its seeds differ. All of it is description: a claim about it is judged, a row is not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ablate.analysis.estimates import clopper_pearson
from ablate.analysis.judge import p_of
from ablate.analysis.measures import Measure, measure_of
from ablate.analysis.paired import NAN, mean_interval
from ablate.analysis.power import ALPHA, sd_interval
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence, Facts, TaskFacts
from ablate.core.feature import derived
from ablate.core.reason import Interval

COLUMNS = (
    *("variant", "baseline", "task", "metric", "kind", "n", "mean_variant", "mean_baseline"),
    *("low_variant", "high_variant", "low_baseline", "high_baseline", "diff", "ci_low", "ci_high"),
    *("p", "reason", "placebo"),
)


def measures(task: TaskFacts, facts: Facts) -> list[Measure]:
    """What variants are described by on a task, in order."""
    return [
        found for name, of in derived().items() if of.described and (found := measure_of(name, task, facts))
    ]


def stability(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `COLUMNS`.

    Of variants that were settled on fewer seeds than others, on these.

    - `kind`: of the metric. `mean_*`: the mean over paired seeds of a `mean`, the rate of a `rate`, the standard
      deviation of a `spread`; `low_*` and `high_*`: its 95 % interval, of t, of Clopper and Pearson, and of chi-square.
    - `diff` is oriented, with its 95 % interval; a rate has none. `p` is that of no difference; `reason` what keeps
      the row from saying anything (`core.reason`).
    """
    facts, runs = evidence.facts, Runs(evidence)
    baseline, *variants = facts.variants
    rows = []
    for variant in variants:
        for task in facts.tasks:
            for measure in measures(task, facts):
                if variant.placebo and measure.derived is not None and measure.derived.estimate is not None:
                    continue  # what is trained or measured beside has no placebo
                names = (variant.name, baseline.name)
                count = int(np.logical_and(*(runs.of(name, task).asked for name in names)).sum())
                place = dict(zip(COLUMNS, (*names, task.name, measure.name, measure.kind), strict=False))
                rows.append(place | {"placebo": variant.placebo} | _row(runs.first(count), measure, names))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(runs: Runs, measure: Measure, names: Sequence[str]) -> dict[str, object]:
    estimate = measure.estimate(runs, [[name] for name in names])
    blocked = [block.reason for block in estimate.blocks if block.wholly]
    if measure.kind == "spread":
        sides = [runs.of(name, measure.task).values(runs.facts.metric) for name in names]
        known = ~np.isnan(sides).any(axis=0)
        described = [_spread(side[known]) for side in sides]
    else:
        c = measure.contrast(runs, [[name] for name in names])
        described = [
            _rate(side[0]) if measure.kind == "rate" else mean_interval(side[0]) for side in (c.a, c.b)
        ]
    (mean, bounds), (base, base_bounds) = described
    shown = estimate.interval(ALPHA) if estimate.n > 1 else None
    p = NAN if estimate.n < 2 or any(reason.code == "incomplete" for reason in blocked) else p_of(estimate)
    return {
        "n": estimate.n,
        "mean_variant": mean,
        "mean_baseline": base,
        **dict(
            zip(
                ("low_variant", "high_variant", "low_baseline", "high_baseline"),
                (*bounds, *base_bounds),
                strict=True,
            )
        ),
        "diff": estimate.mean,
        **dict(zip(("ci_low", "ci_high"), shown or (NAN, NAN), strict=True)),
        "p": p,
        "reason": str(blocked[0]) if blocked else "",
    }


def _rate(values: np.ndarray) -> tuple[float, Interval]:
    n = len(values)
    return (float(values.mean()), clopper_pearson(int(values.sum()), n)) if n else (NAN, (NAN, NAN))


def _spread(values: np.ndarray) -> tuple[float, Interval]:
    sd = float(np.sort(values).std(ddof=1)) * bool(np.ptp(values)) if len(values) > 1 else NAN
    return sd, sd_interval(sd, len(values) - 1) if sd > 0 else (NAN, NAN)
