"""The tables beside verdicts over conditions: how far conditions agree, and trends along a number of theirs."""

from dataclasses import dataclass

import pandas as pd

from ablate.analysis.compare import primary_comparison
from ablate.analysis.family import Pair, planned_pairs
from ablate.analysis.judge import p_of
from ablate.analysis.measure import Measure
from ablate.analysis.over_tasks import OverTasks
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs, runs_of
from ablate.core.facts import Evidence
from ablate.core.over import LEAST_TREND, scales_as_text
from ablate.core.rows import frame_of_rows


@dataclass(frozen=True)
class ConditionsRow:
    """A row of the table of conditions: what is shown beside the verdict of a planned comparison over conditions."""

    variant: str
    baseline: str
    over: str
    """How conditions are taken together: `mean`, `every` or `sample`."""
    metric: str
    conditions: int
    better: int
    """The number of conditions that are better: at 1 − 0.05/T beside a mean, at the row's own level beside `every`."""
    worse: int
    """The number of conditions that are worse, at the same level."""
    varies: bool
    """Whether conditions differ in the direction of the difference."""
    deciding: str
    """The condition that decides `every`, or that gives the reason of a mean; empty where none does."""
    heaviest: str
    """The condition with more than half of the variance of a mean; empty where none has it."""
    scales: str
    """The scale of each condition, `name scale; …`; empty where all have the unit of their metric."""
    p_shared: float
    """Two-sided p by seeds in their order, where seeds were declared to be independent; else NaN."""
    p_independent: float
    """Two-sided p by independent seeds, where seeds were declared to be so; else NaN."""


@dataclass(frozen=True)
class TrendRow:
    """A row of the table of trends: how a difference grows with a number that each condition has.

    Trends describe; no verdict is read from them.
    """

    variant: str
    baseline: str
    metric: str
    along: str
    """The path, or the column, of that number."""
    diff: float
    """What the difference grows by with each doubling, oriented, in the unit of a mean over conditions."""
    ci_low: float
    """Lower bound of the interval of `diff` at `level`; NaN where there is none."""
    ci_high: float
    """Upper bound of the same interval."""
    level: float
    n: int
    """Seeds that all conditions have."""
    p: float
    """Two-sided p of no trend; NaN below two seeds."""
    reason: str
    """What keeps the trend from saying anything, as text of `core.reason`; empty where nothing does."""


def conditions_table(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of conditions, with the columns of `ConditionsRow`; empty where each is judged alone."""
    runs = runs_of(evidence)
    rows: list[ConditionsRow] = []
    if runs.facts.over.joins_conditions:
        rows = [_conditions_row(runs, pair) for pair in planned_pairs(runs.facts)]
    return frame_of_rows(rows, ConditionsRow)


def _conditions_row(runs: Runs, pair: Pair) -> ConditionsRow:
    """Returns the row of a pair over conditions, at the look of its verdict."""
    numbers = primary_comparison(runs, pair).verdict.numbers
    assert numbers is not None
    return ConditionsRow(
        variant=pair.name,
        baseline=pair.against,
        over=pair.form,
        metric=runs.facts.metric,
        conditions=len(pair.tasks),
        better=numbers.better,
        worse=numbers.worse,
        varies=numbers.varies,
        deciding=numbers.deciding,
        heaviest=numbers.heaviest,
        scales=scales_as_text(numbers.scales),
        p_shared=numbers.p_shared,
        p_independent=numbers.p_independent,
    )


def trends(evidence: Evidence) -> pd.DataFrame:
    """Returns the table of trends, with the columns of `TrendRow`; empty where nothing orders the conditions."""
    runs = runs_of(evidence)
    facts = runs.facts
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    rows: list[TrendRow] = []
    if facts.over.along and len(tasks) >= LEAST_TREND:
        sides = {(pair.name, pair.against): pair for pair in planned_pairs(facts)}
        for pair in sides.values():
            over = OverTasks(runs, [Measure(facts.metric, "mean", task) for task in tasks], (pair.a, pair.b))
            rows.append(_trend_row(pair, over))
    return frame_of_rows(rows, TrendRow)


def _trend_row(pair: Pair, over: OverTasks) -> TrendRow:
    """Returns the trend of a pair at the settings that were chosen."""
    facts = over.runs.facts
    trend = over.plain_estimate("trend")
    ci_low, ci_high = trend.interval(ALPHA)
    return TrendRow(
        variant=pair.name,
        baseline=pair.against,
        metric=facts.metric,
        along=facts.over.along,
        diff=trend.mean * over.unit,
        ci_low=ci_low * over.unit,
        ci_high=ci_high * over.unit,
        level=1 - ALPHA,
        n=trend.n,
        p=p_of(trend),
        reason=str(trend.blocks[0].reason) if trend.blocks else "",
    )
