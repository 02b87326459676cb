"""The objectives of a search: those that a section asks for, and the values that a setting has of them."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ablate.analysis.search_table import Objective
from ablate.base.errors import Gather, listed, nearest
from ablate.core.metric import Description, sign, validated
from ablate.core.record import Record, on_validation
from ablate.stages.search.section import SearchSection, TuneSection
from ablate.study.draft import Draft

STABILITY = ("divergence_rate", "seed_spread")
# Statuses of a training that ended without a value, for a reason of its setting.
LOST = ("diverged", "failed")


def read_objectives(
    draft: Draft, key: str, section: SearchSection | TuneSection, baseline: Description
) -> list[Objective]:
    """Returns the objectives of a section; reports those that the study cannot have.

    key: `search` or `tune`. baseline: the metrics, size and costs of the baseline's config.
    """
    metrics = baseline.metrics
    costs = _costs(baseline)
    available = _available(baseline)
    names: list[str] = []
    if isinstance(section, SearchSection):
        names = section.objectives
    if not names:
        names = [draft.config.metric.name or next(iter(metrics))]

    for index, name in enumerate(names):
        is_metric = name in metrics
        with draft.document.reporting(key, "objectives", index), Gather() as problems:
            problems.refuse(name in names[:index], "", "is listed twice", name)
            problems.refuse(
                name not in available,
                "",
                "no such objective",
                name,
                allowed=listed(available),
                hint=nearest(name, available),
            )
            problems.refuse(
                name in costs and not is_metric and costs[name] is None,
                "",
                f"is not known for this config of {draft.workload.name}",
                name,
                hint="Search for another cost",
            )
            if name == "seed_spread" and not is_metric:
                _check_spread(problems, name, section.seeds, names, metrics)
    return [available[name] for name in names if name in available]


def _check_spread(
    problems: Gather, name: str, seeds: int, objectives: Sequence[str], metrics: Collection[str]
) -> None:
    """Collects in `problems` what keeps the spread over seeds from being an objective: no metric, or one seed.

    name: that of the spread. objectives: the names of all. metrics: the names that the search may have of metrics.
    """
    problems.refuse(
        {*metrics}.isdisjoint(objectives),
        "",
        "is the spread of a metric, and the search has no metric",
        name,
        hint=f"Add one: {listed(metrics)}",
    )
    problems.refuse(
        seeds < 2,
        "",
        "is a standard deviation over seeds, and the search has one seed",
        name,
        hint="Give `seeds: 3`",
    )


def _available(baseline: Description) -> dict[str, Objective]:
    """Returns the objectives that a search may have, by name.

    A metric comes before a cost of its name.
    """
    available: dict[str, Objective] = {}
    for name, metric in baseline.metrics.items():
        available[name] = Objective(name, metric.direction, "validation", metric.floor)
    for name in _costs(baseline):
        available.setdefault(name, Objective(name, "min", "cost"))
    for name in STABILITY:
        available.setdefault(name, Objective(name, "min", "stability"))
    return available


def _costs(description: Description) -> dict[str, int | None]:
    """Returns the costs of a config by name, in the units of `Description`.

    None where a cost is not known.
    """
    return {
        "parameters": description.parameters,
        "flops": description.flops,
        "compute": description.compute,
    }


def worst(objective: Objective) -> float:
    """Returns the worst possible value of an objective."""
    return -sign(objective) * math.inf


def seed_value(record: Record, objective: Objective, at: str) -> float:
    """Returns the value that one seed has of an objective that is a metric.

    A seed that diverged, or ran out of memory or time, counts as guessing if the metric declares the value of guessing,
    or else as the worst possible.
    """
    if record.status not in LOST:
        return on_validation(record, objective.name, at)[0]
    return worst(objective) if objective.floor is None else objective.floor


def intermediate(record: Record, metric: str) -> dict[int, float]:
    """Returns step → value on validation data, as the trial reported it.

    An evaluation at which a trial diverged was not reported any more.
    """
    curve = record.curves.get(validated(metric), record.curves.get(metric))
    if curve is None:
        return {}
    reports: dict[int, float] = {}
    for step, value in zip(curve.steps, curve.values, strict=True):
        reports[int(step)] = float(value)
    if reports and record.status == "diverged" and not _ends_finite(record):
        reports.popitem()
    return reports


def _ends_finite(record: Record) -> bool:
    """Returns whether the last value of every curve on validation data is finite."""
    for name, curve in record.curves.items():
        if name.startswith("validation_") and len(curve.values) and not math.isfinite(curve.values[-1]):
            return False
    return True


@dataclass(frozen=True)
class ObjectiveSummary:
    """The value of each objective of a setting, and how it varies over its seeds."""

    objectives: list[float]
    """The value of each objective, in their order."""
    values: list[float]
    """The first objective by seed; NaN where it is no metric."""
    spread: float
    """The standard deviation over seeds of the first metric; NaN below two finite values."""
    diverged: int
    """The number of seeds that diverged, or were lost to memory or the time limit."""
    own: bool
    """Whether some metric was not measured on validation data."""


def summarised(
    records: Sequence[Record], objectives: Sequence[Objective], description: Description, at: str
) -> ObjectiveSummary:
    """Returns the value of each objective of a setting; that of a metric is its mean over seeds.

    Where a seed that was lost has no value of guessing, or a completed one no value, the setting has the worst possible
    value.
    """
    metrics = [objective for objective in objectives if objective.measured]
    by_seed: dict[str, list[float]] = {}
    for metric in metrics:
        by_seed[metric.name] = [seed_value(record, metric, at) for record in records]
    spread = _spread(by_seed[metrics[0].name]) if metrics else math.nan
    num_lost = sum(record.status in LOST for record in records)

    numbers: dict[str, float | None] = {
        "divergence_rate": num_lost / len(records),
        "seed_spread": spread,
        **_costs(description),
    }
    for name, values in by_seed.items():
        numbers[name] = float(np.mean(values))

    return ObjectiveSummary(
        objectives=[_or_worst(numbers[objective.name], objective) for objective in objectives],
        values=by_seed.get(objectives[0].name, [math.nan] * len(records)),
        spread=spread,
        diverged=num_lost,
        own=any(_reads_own(records, metric, at) for metric in metrics),
    )


def _spread(values: Sequence[float]) -> float:
    """Returns the standard deviation of the finite values; NaN of fewer than two."""
    finite = [value for value in values if math.isfinite(value)]
    return float(np.std(finite, ddof=1)) if len(finite) > 1 else math.nan


def _or_worst(value: float | None, objective: Objective) -> float:
    """Returns a value as a sampler is told it: the worst possible for none."""
    if value is None or math.isnan(value):
        return worst(objective)
    return float(value)


def _reads_own(records: Sequence[Record], metric: Objective, at: str) -> bool:
    """Returns whether some seed has a metric that was not measured on validation data."""
    return any(on_validation(record, metric.name, at)[1] == "own" for record in records)
