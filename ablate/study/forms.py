"""The forms that verdicts over the conditions of a study take: `over`, `along`, `scale` and `family`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ablate.base.errors import Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.derived import DERIVED
from ablate.core.metric import Description, Metric
from ablate.core.over import LEAST_TREND, Over, common_scales
from ablate.study.conditions import Condition
from ablate.study.document import Document
from ablate.study.draft import Draft
from ablate.study.patch import has_path, short_label, value_at
from ablate.study.schema import StudyConfig


@dataclass(frozen=True)
class Addends:
    """The conditions of a study, with what tells whether their differences can be added."""

    names: Sequence[str]
    # Of the baseline, one a condition.
    descriptions: Sequence[Description]
    # Condition → its declared scale.
    scales: Mapping[str, float] = field(default_factory=dict)

    def check_shared(self, metric: str, given: str) -> None:
        """Raises `Invalid` where some condition lacks a metric.

        Nothing is said of conditions whose baseline cannot be built.
        """
        lacking: list[str] = []
        for name, description in zip(self.names, self.descriptions, strict=True):
            if description.metrics and metric not in description.metrics:
                lacking.append(name)
        if lacking and len(lacking) < len(self.names):  # a metric that none has is refused as such
            rule = f"is about {metric}, which is no metric of {joined(lacking)}"
            raise Invalid("", rule, given, hint="Choose one that all conditions have, `metric: NAME`")

    def check(self, metric: str, given: str, instead: str) -> None:
        """Raises `Invalid` where the differences in a metric cannot be added; instead: the hint.

        Nothing is said of a metric that some condition lacks.
        """
        metrics = self._metrics(metric)
        if len(metrics) < len(self.names):
            return
        of_runs = [name for name, one in zip(self.names, self.descriptions, strict=True) if _is_solved(one)]
        if of_runs:
            rule = f"adds differences over conditions, and in {joined(of_runs)} a run solves the task or does not"
            raise Invalid("", rule, given, hint=instead)
        more = [name for name, one in metrics.items() if one.direction == "max"]
        less = [name for name, one in metrics.items() if one.direction == "min"]
        if more and less:
            rule = (
                f"adds differences in {metric}, of which more is better in {joined(more)}, and less in "
                f"{joined(less)}"
            )
            raise Invalid("", rule, given, hint=instead)
        self._check_scales(metric, metrics, given)

    def check_margin(self, margin: float, metric: str, given: object) -> None:
        """Raises `Invalid` for a margin in the scaled unit that no mean over conditions can reach."""
        limit = self.scaled_limit(metric)
        if limit is not None and margin >= limit:
            rule = f"is in units of each condition's range or scale, of which no mean can exceed {limit:g}"
            raise Invalid("", rule, given, f"less than {limit:g}")

    def scaled_limit(self, metric: str) -> float | None:
        """Returns the largest mean that there can be, in the scaled unit; None where scales are equal.

        Infinite for a metric without a range.
        """
        metrics = self._metrics(metric)
        scales = self._scales(metrics)
        if len({*scales.values()}) < 2:
            return None
        shares = [(one.span or math.inf) / (scales[condition] or 1.0) for condition, one in metrics.items()]
        return fmean(shares)

    def _metrics(self, name: str) -> dict[str, Metric]:
        """Returns condition → the metric of this name, without conditions that lack it."""
        metrics: dict[str, Metric] = {}
        for condition, description in zip(self.names, self.descriptions, strict=True):
            known = {**description.stability, **description.metrics}
            if name in known:
                metrics[condition] = known[name]
            elif name in DERIVED:
                metrics[condition] = DERIVED[name].metric
        return metrics

    def _scales(self, metrics: Mapping[str, Metric]) -> dict[str, float | None]:
        """Returns condition → its declared scale, else the range of its metric; None where it has neither."""
        return {condition: self.scales.get(condition) or metric.span for condition, metric in metrics.items()}

    def _check_scales(self, name: str, metrics: Mapping[str, Metric], given: str) -> None:
        """Raises `Invalid` where some conditions have a scale or a range, and others have neither."""
        scales = self._scales(metrics)
        if common_scales([*scales.values()], one_metric=True) is not None:
            return
        scaled = [condition for condition, scale in scales.items() if scale]
        without = [condition for condition, scale in scales.items() if not scale]
        rule = (
            f"adds differences in {name}, which has a range or a scale in {joined(scaled)}, and neither in "
            f"{joined(without)}"
        )
        missing = ", ".join(f"{condition}: NUMBER" for condition in without)
        hint = f"Write `scale: {{{missing}}}`, the difference that counts as 1 in each"
        raise Invalid("", rule, given, hint=hint)


def _is_solved(description: Description) -> bool:
    """Returns whether runs are judged by whether they solve the task."""
    has_threshold = any(metric.solved is not None for metric in description.metrics.values())
    return description.outcome == "all_or_nothing" and has_threshold


def check_forms(draft: Draft, descriptions: Sequence[Description]) -> None:
    """Refuses forms of verdicts that the conditions of a study do not have; descriptions: those of the baseline."""
    config = draft.config
    document = draft.document
    _check_family(config, document)
    names = [*config.conditions] or draft.tasks
    if len(names) < 2:
        _refuse_for_one_condition(config, document)
        return
    _check_names(draft)
    problems_before = len(document.problems)
    _check_scale(names, config, document)
    metric = config.metric.name or next(iter(descriptions[0].metrics), "")
    if config.along is not None:
        _check_along(draft, config.along, names, metric)
    if metric and len(document.problems) == problems_before:
        _check_metric(draft, metric, descriptions)


def _check_family(config: StudyConfig, document: Document) -> None:
    """Refuses a family of claims in a study without claims."""
    if config.family != "all" and not config.claims:
        rule = "judges nothing but claims, and the study has none"
        document.refuse(("family",), rule, config.family, "all", "Add `claims:`, or remove `family`")


def _refuse_for_one_condition(config: StudyConfig, document: Document) -> None:
    """Refuses what is about several conditions in a study that has one."""
    asked = {"over": config.over != "each", "along": config.along is not None, "scale": bool(config.scale)}
    for key, is_given in asked.items():
        if is_given:
            rule = "is about several conditions, and the study has one"
            document.refuse((key,), rule, hint=f"Add `conditions:`, or remove `{key}`")


def _check_names(draft: Draft) -> None:
    """Refuses conditions with the words that tables have for verdicts over conditions."""
    reserved = Over(draft.config.over, draft.config.along or "").reserved_names
    for condition in draft.conditions:
        if condition.name in reserved:
            rule = "is what tables call a verdict over conditions"
            allowed = f"any name but {', '.join(reserved)}"
            draft.document.refuse(condition.at, rule, condition.name, allowed, "Rename the condition")


def _check_scale(names: Sequence[str], config: StudyConfig, document: Document) -> None:
    """Refuses scales of what is no condition, and scales that nothing uses."""
    unknown = [name for name in config.scale if name not in names]
    for name in unknown:
        document.refuse(("scale", name), "is not a condition", name, listed(names), nearest(name, names))
    if unknown:
        return
    is_used = config.over == "mean" or config.along is not None
    if config.scale and not is_used and not any(" by more at " in claim for claim in config.claims):
        rule = "changes nothing: it is for `over: mean`, `along`, and claims `by more at NAME than at NAME`"
        document.refuse(("scale",), rule, hint="Remove it")


def _check_along(draft: Draft, path: str, names: Sequence[str], metric: str) -> None:
    """Refuses a path along which the conditions of a study have no trend."""
    with draft.document.reporting("along"):
        if len(names) < LEAST_TREND:
            rule = f"needs {LEAST_TREND} conditions or more, and the study has two"
            claim = f"A beats B on {metric or 'METRIC'} by more at {names[1]} than at {names[0]}"
            raise Invalid("", rule, path, hint=f"Remove `along`, and claim `{claim}`")
        rule = _obstacle_along(path, draft.conditions)
        if rule:
            others = [other for other in _patched_paths(draft.conditions) if other != path]
            allowed = listed(other for other in others if not _obstacle_along(other, draft.conditions))
            raise Invalid("", rule, path, allowed)


def _patched_paths(conditions: Sequence[Condition]) -> list[str]:
    """Returns the paths that a condition patches and the configs of all conditions have, each path once."""
    paths: dict[str, None] = {}
    for condition in conditions:
        paths |= dict.fromkeys(condition.patches)
    return [path for path in paths if all(has_path(condition.config, path) for condition in conditions)]


def _obstacle_along(path: str, conditions: Sequence[Condition]) -> str:
    """Returns why the conditions have no trend along a path; empty where they have one.

    Raises `Invalid` for a path that leads nowhere.
    """
    sizes: dict[float, str] = {}
    for condition in conditions:
        value = value_at(condition.config, path)
        if isinstance(value, Mapping):
            return f"must lead to a number, and is a section in {condition.name}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"must be a number in every condition, and is {short_label(value)} in {condition.name}"
        if value <= 0:
            return f"must be above 0 in every condition, and is {value} in {condition.name}"
        if value in sizes:
            return f"must differ in each condition, and is {value} in {sizes[value]} and {condition.name}"
        sizes[value] = condition.name
    return ""


def _check_metric(draft: Draft, metric: str, descriptions: Sequence[Description]) -> None:
    """Refuses verdicts over conditions where one lacks the judged metric, or its differences cannot be added."""
    config = draft.config
    document = draft.document
    addends = Addends(draft.tasks, descriptions, config.scale)
    if config.over != "each":
        with document.reporting("over"):
            addends.check_shared(metric, config.over)
            if config.over == "mean":
                instead = "Write `over: every`, which judges each condition by itself"
                addends.check(metric, config.over, instead)
    if config.over == "mean" and config.metric.margin is not None:
        with document.reporting("metric", "margin"):
            addends.check_margin(config.metric.margin, metric, config.metric.margin)
    if config.along is not None:
        with document.reporting("along"):
            addends.check_shared(metric, config.along)
            addends.check(metric, config.along, "Remove `along`")
