"""Families: of rows and claims, of claims alone by their distinct estimates, and of claims in their order.

`family: all` has M planned rows, and the claims that are about none of them. Over conditions a row is one of a variant,
not of a variant and a task.

`family: claims` judges no rows. M counts the distinct estimates claimed on (unordered sides, task or conditions,
metric), so that several claims on one estimate count once, and a claim on a row counts. A claim that is added later is
judged at 0.05/(all planned rows + all claims).

`family: ordered` judges the claims in the order of the file, each at the full 0.05, until one is not decided; those
after it are not tested (fixed sequence; Maurer, Hothorn and Lehmacher 1995). Supported and refuted both count as
decided, a blocked claim does not. Any false verdict appears in at most 0.0513 of studies; going on past an open claim
errs in 0.25, an order by results in 0.13.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.analysis.judge import DECIDED_CLAIM, Judged
from ablate.analysis.power import ALPHA, POWER, difference_power, smallest
from ablate.core.facts import Claim

OrderedOutcome = Literal["supported", "refuted", "inconclusive", "not_tested"]
SideOnMetric = tuple[str, tuple[str, ...]]
"""The metric, and the variants in alphabetical order."""


@dataclass(frozen=True)
class PlacedClaim:
    """A claim, with the place that it is about: a task, a condition, or several taken together."""

    claim: Claim
    place: str
    """The task or condition or, of a claim over several, how they are taken together."""


@dataclass(frozen=True)
class ClaimedEstimate:
    """A number that claims are about: the sum of some sides less that of others, whichever comes first."""

    place: str
    sums: frozenset[tuple[SideOnMetric, ...]]
    """The sides that are added, and those that are subtracted."""


def estimate_of(placed: PlacedClaim) -> ClaimedEstimate:
    """Returns the estimate that a claim is about, the same for every claim on it."""
    claim = placed.claim
    added = [_side(claim.metric, claim.a)]
    subtracted = [_side(claim.metric, claim.b)]
    if claim.less is not None:
        added.append(_side(claim.less.metric, claim.less.b))
        subtracted.append(_side(claim.less.metric, claim.less.a))
    return ClaimedEstimate(placed.place, frozenset([tuple(sorted(added)), tuple(sorted(subtracted))]))


def estimate_of_row(a: Sequence[str], b: Sequence[str], metric: str, place: str) -> ClaimedEstimate:
    """Returns the estimate that a planned row is about; place: its task, or how conditions are taken together."""
    sides = [(_side(metric, variants),) for variants in (a, b)]
    return ClaimedEstimate(place, frozenset(sides))


def _side(metric: str, variants: Sequence[str]) -> SideOnMetric:
    return metric, tuple(sorted(variants))


def size_of_claims(claims: Iterable[PlacedClaim]) -> int:
    """Returns M of a family of claims alone; 0 without claims, where there is no such family."""
    return len({estimate_of(placed) for placed in claims})


def alpha_of_late_claim(num_rows: int, num_claims: int) -> float:
    """Returns the level of a claim added after results: 0.05 over all planned rows and all claims, it included."""
    return ALPHA / (num_rows + num_claims)


def outcomes_in_order(claims: Sequence[Judged]) -> list[OrderedOutcome]:
    """Returns the outcome of each claim in the declared order, judged at 0.05 until one is not decided.

    claims: each judged at the full level, or at the share of it that its look has.
    """
    outcomes: list[OrderedOutcome] = []
    for judged in claims:
        is_reached = not outcomes or outcomes[-1] in DECIDED_CLAIM
        outcomes.append(judged.outcome if is_reached else "not_tested")
    return outcomes


def seeds_of_family(num_claims: int, effect: float) -> float:
    """Returns the seeds that find each claim of a family with 80 % power; effect: d_z of each."""
    return smallest(lambda n: difference_power(effect, n, ALPHA / num_claims) >= POWER)


def seeds_in_order(num_claims: int, effect: float) -> float:
    """Returns the seeds that find the last of claims in order with 80 % power, those before it being found too.

    effect: d_z of each. Claims that share their noise, as by one baseline, take up to two fewer.
    """
    return smallest(lambda n: difference_power(effect, n) ** num_claims >= POWER)
