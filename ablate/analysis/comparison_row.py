"""A row of the table of comparisons, whose columns are its fields."""

from dataclasses import dataclass

ALSO = "also "
"""Begins a runner-up among the settings of a row."""


@dataclass(frozen=True)
class ComparisonRow:
    """A pair on one metric."""

    variant: str
    """The variant; of a crossed design `path=level`, which stands for all variants at that level."""
    baseline: str
    """The variant, or `path=level`, that it is compared with."""
    task: str
    """The task or, of a comparison over conditions, how they are taken together: `mean`, `every`, `sample`.

    Under `every` the numbers are those of the condition that decides. Those of a mean are in the unit of the metric
    where all conditions have one scale, else in shares of the scale of each.
    """
    metric: str
    n: int
    """Pairs: seeds on which both runs have an outcome. A diverged run counts with the metric's floor.

    For a mean over conditions: the seeds that all of them have; for a sample of conditions: the conditions.
    """
    mean_variant: float
    """Mean over the pairs, in the metric's units and direction; NaN without pairs."""
    mean_baseline: float
    """The same of the baseline."""
    diff: float
    """Mean difference in the metric's units, oriented: above 0 the variant is better."""
    ci_low: float
    """Lower bound of the interval of `diff` at `level`; NaN where there is none."""
    ci_high: float
    """Upper bound of the same interval."""
    level: float
    """Confidence level: 1 − 0.05/M of a planned comparison (`analysis.family`), 0.95 of others."""
    p: float
    """Two-sided p of no difference, over several looks p_seq; NaN below two pairs."""
    mde: float
    """Minimum difference that the planned seeds detect with 80 % power at `level`.

    In the metric's units; in seeds that one side alone solves, where these decide. Infinite where the metric can show
    no such difference.
    """
    verdict: str
    """`better`, `worse`, `equivalent` or `inconclusive`; empty where the comparison was not planned, or claims alone
    are judged."""
    reason: str
    """The reasons for the verdict, as text of `core.reason`; empty where there is nothing to say."""
    exploratory: bool
    """Whether the comparison was not planned, and so has no verdict; where claims alone are judged none has one."""
    settings: str
    """Settings tuned for the variant, `path=value`, and after `ALSO` each runner-up at which it was judged, `…; …`."""
    solved_variant: float
    """Runs of the variant that solved an all-or-nothing task; NaN where no such counts decide."""
    solved_baseline: float
    """The same of the baseline."""
    only_variant: float
    """Seeds that the variant alone solved; NaN where no such counts decide."""
    only_baseline: float
    """Seeds that the baseline alone solved."""
    look: int
    """The look whose seeds the numbers are of, from 1: the one that settled the comparison, else the last."""
    plan: str
    """`changed`, `added` or `known` where it is not as first planned, before results; else empty."""
    treatment: str
    """The difference in treatment of both sides, as text of `core.treatment`; empty where alike, or not planned."""
    resolution: float
    """The step of the metric, where it counts as the standard deviation of differences that vary by less; else NaN."""
    unequal_runs: str
    """Runs that trained for another length than the others of their variant: a list of `UnequalRun` (`core.rows`)."""
    improving: str
    """Variants that were still improving when training ended: a list of `ImprovingSide` (`core.rows`)."""
