"""`speed:` the variants timed beside one another, after training; its checks, and what is kept beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from ablate.base.errors import Invalid, listed
from ablate.base.registry import OnOff, StrictModel
from ablate.core.speed import CALLS, RUN_TIMES, RunTime, TimedCall
from ablate.core.speed_facts import SpeedFacts
from ablate.core.workload import Workload
from ablate.study.checks import in_variants, refuse_own
from ablate.study.designs import Config
from ablate.study.draft import Draft
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches, has_path, overlap, value_at
from ablate.study.sections import Number, one_path, refusal, rising
from ablate.study.stage_config import StageConfig

Sizes = Annotated[list[Number], AfterValidator(rising), Field(max_length=50)]


def _in_order(calls: list[TimedCall]) -> list[TimedCall]:
    """Returns the calls that are asked for, each once, in the order of `CALLS`."""
    return [call for call in CALLS if call in calls]


class SpeedSection(StrictModel):
    """How the variants are timed; `speed: on` takes the defaults."""

    calls: Annotated[list[TimedCall], AfterValidator(_in_order), Field(min_length=1)] = list(CALLS)
    "What is timed of each variant that has it: forward, step, generation."
    over: Annotated[dict[str, Sizes], AfterValidator(one_path), Field(max_length=1)] = {}
    "A path → its sizes, such as task.seq_len: [64, 128, 256]: the variants are timed at each of them too."
    processes: Annotated[int, Field(ge=5, le=1_000)] = 8
    "Fresh processes, each of which times all variants: the replicates of a verdict."
    margin: Annotated[float, Field(ge=0.02, lt=1)] = 0.02
    "The share of time within which two variants count as equally fast."
    metric: str | None = None
    "Of your own code: the metric that has its step time in seconds, such as train_step_seconds."

    @property
    def run_times(self) -> list[RunTime]:
        """The times of whole runs that are measured."""
        return [name for name in RUN_TIMES if name != "reported_step" or self.metric is not None]

    def facts(self, times: Sequence[TimedCall | RunTime], threads: int, machine: str) -> SpeedFacts:
        """Returns the facts that tables and figures show."""
        path = next(iter(self.over), "")
        return SpeedFacts(
            over=path,
            sizes=[float(size) for size in self.over.get(path, [])],
            margin=self.margin,
            processes=self.processes,
            threads=threads,
            machine=machine,
            calls=[*times],
            metric=self.metric or "",
        )

    @classmethod
    def of(cls, facts: SpeedFacts) -> SpeedSection:
        """Returns the section by which variants were timed."""
        sizes = [int(size) if size.is_integer() else size for size in facts.sizes]
        return cls(
            calls=[call for call in CALLS if call in facts.calls] or list(CALLS),
            over={facts.over: sizes} if facts.over else {},
            processes=facts.processes,
            margin=facts.margin,
            metric=facts.metric or None,
        )


def _switched(given: Any) -> Any:
    """Returns the section that `on` and `off` are short for.

    Refuses anything else that is no mapping.
    """
    if given is True or given == "on":
        return {}
    if given is False or given == "off":
        return None
    if given is not None and not isinstance(given, dict | SpeedSection):
        raise refusal("must be on, off or a mapping", f"on, off, {{{', '.join(SpeedSection.model_fields)}}}")
    return given


Speed = Annotated[
    SpeedSection | None,
    BeforeValidator(_switched, json_schema_input_type=OnOff | SpeedSection | None),
    Field(examples=["on"]),
]


class SpeedConfig(StageConfig):
    """The key `speed`."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ("speed.over",)
    decides: ClassVar[bool] = False

    speed: Speed = None
    "The variants timed beside one another, after training: `on`, or {calls, over, processes, margin, metric}."


def check_speed(draft: Draft, section: SpeedSection) -> None:
    """Refuses what cannot be timed, and sizes that some variant cannot have.

    The baseline itself is valid.
    """
    document = draft.document
    rule = lacks_timing(draft.workload)
    if rule:
        hint = "Remove `speed`, or override `operations` of the workload"
        document.refuse(("speed",), rule, hint=hint)
    if draft.workload.times_runs and section.calls != list(CALLS):
        rule = "are parts of a model that ablate builds; your own code is timed by whole runs"
        hint = "Remove `calls`; to time its steps, name the metric that reports them: metric: NAME"
        document.refuse(("speed", "calls"), rule, section.calls, hint=hint)
    if section.metric is not None:
        with document.reporting("speed", "metric"):
            _check_reported(section.metric, draft)
    for path in section.over:
        with document.reporting("speed", "over", path):
            _check_path(path, draft)
            refuse_own(
                path,
                f"cannot set {path}, which `speed` varies for every variant",
                "Remove it here, or from `speed`",
                draft,
            )
            _check_sizes(path, draft)


def lacks_timing(workload: Workload) -> str:
    """Returns why nothing of a workload can be timed; empty where it can."""
    if workload.times_runs or type(workload).operations is not Workload.operations:
        return ""
    return f"needs a workload that says in `operations` what can be timed; {workload.name} does not"


def _check_reported(name: str, draft: Draft) -> None:
    """Raises `Invalid` unless every run reports a metric of a name, of which less is better."""
    if not draft.workload.times_runs:
        hint = "Remove `metric`, and name the `calls` that are timed"
        raise Invalid("", f"applies to your own code; {draft.workload.name} times calls", name, hint=hint)
    metrics = draft.workload.describe(draft.design.variants[0].first_config).metrics
    if name not in metrics:
        hint = f"Add it under metrics: {{{name}: min}}"
        raise Invalid("", "is not among `metrics`", name, listed(metrics), hint)
    if metrics[name].direction != "min":
        raise Invalid("", "is a time, of which less is better", name, hint=f"Write metrics: {{{name}: min}}")


def _check_path(path: str, draft: Draft) -> None:
    """Raises `Invalid` unless every variant has a number of its own at a path.

    The path must be part of what is timed, and nothing else in the study may set it.
    """
    workload = draft.workload
    baseline, *others = draft.design.variants
    allowed = "the path of a size that every variant has, such as task.seq_len or model.d_model"
    if path in (workload.steps_path, workload.rate_path):
        raise Invalid("", "does not change the time of a step", allowed=allowed)
    for config in baseline.configs.values():
        value = value_at(config, path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Invalid("", "is not a number", value, allowed)
    for variant in others:
        if not all(has_path(config, path) for config in variant.configs.values()):
            raise Invalid("", f"is not a path of {variant.name}", allowed=allowed)
    for key, varied_paths in draft.outline.varied_paths.items():
        if any(overlap(path, varied) for varied in varied_paths):
            raise Invalid(
                "",
                f"is set by `{key}` for each variant, so that the variants have no common size",
                hint="Name another path",
            )


def _check_sizes(path: str, draft: Draft) -> None:
    """Reports sizes at a path that some variant cannot have."""

    def check(config: Config) -> None:
        draft.workload.check(draft.resolve(config))

    # As the document lists them: the section has them in rising order.
    for index, size in enumerate(draft.document.data["speed"]["over"][path]):
        resized: list[tuple[str, Config]] = []
        for variant in draft.design.variants:
            if not variant.placebo:
                for config in variant.configs.values():
                    resized.append((variant.name, apply_patches(config, {path: size})))
        problems = in_variants(check, resized)
        report_at(problems, {path: size}, ("speed", "over", path, index), draft.document)
