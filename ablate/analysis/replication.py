"""How the verdicts of studies fare when the studies are repeated on fresh seeds.

Of a comparison that was judged twice, z is the difference of both estimates over its standard error:

    z = (d − d′) / √(se² + se′²)

se is the largest standard error of the estimate or, where runner-up settings must agree, half the width of the interval
that holds them, over the quantile of t at n − 1. If both runs estimate one number, and only noise differs, the mean of
|z| is about √(2/π) = 0.80. Runner-up settings and test examples make se larger than seeds alone would, and |z| smaller.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ablate.analysis.agreeing import Estimated
from ablate.analysis.compare import Comparison, primary_comparison
from ablate.analysis.family import is_judged, planned_pairs
from ablate.analysis.judge import Verdict, row
from ablate.analysis.over_conditions import InCondition
from ablate.analysis.paired import NAN, Differences
from ablate.analysis.power import t_quantile
from ablate.analysis.runs import runs_of
from ablate.core.facts import Evidence

EXPECTED_Z = math.sqrt(2 / math.pi)
"""The mean of |z| where both runs estimate one number, of normal estimates with known errors."""


@dataclass(frozen=True)
class ConditionVerdict:
    """The verdict of a planned comparison in one condition, or on the one task that a study has."""

    variant: str
    baseline: str
    """The other side of the comparison: a variant, or the baseline."""
    condition: str
    verdict: Verdict
    diff: float
    """Mean difference, oriented, in the units of the estimate; NaN without pairs."""
    se: float
    """Standard error of `diff`; NaN where there is none."""

    @property
    def comparison(self) -> tuple[str, str, str]:
        """The variant, what it is compared with, and the condition: the same on fresh seeds."""
        return self.variant, self.baseline, self.condition


@dataclass(frozen=True)
class RepeatedVerdict:
    """The verdicts of a comparison in one condition on the seeds of the study, and on fresh ones."""

    first: ConditionVerdict
    again: ConditionVerdict

    @property
    def is_difference(self) -> bool:
        """True where the first run found one side better."""
        return self.first.verdict in ("better", "worse")

    @property
    def is_equivalence(self) -> bool:
        """True where the first run found both sides equivalent."""
        return self.first.verdict == "equivalent"

    @property
    def repeats(self) -> bool:
        """True where both runs give the same verdict."""
        return self.first.verdict == self.again.verdict

    @property
    def keeps_sign(self) -> bool:
        """True where both runs find the same side better, however clearly."""
        return self.first.diff * self.again.diff > 0

    @property
    def ratio(self) -> float:
        """The difference on fresh seeds over the first one."""
        return self.again.diff / self.first.diff

    @property
    def z(self) -> float:
        """The distance of both estimates in standard errors; NaN where an error is not known."""
        error = math.hypot(self.first.se, self.again.se)
        return (self.first.diff - self.again.diff) / error if error > 0 else NAN


@dataclass(frozen=True)
class ReplicationStatistics:
    """How the verdicts of many studies fared on fresh seeds."""

    differences: int
    """Comparisons of which the first run found one side better, and that were repeated."""
    differences_repeated: int
    """Those of them whose verdict the second run repeats."""
    signs_kept: int
    """Those of them of which the second run finds the same side better, however clearly."""
    equivalences: int
    """Comparisons of which the first run found both sides equivalent, and that were repeated."""
    equivalences_repeated: int
    """Those of them whose verdict the second run repeats."""
    median_ratio: float
    """Median over `differences` of the second difference over the first; NaN without any."""
    mean_z: float
    """Mean of |z| over all comparisons that were repeated and have errors; NaN without any."""
    num_z: int
    """The number of comparisons of which `mean_z` is the mean."""


def replication_statistics(repeated: Sequence[RepeatedVerdict]) -> ReplicationStatistics:
    """Returns how the verdicts of comparisons that were judged twice fared."""
    differences = [one for one in repeated if one.is_difference]
    equivalences = [one for one in repeated if one.is_equivalence]
    distances = [abs(one.z) for one in repeated if not math.isnan(one.z)]
    return ReplicationStatistics(
        differences=len(differences),
        differences_repeated=sum(one.repeats for one in differences),
        signs_kept=sum(one.keeps_sign for one in differences),
        equivalences=len(equivalences),
        equivalences_repeated=sum(one.repeats for one in equivalences),
        median_ratio=float(np.median([one.ratio for one in differences])) if differences else NAN,
        mean_z=float(np.mean(distances)) if distances else NAN,
        num_z=len(distances),
    )


def repeated_verdicts(first: Evidence, again: Evidence) -> list[RepeatedVerdict]:
    """Returns the comparisons that both runs of a study have judged, in each condition that both have trained."""
    by_comparison = {one.comparison: one for one in condition_verdicts(again)}
    repeated = []
    for verdict in condition_verdicts(first):
        other = by_comparison.get(verdict.comparison)
        if other is not None and not math.isnan(verdict.diff) and not math.isnan(other.diff):
            repeated.append(RepeatedVerdict(verdict, other))
    return repeated


def condition_verdicts(evidence: Evidence) -> list[ConditionVerdict]:
    """Returns the verdict of each planned comparison in each condition, but for those of placebos.

    Of a verdict on the mean over conditions there is one, whose condition is the name of that form.
    """
    runs = runs_of(evidence)
    verdicts = []
    for pair in planned_pairs(runs.facts):
        if pair.name in runs.facts.placebos or not is_judged(pair, runs.facts):
            continue
        comparison = primary_comparison(runs, pair)
        for condition in _conditions_of(comparison):
            verdicts.append(
                ConditionVerdict(
                    variant=pair.name,
                    baseline=pair.against,
                    condition=condition.name,
                    verdict=row(condition.estimate, condition.margin, comparison.alpha).verdict,
                    diff=condition.estimate.mean,
                    se=_standard_error(condition.estimate, comparison.alpha),
                )
            )
    return verdicts


def _conditions_of(comparison: Comparison) -> Iterator[InCondition]:
    """Yields the conditions in which a comparison is judged; the only one, where it is judged once."""
    verdict = comparison.verdict
    if verdict.in_conditions:
        yield from verdict.in_conditions
    else:
        yield InCondition(comparison.pair.place, verdict.estimate, verdict.margin)


def _standard_error(estimate: Estimated, alpha: float) -> float:
    """Returns the standard error of an estimate: the largest of its errors or, where others must agree with it, from
    its interval at 1 − `alpha`; NaN where it has none.
    """
    if isinstance(estimate, Differences) and estimate.n > 1:
        return max(error.se for error in estimate.errors)
    interval = estimate.interval(alpha) if estimate.n > 1 else None
    if interval is None:
        return NAN
    low, high = interval
    return (high - low) / 2 / t_quantile(alpha / 2, estimate.n - 1)
