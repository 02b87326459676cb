"""A claim about a rate over seeds, on one task: the seeds on which one side alone has the better outcome decide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ablate.analysis.grounds import Grounds
from ablate.analysis.paired import NAN, Flags
from ablate.analysis.power import ALPHA
from ablate.analysis.rates import rate, rate_p, rate_p_equivalent
from ablate.analysis.runs import Runs, Side
from ablate.base import wording
from ablate.core.claim import Claim
from ablate.core.derived import DERIVED
from ablate.core.metric import sign


@dataclass(frozen=True)
class Rates:
    """The rates of two variants over shared seeds."""

    a: Side
    b: Side
    name: str
    "Of the metric in `DERIVED`."

    @cached_property
    def known(self) -> Flags:
        """The planned seeds on which both sides have an outcome."""
        return self.a.ended & self.b.ended

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.known.sum())

    @property
    def missing(self) -> int:
        """Planned seeds on which a run has no outcome."""
        return int((~self.known).sum())

    @cached_property
    def only(self) -> tuple[int, int]:
        """The seeds on which only A, and only B, has the better outcome."""
        better = sign(DERIVED[self.name].metric)
        d = better * (self.a.values(self.name) - self.b.values(self.name))[self.known]
        return int((d > 0).sum()), int((d < 0).sum())

    @property
    def diff(self) -> float:
        """Of the two rates, oriented; NaN without pairs."""
        return (self.only[0] - self.only[1]) / self.n if self.n else NAN

    @property
    def p(self) -> float:
        """Two-sided p of no difference."""
        return rate_p(*self.only, self.n)

    def count(self, side: Side) -> tuple[int, int]:
        """The runs of a side with the event, and all of its runs in pairs."""
        values = side.values(self.name)[self.known]
        return int(values.sum()), len(values)

    @property
    def event(self) -> str:
        """What has happened to a run that counts 1."""
        return DERIVED[self.name].event

    @property
    def words(self) -> str:
        """Both rates with their exact intervals."""
        found = [f"{rate(*self.count(side))} of {side.variant}" for side in (self.a, self.b)]
        return f"{self.event}: {wording.joined(found)}"


def by_rate(runs: Runs, claim: Claim, a: list[Side], b: list[Side], level: float = ALPHA) -> Grounds:
    """The grounds for a claim about a derived metric that is 0 or 1 on each seed; `level` is that of the look."""
    rates = Rates(a[0], b[0], claim.metric)
    supported, refuted, reading = 1.0, 1.0, _obstacle(rates, claim, [*a, *b])
    if not reading:
        supported, refuted = _p_values(rates, claim)
        reading = f"{rates.words}; {_reading(rates, claim, supported, level)}"
    several = len(a) + len(b) > 2
    diff = NAN if several else rates.diff
    missing = int((~np.all([side.ended for side in (*a, *b)], axis=0)).sum())
    return Grounds(
        a[0].task.name, rates.n, missing, diff, supported, refuted, reading, lambda alpha: (NAN, NAN)
    )


def _obstacle(rates: Rates, claim: Claim, sides: list[Side]) -> str:
    planned = wording.counted(len(sides[0].status), "planned seed")
    if len(sides) > 2:
        return "a side is several variants, whose seeds cannot be paired: state the claim on single variants"
    if rates.missing:
        return f"incomplete: {rates.n} of {planned} with a usable pair"
    if claim.kind == "beats" and claim.by:
        return f"{rates.words}; the test of two rates shows a difference, not its size: leave out `by`"
    return ""


def _p_values(rates: Rates, claim: Claim) -> tuple[float, float]:
    """The p at which a claim is supported and that at which it is refuted."""
    a, b = rates.only
    if claim.kind == "beats":
        return (rates.p, 1.0) if a > b else (1.0, rates.p)
    if claim.kind == "matches":
        return rate_p_equivalent(a, b, rates.n, claim.by), 1.0
    return rate_p_equivalent(0, b, rates.n, claim.by), 1.0


def _reading(rates: Rates, claim: Claim, supported: float, level: float) -> str:
    """The evidence that decides, in words."""
    a, b = rates.only
    if claim.kind == "beats":
        return f"better by one side alone on {a} and {b} of {rates.n} seeds, {wording.p_value(rates.p)}"
    tells = "below" if supported <= level else "not shown to be below"
    x = wording.exact(claim.by)
    if claim.kind == "matches":
        return f"one side alone is better on {a} and {b} of {rates.n} seeds: shares {tells} {x}"
    return f"worse on {b} of {rates.n} seeds alone: a share {tells} {x}"
