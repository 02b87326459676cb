"""The verdict of a pair of sides, on one task or over conditions, with the numbers that are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from ablate.analysis.agreeing import Estimated, main_estimate
from ablate.analysis.conditions import Condition, Refusal
from ablate.analysis.contrast import Contrast
from ablate.analysis.family import Pair
from ablate.analysis.judge import Row, p_of, row
from ablate.analysis.measure import Measure
from ablate.analysis.over_conditions import InCondition, judge_every, judge_mean
from ablate.analysis.over_tasks import OverTasks, Sum
from ablate.analysis.paired import NAN, mean_of
from ablate.analysis.runs import Runs
from ablate.analysis.sums_of_conditions import mean_over


@dataclass(frozen=True)
class ConditionNumbers:
    """The numbers and names that a table shows beside the verdict of a pair over conditions."""

    better: int
    """The number of conditions that are better: at 1 − 0.05/T beside a mean, at the row's own level beside `every`."""
    worse: int
    """The number of conditions that are worse, at the same level."""
    varies: bool
    """Whether conditions differ in the direction of the difference."""
    deciding: str
    """The condition that decides `every`, or that gives the reason of a mean; empty where none does."""
    heaviest: str = ""
    """The condition with more than half of the variance of a mean; empty where none has it."""
    scales: Mapping[str, float] = field(default_factory=dict)
    """Condition → its scale; empty where all have the unit of their metric."""
    p_shared: float = NAN
    """Two-sided p of a mean by seeds in their order, where seeds were declared to be independent; else NaN."""
    p_independent: float = NAN
    """Two-sided p of a mean by independent seeds, where they were declared to be so; else NaN."""


@dataclass(frozen=True)
class PairVerdict:
    """The verdict of a pair by one metric at one look, and the numbers that are shown of it."""

    row: Row
    estimate: Estimated
    """The estimate that is shown; of a verdict on every condition, that of the condition that decides."""
    contrasts: Sequence[Contrast]
    """The contrasts of which the estimate is made, one a task."""
    n: int
    mean_a: float
    """The mean of A over the pairs, in the unit that is shown, in the metric's direction."""
    mean_b: float
    diff: float
    """The mean difference in the unit that is shown, oriented."""
    margin: float | None
    """The margin in the units of the estimate; None where the study declares none for the metric."""
    must_agree: Mapping[str, tuple[bool, bool]]
    """Task → the sides whose other settings must agree with the decision."""
    unit: float = 1.0
    """One unit of the estimate, in the unit that is shown."""
    span: float | None = None
    """The largest difference that there can be, in the units of the estimate; None where there is no limit."""
    numbers: ConditionNumbers | None = None
    """The numbers beside a verdict over conditions; None beside one on a task."""
    in_conditions: Sequence[InCondition] = ()
    """The comparisons that a verdict on every condition is made of; empty of any other."""


def pair_verdict(runs: Runs, pair: Pair, metric: str, alpha: float, *, judged: bool) -> PairVerdict:
    """Returns the verdict of a pair by a metric; where it is not judged, at the chosen settings alone."""
    match pair.form:
        case "each":
            return _on_task(runs, pair, metric, alpha, judged=judged)
        case "every":
            return _in_every(runs, pair, metric, alpha, judged=judged)
        case "mean" | "sample":
            return _on_sum(_over_tasks(runs, pair, metric), pair.form, alpha, judged=judged)
        case _:
            assert_never(pair.form)


def _on_task(runs: Runs, pair: Pair, metric: str, alpha: float, *, judged: bool) -> PairVerdict:
    """Returns the verdict of a pair on its one task."""
    (task,) = pair.tasks
    measure = Measure(metric, "mean", task)
    groups = (pair.a, pair.b)
    contrast = measure.contrast(runs, groups)
    estimate = measure.estimate(runs, groups) if judged else contrast.differences
    margin = runs.facts.margin if metric == runs.facts.metric else None
    decision = row(estimate, margin, alpha)
    return PairVerdict(
        decision,
        estimate,
        [contrast],
        n=contrast.n,
        mean_a=mean_of(contrast.a.mean(axis=0)),
        mean_b=mean_of(contrast.b.mean(axis=0)),
        diff=contrast.differences.mean,
        margin=margin,
        must_agree={task.name: decision.must_agree},
        span=contrast.metric.span,
    )


def _over_tasks(runs: Runs, pair: Pair, metric: str) -> OverTasks:
    measures = [Measure(metric, "mean", task) for task in pair.tasks]
    return OverTasks(runs, measures, (pair.a, pair.b))


def _in_every(runs: Runs, pair: Pair, metric: str, alpha: float, *, judged: bool) -> PairVerdict:
    """Returns the verdict of a pair in every condition, with the numbers of the one that decides."""
    alone: dict[str, PairVerdict] = {}
    for task in pair.tasks:
        on_task = replace(pair, tasks=(task,), form="each")
        alone[task.name] = _on_task(runs, on_task, metric, alpha, judged=judged)
    conditions = [InCondition(name, one.estimate, one.margin) for name, one in alone.items()]
    verdict = judge_every(conditions, alpha)
    must_agree: dict[str, tuple[bool, bool]] = {}
    for one in alone.values():
        must_agree |= one.must_agree
    numbers = ConditionNumbers(
        verdict.better,
        verdict.worse,
        varies=verdict.better > 0 and verdict.worse > 0,
        deciding=verdict.deciding,
    )
    return replace(
        alone[verdict.deciding],
        row=verdict.row,
        must_agree=must_agree,
        numbers=numbers,
        in_conditions=conditions,
    )


def _on_sum(over: OverTasks, how: Sum, alpha: float, *, judged: bool) -> PairVerdict:
    """Returns the verdict of a pair on the mean over conditions."""
    facts = over.runs.facts
    names = [condition.name for condition in over.conditions]
    estimate: Estimated = over.estimate(how) if judged else over.plain_estimate(how)
    main = main_estimate(estimate)
    verdict = judge_mean(estimate, over.conditions, over.margin, alpha)
    refusal = over.refusal(how)
    sides = over.sides_on_added_seeds
    shows_both_p = how == "mean" and facts.over.independent_seeds
    numbers = ConditionNumbers(
        verdict.better,
        verdict.worse,
        verdict.varies,
        deciding=verdict.blocking or _refused(refusal, names),
        heaviest=verdict.heaviest,
        scales=_named_scales(over),
        p_shared=_p_in_order(over.conditions) if shows_both_p else NAN,
        p_independent=p_of(main) if shows_both_p else NAN,
    )
    return PairVerdict(
        verdict.row,
        estimate,
        over.contrasts,
        n=estimate.n,
        mean_a=over.scaled_mean([mean_of(a.mean(axis=0)) for a, _ in sides]),
        mean_b=over.scaled_mean([mean_of(b.mean(axis=0)) for _, b in sides]),
        diff=main.mean * over.unit,
        margin=over.margin,
        must_agree=dict.fromkeys(names, verdict.row.must_agree),
        unit=over.unit,
        span=over.span,
        numbers=numbers,
    )


def _named_scales(over: OverTasks) -> dict[str, float]:
    """Returns condition → its scale; empty where differences are shown in the unit of the metric."""
    names = [measure.task.name for measure in over.measures]
    return {} if over.is_in_own_unit else dict(zip(names, over.scales, strict=True))


def _refused(refusal: Refusal | None, names: Sequence[str]) -> str:
    """Returns the first condition that a refusal is about; empty where it is about all, or there is none."""
    if refusal is None or len(refusal.conditions) == len(names):
        return ""
    return refusal.conditions[0]


def _p_in_order(conditions: Sequence[Condition]) -> float:
    """Returns the two-sided p of the mean over conditions, as if the k-th seeds of all conditions were one seed.

    NaN where conditions differ in their number of seeds.
    """
    renumbered = []
    for condition in conditions:
        renumbered.append(replace(condition, seeds=range(len(condition.seeds))))
    mean = mean_over(renumbered)
    if isinstance(mean, Refusal) or len({len(one.seeds) for one in conditions}) > 1:
        return NAN
    return p_of(mean)
