"""A claim as it was judged: at each place that it is about, and at all of them together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import assert_never

from ablate.analysis.agreeing import Estimated, binding_resolution, lacks_pairs, main_estimate
from ablate.analysis.claim_row import ClaimRow
from ablate.analysis.contrast import unseen
from ablate.analysis.judge import Judged
from ablate.analysis.looks import Look
from ablate.analysis.over_conditions import EveryClaim, claim_in_every
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.power import ALPHA
from ablate.analysis.seeds_to_settle import SettlingTest, with_needed_seeds_of_claim
from ablate.core.facts import Claim, ClaimKind, is_likeness
from ablate.core.improving_side import ImprovingSide
from ablate.core.reason import Reason
from ablate.core.rows import list_as_text
from ablate.core.treatment import Treatment
from ablate.core.unequal_run import UnequalRun

RUNS = ("seeds", "folds", "runs")
"""The units of estimates (`Differences.unit`) that are trainings: some may fail, though none was seen to."""


@dataclass(frozen=True)
class ClaimAt:
    """The judgement of a claim by one estimate at one look: on a task, or over conditions."""

    place: str
    """The task or, of several, how they are taken together."""
    tasks: Sequence[str]
    estimate: Estimated
    x: float
    """The number in the claim, in the units of the estimate."""
    judged: Judged
    treatment: Treatment | None
    """The first difference in how the sides were treated; None where they were alike."""
    unequal_runs: Sequence[UnequalRun] = ()
    """The runs that ended before the others of their variant, or after them."""
    improving: Sequence[ImprovingSide] = ()
    """The variants that were still improving when training ended."""
    is_seedless: bool = False
    """Whether more seeds would show nothing new."""
    must_agree: tuple[bool, bool] = (False, False)
    """As `Judged.must_agree`; both where the estimate adds the difference on some tasks and subtracts it on others."""
    unit: float = 1.0
    """One unit of the estimate, in the unit that is shown."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim at the look that decides it, else at the last of its runs."""

    claim: Claim
    look: Look
    places: Sequence[ClaimAt]
    plan: str
    """The mark of its variants in a plan that was changed after results; see `PlanChanges.mark`."""
    measured: bool
    """Whether the estimates are logs of ratios, shown as shares.

    The processes of a measurement are looked at once, whatever seeds do.
    """
    is_reached: bool = True
    """Whether the claim gets a verdict; where claims are in order, whether all before it are decided."""

    @cached_property
    def _in_every(self) -> EveryClaim | None:
        """The judgement at all places together; None where no task can tell it."""
        by_place = {at.place: at.judged for at in self.places}
        return claim_in_every(by_place) if by_place else None

    @property
    def judged(self) -> Judged:
        """The judgement at all places together, whether or not it is reached."""
        if self._in_every is None:
            return Judged(1.0, 1.0, ALPHA, Reason("unknown"))
        return self._in_every.judged

    @property
    def deciding_places(self) -> list[ClaimAt]:
        """The places whose own outcome is that of all together.

        They are every place of a supported claim, those that refute a refuted one, and the open ones of an open one.
        Each has the whole level, and not its share among the places.
        """
        return [at for at in self.places if at.judged.outcome == self.judged.outcome]

    @property
    def level(self) -> float:
        """The level at which the claim is judged, and of the interval of `row`; NaN where no task can tell it."""
        return 1 - self.judged.alpha if self.places else NAN

    @property
    def settled(self) -> bool:
        """True where the numbers decide the claim at this look, whether or not it is reached."""
        return self.judged.outcome != "inconclusive"

    @property
    def decided(self) -> bool:
        """True where the claim is supported or refuted at this look."""
        return self.is_reached and self.settled

    @property
    def open(self) -> bool:
        """True where more seeds may decide the claim: some task can tell it, and no trial failed or is missing."""
        if self.settled or self.measured or not self.places:
            return False
        if lacks_pairs(at.estimate for at in self.places):
            return False
        # As where a run at a runner-up is missing, which the estimates do not show.
        reasons = [at.judged.reason for at in self.places]
        return not any(reason is not None and reason.code == "incomplete" for reason in reasons)

    def row(self) -> ClaimRow:
        """Returns the row of the table, with the numbers of the task that decides the claim, and marks of all tasks."""
        claim = self.claim
        row = ClaimRow(
            claim=claim.text,
            hash=claim.hash,
            declared=claim.declared,
            exploratory=claim.exploratory,
            metric=claim.metric,
            plan=self.plan,
        )
        if self._in_every is None:
            return row
        (at,) = [at for at in self.places if at.place == self._in_every.deciding]
        diff, ci_low, ci_high = self._shown_difference(at)
        return replace(
            row,
            verdict=self.judged.outcome if self.is_reached else "inconclusive",
            diff=diff,
            ci_low=ci_low,
            ci_high=ci_high,
            n=at.estimate.n,
            reason=str(self._reason(at) or ""),
            task=at.place,
            treatment=str(self._treatment or ""),
            resolution=binding_resolution(at.estimate) * at.unit,
            unequal_runs=list_as_text(self._unequal_runs),
            improving=list_as_text(self._improving),
        )

    def _shown_difference(self, at: ClaimAt) -> tuple[float, float, float]:
        """Returns the difference at a place and both ends of its interval, NaN where it has none, as tables show them.

        Of what is measured they are shares, not logs of ratios.
        """

        def shown(value: float) -> float:
            """Returns a value of the estimate as tables show it."""
            return math.expm1(value * at.unit) if self.measured else value * at.unit

        low, high = at.estimate.interval(at.judged.alpha) or (NAN, NAN)
        return shown(at.estimate.mean), shown(low), shown(high)

    @property
    def _treatment(self) -> Treatment | None:
        """The first difference in how the sides were treated at some place; None where they were alike."""
        return next(filter(None, [at.treatment for at in self.places]), None)

    @property
    def _unequal_runs(self) -> list[UnequalRun]:
        """The runs, at all places, that trained for another length than the others of their variant."""
        unequal_runs: list[UnequalRun] = []
        for at in self.places:
            unequal_runs += at.unequal_runs
        return [*dict.fromkeys(unequal_runs)]

    @property
    def _improving(self) -> list[ImprovingSide]:
        """The variants, at all places, that were still improving when training ended."""
        improving: list[ImprovingSide] = []
        for at in self.places:
            improving += at.improving
        return [*dict.fromkeys(improving)]

    def rows_in_conditions(self) -> list[ClaimRow]:
        """Returns a row for each condition that the claim is judged in, or one where a single number decides it."""
        return [replace(self, places=[at]).row() for at in self.places]

    def _reason(self, at: ClaimAt) -> Reason | None:
        """Returns the reason that the row of the claim shows; None where there is nothing to say.

        That is why an open claim is open, with the seeds that would settle it, or the caveat of a decided one. at: the
        place that decides.
        """
        if not self.is_reached:
            return Reason("not_tested")
        if self.decided:
            return self._caveat(at.estimate)
        # Of several conditions one may decide alone, and not at its share of the level.
        why = at.judged.reason or Reason("open")
        if self.measured:
            return why
        if at.is_seedless and why == Reason("open"):
            return Reason("seedless")
        undecided = [one for one in self.places if one.judged.outcome != "supported"]
        return with_needed_seeds_of_claim(why, [self._settling_test(one) for one in undecided])

    def _caveat(self, estimate: Estimated) -> Reason | None:
        """Returns the caveat of a decided claim: the share of runs that may fail unseen, if it is a supported likeness
        over trainings; else None.
        """
        supported = self.judged.outcome == "supported"
        if supported and is_likeness(self.claim.kind) and not self.measured and _repeats_runs(estimate):
            return Reason("unseen", {"failures": unseen(estimate.n)})
        return None

    def _settling_test(self, at: ClaimAt) -> SettlingTest:
        """Returns the test that would settle the claim at a place, if the true difference is the observed one.

        A refutation at one of several places is tested at α over their number. What blocks an estimate wholly stops
        support and refutation; any other block stops only the support of a likeness.
        """
        alpha_to_refute = at.judged.alpha / len(self.places)
        margin, other_than, supports = _settling_bounds(self.claim.kind, at.x, at.estimate.mean)
        needs_likeness = supports and is_likeness(self.claim.kind)
        obstacles = [block.reason for block in at.estimate.blocks if block.wholly or needs_likeness]
        return SettlingTest(
            at.estimate,
            at.judged.alpha if supports else alpha_to_refute,
            margin,
            other_than,
            supports,
            obstacle=obstacles[0] if obstacles else None,
        )


def _repeats_runs(estimate: Estimated) -> bool:
    """Returns whether an estimate is a mean over trainings, and not over examples or processes."""
    differences = main_estimate(estimate)
    return isinstance(differences, Differences) and differences.unit in RUNS


def _settling_bounds(kind: ClaimKind, x: float, mean: float) -> tuple[float | None, float | None, bool]:
    """Returns `margin`, `other_than` and `supports` of the test that settles a claim, as `SettlingTest` has them.

    One of the first two is None. x: the number in the claim. mean: the observed difference. All are in the units of the
    estimate.
    """
    match kind:
        case "beats" | "interaction" | "gains":
            return None, x, mean > x
        case "matches" if abs(mean) < x:
            return x, None, True
        case "matches":
            return None, math.copysign(x, mean), False
        case "does_not_lose":
            return None, -x, mean > -x
        case _:
            assert_never(kind)
