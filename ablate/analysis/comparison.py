"""One comparison of a study: its pairs, what it answers for, its verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ablate.analysis.contrast import Contrast
from ablate.analysis.looks import Look
from ablate.analysis.paired import NAN, seeds_needed
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Side
from ablate.analysis.verdicts import DECIDED, Judgement, judge
from ablate.core.facts import TaskFacts, VariantFacts


@dataclass(frozen=True)
class Comparison:
    """A variant against the baseline on one metric of one task."""

    variant: VariantFacts
    task: TaskFacts
    metric: str
    a: Side
    "The runs of the variant."
    b: Side
    "The runs of the baseline."
    confirmatory: bool
    "Whether it belongs to the family of planned comparisons."
    m: int
    "The size of that family; 1 outside it."
    margin: float | None
    suspect: bool
    "Whether the runs of a graded task fall into groups."
    look: Look
    "At the runs of whose seeds it is."
    before: Comparison | None = None
    "The same at the look before."
    unfinished: str = ""
    "Why the variant may not have learned all that it would, or nothing."

    @cached_property
    def contrast(self) -> Contrast:
        """The pairs."""
        return Contrast.of([self.a], [self.b], self.metric)

    @cached_property
    def judgement(self) -> Judgement:
        """The verdict with its numbers."""
        before = None if self.before is None else self.before.judgement
        return judge(self.contrast, self.m, self.margin, self.suspect, self.look.weight, before)

    @property
    def settled(self) -> bool:
        """Whether further looks would change nothing, or could decide nothing."""
        return self.judgement.verdict in (*DECIDED, "saturated", "degenerate")

    @property
    def open(self) -> bool:
        """Whether more seeds may settle it: not where a trial failed or is missing, which no seed makes good."""
        return not self.settled and self.judgement.verdict != "incomplete"

    @property
    def level(self) -> float:
        """α/m, or the share of it that the look spends."""
        return self.alpha / self.m

    @property
    def alpha(self) -> float:
        """α, or the share of it that the look spends: the level of an interval that holds wherever looks end."""
        return ALPHA * self.look.weight

    @cached_property
    def detectable(self) -> tuple[float, float, float]:
        """The difference detected with 80 % power at α/m, and that at both ends of the 95 % interval of s_d.

        Infinite where the metric can show none so large.
        """
        d, span = self.contrast.differences, self.contrast.metric.span
        mde, low, high = (
            math.inf if span is not None and x > span else x
            for x in (d.mde(self.level), *d.mde_range(self.level))
        )
        return mde, low, high

    @property
    def within_noise(self) -> bool:
        """Whether a planned comparison showed neither side to be better, by less than its noise floor.

        That is the difference that is detected with 80 % power. Where rates decide, what they leave open is below the
        failure rate that they detect.
        """
        if not self.confirmatory or self.judgement.verdict not in ("equivalent", "inconclusive"):
            return False
        return self.contrast.by_rate or abs(self.contrast.differences.mean) < self.detectable[0]

    @cached_property
    def seeds_needed(self) -> float:
        """Of a comparison that t has left open; else NaN, as where no run has solved an all-or-nothing task."""
        unsolved = self.task.outcome == "all_or_nothing" and self.contrast.solved is not None
        if self.judgement.verdict != "inconclusive" or self.contrast.by_rate or unsolved:
            return NAN
        return seeds_needed(self.contrast.differences, self.m, self.margin)
