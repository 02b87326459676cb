"""How often training diverged. A diverged run is an outcome: it is counted, never dropped."""

from __future__ import annotations

from scipy import special

from ablate.analysis.paired import NAN
from ablate.analysis.power import ALPHA
from ablate.base.wording import exact, share


def clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a rate (Clopper and Pearson 1934, Biometrika 26, 404–413); NaN of no runs.

    Its bounds are the rates under which as many or more, and as few or fewer, each have a probability of 2.5 %.
    """
    if total == 0:
        return NAN, NAN
    low = special.betaincinv(count, total - count + 1, ALPHA / 2) if count else 0.0
    high = special.betaincinv(count + 1, total - count, 1 - ALPHA / 2) if count < total else 1.0
    return float(low), float(high)


def rate(count: int, total: int) -> str:
    """`2 of 5 runs (rate .4, 95 % interval [.05, .85])`."""
    if total == 0:
        return "no runs"
    bounds = "[{}, {}]".format(*(exact(round(bound, 2)) for bound in clopper_pearson(count, total)))
    return f"{share(count, total)} runs (rate {exact(round(count / total, 2))}, 95 % interval {bounds})"
