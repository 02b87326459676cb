"""How steadily each variant trains, against the baseline: how often it diverges, how much a wrong learning rate costs
it, and how much its seeds differ.

All of it is exploratory: outside the planned comparisons and the claims, and judged at .05 each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from ablate.analysis.by_mean import obstacle
from ablate.analysis.by_rate import Rates
from ablate.analysis.by_spread import Spreads
from ablate.analysis.contrast import Contrast
from ablate.analysis.measures import Measure, measure_of
from ablate.analysis.paired import NAN, Interval, mean_interval
from ablate.analysis.power import ALPHA
from ablate.analysis.rates import clopper_pearson
from ablate.analysis.runs import Runs, Side
from ablate.analysis.verdicts import Verdict, judge
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.derived import Kind
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts, TaskFacts

Row = dict[str, object]
NUMBERS = (
    *("n", "mean_variant", "mean_baseline", "low_variant", "high_variant", "low_baseline", "high_baseline"),
    *("diff", "ci_low", "ci_high", "p", "verdict"),
)
COLUMNS = ("variant", "baseline", "task", "metric", "kind", *NUMBERS, "exploratory", "placebo", "note")


def measures(task: TaskFacts, facts: Facts) -> list[Measure]:
    """What variants are compared by on a task, in order."""
    names = ("divergence_rate", "lr_sensitivity", "seed_spread")
    return [found for name in names if (found := measure_of(name, task, facts))]


def stability(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and metric, in the order of the study, with `COLUMNS`.

    Of variants that were settled on fewer seeds than others, on these.

    - `kind`: of the metric. `mean_*`: the mean over paired seeds of a `mean`, the rate of a `rate`, the standard
      deviation of a `spread`; `low_*` and `high_*`: its 95 % interval, of t, of Clopper and Pearson, and of chi-square.
    - `diff` and `ci_*` as in `compare`; tests of rates and of spreads have no interval. `p` is that of no difference.
    - `verdict`: as of comparisons; `degenerate` where both sides do the same on every seed.
    """
    facts, runs = evidence.facts, Runs(evidence)
    baseline, *variants = facts.variants
    rows = []
    for variant in variants:
        for task in facts.tasks:
            for measure in measures(task, facts):
                a, b = (measure.side(runs, name) for name in (variant.name, baseline.name))
                if measure.name == "lr_sensitivity" and variant.placebo:
                    continue  # it is not trained over the grid
                if count := int((~(a.asked & b.asked)).sum()):
                    fewer = runs.first(len(facts.seeds) - count)
                    a, b = (measure.side(fewer, name) for name in (variant.name, baseline.name))
                place: Row = {"variant": variant.name, "baseline": baseline.name, "task": task.name}
                place |= {"metric": measure.name, "kind": measure.kind, "placebo": variant.placebo}
                rows.append(place | _ROWS[measure.kind](measure, a, b) | {"exploratory": True})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _by_rate(measure: Measure, a: Side, b: Side) -> Row:
    rates = Rates(a, b, measure.name)
    counts = rates.count(a), rates.count(b)
    means = [events / of if of else NAN for events, of in counts]
    p = NAN if rates.missing or not rates.n else rates.p
    verdict: Verdict = "better" if rates.diff > 0 else "worse"
    if rates.missing:
        verdict = "incomplete"
    elif rates.only == (0, 0):
        verdict = "degenerate"
    elif p > ALPHA:
        verdict = "inconclusive"
    note = ""
    if not rates.missing and not any(events for events, _ in counts):
        most = wording.exact(round(clopper_pearson(0, rates.n)[1], 2))
        note = f"no run {rates.event}; a rate of up to {most} is not excluded"
    bounds = [clopper_pearson(*count) for count in counts]
    return _row(rates.n, means, bounds, rates.diff, (NAN, NAN), p, verdict, note)


def _by_mean(measure: Measure, a: Side, b: Side) -> Row:
    c = Contrast.of([a], [b], measure.name)
    found = judge(c)
    beats = Claim("", "beats", measure.name, [a.variant], [b.variant], 0.0)
    note = obstacle(c, beats, 0.0, [a, b], ALPHA)
    verdict: Verdict = "unstable" if a.obstacle or b.obstacle else found.verdict
    (mean, bounds), (base_mean, base_bounds) = (mean_interval(side[0]) for side in (c.a, c.b))
    d = c.differences
    note = note.removeprefix(f"{verdict}: ")
    return _row(
        c.n,
        [mean, base_mean],
        [bounds, base_bounds],
        d.mean,
        (0.0, 0.0) if d.all_zero and c.n > 1 else d.interval(),
        found.p,
        verdict,
        note,
    )


def _by_spread(measure: Measure, a: Side, b: Side) -> Row:
    spreads = Spreads(a, b)
    verdict, note = spreads.obstacle
    p = NAN if note else spreads.p
    if p <= ALPHA:
        verdict = "better" if spreads.diff > 0 else "worse"
    return _row(spreads.n, spreads.sds, spreads.intervals, spreads.diff, (NAN, NAN), p, verdict, note)


_ROWS: dict[Kind, Callable[[Measure, Side, Side], Row]] = {
    "rate": _by_rate,
    "mean": _by_mean,
    "spread": _by_spread,
}


def _row(
    n: int,
    means: Sequence[float],
    bounds: Sequence[Interval],
    diff: float,
    interval: Interval,
    p: float,
    verdict: Verdict,
    note: str,
) -> Row:
    """What the kinds of metrics have in common; of two sides, the variant comes first."""
    values = (n, *means, *bounds[0], *bounds[1], diff, *interval, p, verdict)
    return dict(zip(NUMBERS, values, strict=True)) | {"note": note}
