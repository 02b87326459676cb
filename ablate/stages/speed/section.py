"""`speed:` the variants timed beside one another, after training; its checks, and what is kept beside its numbers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from ablate.base.errors import Invalid
from ablate.base.registry import OnOff, StrictModel
from ablate.core.speed import CALLS, TimedCall
from ablate.core.speed_facts import SpeedFacts
from ablate.core.workload import Workload
from ablate.study.checks import Draft, in_variants, refuse_own
from ablate.study.expand import report_at
from ablate.study.patch import apply_patches, has_path, value_at
from ablate.study.sections import Number, one_path, refusal, rising
from ablate.study.stage_config import StageConfig

Sizes = Annotated[list[Number], AfterValidator(rising), Field(max_length=50)]


class SpeedSection(StrictModel):
    """How the variants are timed; `speed: on` takes the defaults."""

    calls: Annotated[
        list[TimedCall],
        AfterValidator(lambda calls: [call for call in CALLS if call in calls]),
        Field(min_length=1),
    ] = list(CALLS)
    "What is timed of each variant that has it: forward, step, generation."
    over: Annotated[dict[str, Sizes], AfterValidator(one_path), Field(max_length=1)] = {}
    "A path → its sizes, such as task.seq_len: [64, 128, 256]: the variants are timed at each of them too."
    processes: Annotated[int, Field(ge=5, le=1_000)] = 8
    "Fresh processes, each of which times all variants: the replicates of a verdict."
    margin: Annotated[float, Field(ge=0.02, lt=1)] = 0.02
    "The share of time within which two variants count as equally fast."

    def facts(self, threads: int, machine: str) -> SpeedFacts:
        """The facts that tables and figures show."""
        ((path, sizes),) = self.over.items() or [("", [])]
        return SpeedFacts(
            path, [*map(float, sizes)], self.margin, self.processes, threads, machine, self.calls
        )

    @classmethod
    def of(cls, facts: SpeedFacts) -> SpeedSection:
        """The section by which variants were timed."""
        sizes = [int(size) if size.is_integer() else size for size in facts.sizes]
        return cls(
            calls=facts.calls,
            over={facts.over: sizes} if facts.over else {},
            processes=facts.processes,
            margin=facts.margin,
        )


def _read(given: Any) -> Any:
    if given is True or given == "on":
        return {}
    if given is False or given == "off":
        return None
    if given is not None and not isinstance(given, dict | SpeedSection):
        raise refusal("must be on, off or a mapping", f"on, off, {{{', '.join(SpeedSection.model_fields)}}}")
    return given


Speed = Annotated[
    SpeedSection | None,
    BeforeValidator(_read, json_schema_input_type=OnOff | SpeedSection | None),
    Field(examples=["on"]),
]


class SpeedConfig(StageConfig):
    """The key `speed`."""

    keyed_by_path: ClassVar[tuple[str, ...]] = ("speed.over",)
    decides: ClassVar[bool] = False

    speed: Speed = None
    "The variants timed beside one another, after training: `on`, or {calls, over, processes, margin}."


def check_speed(draft: Draft, section: SpeedSection) -> None:
    """Refuses to time what cannot be timed, and sizes that some variant cannot have; the baseline is valid."""
    if rule := lacks_operations(draft.workload):
        draft.document.refuse(
            ("speed",), rule, hint="Take `speed` out, or override `operations` of the workload"
        )
    for path in section.over:
        with draft.document.reporting("speed", "over", path):
            _check_path(path, draft)
            refuse_own(
                path,
                f"is what `speed` times every variant over, so that no variant can have a {path} of its own",
                f"Take it out, or compare {path} without `speed`",
                draft,
            )
            variants = [(v.name, c) for v in draft.design.variants if not v.placebo for c in v.configs]
            # As the document lists them: the section has them in rising order.
            for index, size in enumerate(draft.document.data["speed"]["over"][path]):
                resized = [(name, apply_patches(config, {path: size})) for name, config in variants]
                report_at(
                    in_variants(lambda config: draft.workload.check(draft.resolve(config)), resized),
                    {path: size},
                    ("speed", "over", path, index),
                    draft.document,
                )


def lacks_operations(workload: Workload) -> str:
    """Why nothing of a workload can be timed; empty where it can."""
    if type(workload).operations is not Workload.operations:
        return ""
    return f"needs a workload that says what can be timed, in `operations`, which {workload.name} does not"


def _check_path(path: str, draft: Draft) -> None:
    """Raises `Invalid` unless every variant has a number at a path that is part of what is timed, and nothing else in
    the study sets it.
    """
    workload, (base, *others) = draft.workload, draft.design.variants
    allowed = "the path of a size that every variant has, such as task.seq_len or model.d_model"
    if path in (workload.steps_path, workload.rate_path):
        raise Invalid("", "changes nothing about the time of a step", allowed=allowed)
    for config in base.configs:
        value = value_at(config, path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Invalid("", "is no number", value, allowed)
    if lacking := [v.name for v in others if not all(has_path(config, path) for config in v.configs)]:
        raise Invalid("", f"is no path of {lacking[0]}", allowed=allowed)
    for key, varied in draft.outline.varied_paths.items():
        if any(f"{path}.".startswith(f"{p}.") or f"{p}.".startswith(f"{path}.") for p in varied):
            raise Invalid(
                "",
                f"is what `{key}` sets for each variant, so that they have no size in common",
                hint="Name another path",
            )
