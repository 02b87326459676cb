"""What claims may be about beside the metrics of the tasks: the numbers of a run's stability, and derived metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ablate.core.derived import DERIVED, Offer
from ablate.core.metric import Description, Metric
from ablate.core.speed import CALLS
from ablate.core.workload import Workload
from ablate.study.document import Document
from ablate.study.schema import StudyBase


@dataclass(frozen=True)
class Claimable:
    """Metrics that claims may use."""

    metrics: Mapping[str, Metric]
    ranges: Mapping[str, float]
    "The range of each that has one."
    lacking: Mapping[str, str]
    "Derived metric that the study cannot give → what it would have to give for it."


def claimable(
    workload: Workload,
    study: StudyBase,
    tasks: Sequence[Description],
    others: Iterable[Description],
    document: Document,
) -> Claimable:
    """Beside the metrics of `tasks`, descriptions of the baseline; `others` are those of the variants.

    No more of these are taken than it needs to know what is claimed.
    """
    asked = {found[1] for text in study.claims if (found := re.search(r" on (\S+)", str(text)))}
    numbers = {name: metric for task in tasks for name, metric in task.stability.items()}
    known = {*DERIVED, *(name for task in tasks for name in task.metrics)}
    each = iter(others)
    while not asked <= {*known, *numbers} and (one := next(each, None)) is not None:
        numbers = {**one.stability, **numbers}
    # Whatever is wrong with a section that is given, it is said there and not of each claim.
    stressed = bool(study.stress) or document.is_faulty(("stress",))
    timed = CALLS if document.is_faulty(("speed",)) else study.speed.calls if study.speed else ()
    offers = [
        Offer(
            task.metrics,
            stressed,
            workload.rate_path,
            timed,
            dict.fromkeys(task.metrics, 0.0) if document.is_faulty(("target",)) else study.target,
        )
        for task in tasks
        if task.metrics
    ]
    lacking = {
        name: derived.lacks(offers[0])
        for name, derived in DERIVED.items()
        if offers and all(map(derived.lacks, offers))
    }
    metrics = numbers | {name: of.metric for name, of in DERIVED.items() if name not in lacking}
    ranges = {name: metric.span for name, metric in metrics.items() if metric.span is not None}
    return Claimable(metrics, ranges, lacking)
