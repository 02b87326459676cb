"""The metrics that claims may name beside those of a task, and what a study must give for each.

How their differences are estimated is a table of `ablate.analysis.measures`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ablate.base.errors import listed
from ablate.core.facts import Claim
from ablate.core.metric import Metric
from ablate.core.speed import CALLS, RUN_TIMES, RunTime, TimedCall

# mean: a number by seed, whose paired differences decide. rate: 0 or 1 by seed. spread: the standard deviation over
# seeds of the primary metric. ratio: measured apart from the runs, and compared by the log of ratios.
MetricKind = Literal["mean", "rate", "spread", "ratio"]

LR_SENSITIVITY = "lr_sensitivity"
STEP_MEMORY = "step_memory"
RUN_OF: Mapping[str, RunTime] = {f"{name}_seconds": name for name in RUN_TIMES}
"""Metric of the speed of whole runs → the time that it is."""
REPORTED = "reported_step_seconds"
CALL_OF: Mapping[str, TimedCall | RunTime] = {
    **{f"{call}_seconds": call for call in CALLS},
    STEP_MEMORY: "step",
    **RUN_OF,
}
"""Metric of speed → the call that it is measured of, or the time of a whole run."""


@dataclass(frozen=True)
class StudyContext:
    """The properties of a study on one task that decide which derived metrics it has."""

    metrics: Mapping[str, Metric]
    # The metrics of this module that its stages measure.
    of_stages: Collection[str] = ()
    # The path of the learning rate; None where the workload has none.
    rate_path: str | None = None
    # Metric → the value that counts as learned.
    target: Mapping[str, float] = field(default_factory=dict)
    # Whether it is timed by whole runs, and not by calls.
    times_runs: bool = False


@dataclass(frozen=True)
class Derived:
    """A metric that is derived from the runs of a study, or measured beside them."""

    metric: Metric
    kind: MetricKind
    # Returns what a study would have to give for the metric, in a sentence; empty where it does.
    lacks: Callable[[StudyContext], str] = lambda _: ""
    # Whether the table of stability has it.
    described: bool = False


def _needs_solved(study: StudyContext) -> str:
    """Returns what a study lacks to tell whether a run has solved its task; empty where it lacks nothing."""
    if any(metric.solved is not None for metric in study.metrics.values()):
        return ""
    return "It takes a metric that says at which value the task counts as solved"


def _needs_target(study: StudyContext) -> str:
    """Returns what a study lacks to tell when a run has learned; empty where it lacks nothing."""
    if study.target.keys() & study.metrics.keys():
        return ""
    name, metric = next(iter(study.metrics.items()), ("accuracy", Metric("max")))
    value = 0.95 if metric.solved is None else metric.solved
    return f"Say which value of {name} counts as learned: metric: {{target: {value:g}}}"


def _needs_stress(study: StudyContext) -> str:
    """Returns what a study lacks to measure sensitivity to the learning rate; empty where it lacks nothing."""
    if LR_SENSITIVITY in study.of_stages:
        return ""
    if study.rate_path is None:
        return "It takes a workload that has a learning rate"
    return (
        f"Train every variant on a grid of learning rates: stress: {{{study.rate_path}: [1e-3, 3e-3, 1e-2]}}"
    )


_OTHERWISE_TIMED: Mapping[bool, str] = {
    True: f"Your own code is timed by whole runs: {listed(RUN_OF)}",
    False: f"Models are timed by calls: {listed(name for name in CALL_OF if name not in RUN_OF)}",
}
"""Whether a study is timed by whole runs → what to say of a metric of the other kind."""


def _timed(name: str) -> Derived:
    """Returns a metric of speed, which takes that its call is timed."""

    def needs_call(study: StudyContext) -> str:
        """Returns what a study lacks to have the metric; empty where it lacks nothing."""
        if study.times_runs != (name in RUN_OF):
            return _OTHERWISE_TIMED[study.times_runs]
        if name in study.of_stages:
            return ""
        if name == REPORTED:
            return "Name the metric that has the seconds which a run reports: speed: {metric: NAME}"
        timed = {CALL_OF[metric] for metric in study.of_stages if metric in CALL_OF}
        if not timed:
            return "Time the variants: speed: on"
        calls = [call for call in CALLS if call in {*timed, CALL_OF[name]}]
        return f"Time this call too: speed: {{calls: [{', '.join(calls)}]}}"

    return Derived(Metric("min"), "ratio", needs_call)


DERIVED: Mapping[str, Derived] = {
    "solved_rate": Derived(Metric("max", floor=0.0, ceiling=1.0), "rate", _needs_solved),
    "divergence_rate": Derived(Metric("min", floor=1.0, ceiling=0.0), "rate", described=True),
    "seed_spread": Derived(Metric("min"), "spread", described=True),
    "steps_to_target": Derived(Metric("min"), "mean", _needs_target),
    **{name: _timed(name) for name in CALL_OF},
    LR_SENSITIVITY: Derived(Metric("min"), "mean", _needs_stress, described=True),
}
"""By name, in the order in which tables show them."""


def is_measured(claim: Claim) -> bool:
    """Returns whether a claim is about what is measured without any training, such as time."""
    derived = DERIVED.get(claim.metric)
    return derived is not None and derived.kind == "ratio"
