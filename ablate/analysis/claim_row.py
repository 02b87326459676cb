"""A row of the table of claims, whose columns are its fields."""

from dataclasses import dataclass

from ablate.analysis.paired import NAN


@dataclass(frozen=True, kw_only=True)
class ClaimRow:
    """A claim.

    The numbers are those of the task that decides the claim; where no task can tell the claim, there are none.
    """

    claim: str
    """The claim in the words of the study."""
    hash: str
    """Identifier of the claim, made of its words."""
    declared: str
    """ISO 8601 date and time of the first run that knew the claim; empty where none is known."""
    verdict: str = "inconclusive"
    """`supported`, `refuted` or `inconclusive`."""
    diff: float = NAN
    """Mean difference, oriented, in the metric's units; of time and memory the ratio − 1. NaN without a task."""
    ci_low: float = NAN
    """Lower bound of the interval of `diff` at the level of the claim; NaN where there is none."""
    ci_high: float = NAN
    """Upper bound of the same interval."""
    n: int = 0
    """Pairs, or processes of a measurement."""
    reason: str = "unknown"
    """Why the verdict is what it is, as text of `core.reason`; empty where there is nothing to say."""
    exploratory: bool
    """Whether the claim was declared after trials of the study existed."""
    metric: str
    task: str = ""
    """The task that decides the claim or, where one number is over conditions, how they are taken together.

    Of a claim `by more at A than at B` it is A; empty where no task can tell the claim.
    """
    plan: str
    """`changed` or `added` where its runs are not as first planned, before results; else empty."""
    treatment: str = ""
    """The difference in treatment of its sides, as text of `core.treatment`; empty where alike, or not of two sides."""
    resolution: float = NAN
    """The step of the metric, where it counts as the standard deviation of differences that vary by less; else NaN."""
    unequal_runs: str = ""
    """Runs that trained for another length than the others of their variant: a list of `UnequalRun` (`core.rows`)."""
    improving: str = ""
    """Variants that were still improving when training ended: a list of `ImprovingSide` (`core.rows`)."""
