"""`match:` every variant is given as much of one quantity as the baseline has, by one setting that may change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ablate.base.errors import Invalid
from ablate.core.facts import Matched
from ablate.core.workload import Workload
from ablate.study.designs import Config, Resolve
from ablate.study.nearest import Number, has_effect, nearest
from ablate.study.patch import apply_patches, value_at
from ablate.study.sections.search import MatchSection

NOUNS = {
    "parameters": "parameters",
    "flops": "FLOPs of a forward pass",
    "compute": "FLOPs of the whole training",
    "seconds": "seconds of training",
}

Rate = Callable[[Config], float | None]
"""Seconds of one training step of a config; None where it was not measured."""


class Matcher:
    """Changes one setting of a config so that it has as much as it shall."""

    def __init__(
        self,
        match: MatchSection,
        workload: Workload,
        baseline: Sequence[Config],
        resolve: Resolve,
        rate: Rate | None = None,
    ) -> None:
        """`baseline` is resolved, one config a task; `rate` is needed to match seconds."""
        self.match = match
        self.workload = workload
        self.baseline = baseline
        self.resolve = resolve
        self.rate = rate
        self._known: dict[str, float | None] = {}
        self._matched: dict[tuple[str, int], tuple[Config, Matched]] = {}

    def __call__(self, config: Config, task_index: int = 0) -> tuple[Config, Matched]:
        """A resolved config with the setting changed, and what that gives; the config itself where it fits already.

        Raises `Invalid`, with the setting as its path, when the setting is not there, is no number, changes
        nothing, or misses the target by more than `within`.
        """
        key = (key_of(config), task_index)
        if key not in self._matched:
            self._matched[key] = self._solved(config, self.target(task_index))
        return self._matched[key]

    def given(self, config: Config, task_index: int = 0) -> Matched:
        """What a config that has been matched has."""
        return Matched(self.number(config), self.amount(config), self.target(task_index))

    def _solved(self, config: Config, target: float) -> tuple[Config, Matched]:
        by = self.match.by
        start, now = self.number(config), self.amount(config)
        if now == target:
            return config, Matched(start, now, target)
        found = nearest(self._along(config), start, target, whole=self.is_whole(config, start))
        if found is None:
            raise Invalid(by, f"has no effect on the {self.noun}", start, hint="Match by another path")
        matched = self.resolve(apply_patches(config, {by: found[0]}))
        result = Matched(value_at(matched, by), found[1], target)
        if abs(result.residual) > self.match.within:
            percent = f"{100 * result.residual:+.2f} %".replace("-", "−")
            raise Invalid(
                by,
                f"cannot give {self.wanted(target)} within {100 * self.match.within:.3g} %: the nearest is "
                f"{by} = {result.value:.6g}, with {self.shown(result.achieved)} ({percent})",
                start,
                hint="Match by another path, or allow more with `within`",
            )
        return matched, result

    @property
    def noun(self) -> str:
        """What is matched, in words."""
        return NOUNS[self.match.quantity]

    def target(self, task_index: int = 0) -> float:
        """What every config shall have; raises `Invalid` where the baseline's is not known."""
        if self.match.target == "baseline":
            return self.amount(self.baseline[task_index])
        return self.match.target

    def wanted(self, target: float) -> str:
        """The target in words."""
        of = "the baseline's " if self.match.target == "baseline" else ""
        return f"{of}{self.shown(target)} {self.noun}"

    def shown(self, amount: float) -> str:
        """An amount as an error shows it."""
        return f"{amount:.4g}" if self.match.quantity == "seconds" else f"{amount:,.0f}"

    def number(self, config: Config) -> Number:
        """The setting's value; raises `Invalid` when it does not exist or is no number."""
        by = self.match.by
        try:
            value = value_at(config, by)
        except Invalid as error:
            rules = error.problems[0]
            raise Invalid(by, "does not exist", allowed=rules.allowed, hint=rules.hint) from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Invalid(
                by, "must be a number, which is changed to match", value, hint="Match by another path"
            )
        return value

    def amount(self, config: Config) -> float:
        """How much of the quantity a config has; raises `Invalid` where it cannot be built or that is not known."""
        try:
            amount = self._amount(config)
        except Invalid:
            raise
        except Exception as error:
            raise Invalid("", f"cannot be built: {type(error).__name__}: {error}") from error
        if not amount:
            why = (
                "its rate was not measured" if self.match.quantity == "seconds" else "they cannot be counted"
            )
            raise Invalid("", f"has no known {self.noun}: {why}", hint="Match another quantity")
        return amount

    def is_whole(self, config: Config, value: Number) -> bool:
        """Whether the setting must be a whole number, by what the schema takes."""
        return isinstance(value, int) and all(self._with(config, value + d) is None for d in (0.5, -0.5))

    def has_effect(self, config: Config) -> bool:
        """Whether the setting changes the quantity at all."""
        start = self.number(config)
        return has_effect(self._along(config), start, whole=self.is_whole(config, start))

    def _along(self, config: Config) -> Callable[[Number], float | None]:
        """The quantity by the value of the setting; None where such a config cannot be built."""

        def quantity(value: Number) -> float | None:
            changed = self._with(config, value)
            if changed is None:
                return None
            try:
                self.workload.check(changed)
                return self._amount(changed)
            except Exception:
                # Whatever a part raises at a size that is none of the study's, it is stepped over.
                return None

        return quantity

    def _with(self, config: Config, value: Number) -> Config | None:
        try:
            return self.resolve(apply_patches(config, {self.match.by: value}))
        except Invalid:
            return None

    def _amount(self, config: Config) -> float | None:
        key = key_of(config)
        if key not in self._known:
            self._known[key] = self._counted(config)
        return self._known[key]

    def _counted(self, config: Config) -> float | None:
        quantity, workload = self.match.quantity, self.workload
        if quantity == "seconds":
            rate = self.rate(config) if self.rate else None
            return None if rate is None else rate * self.number(config)
        if quantity == "parameters":
            return workload.parameters(config)
        found: float | None = getattr(workload.describe(config), quantity)
        return found


def key_of(config: Any) -> str:
    """Equal for equal configs."""
    return json.dumps(config, sort_keys=True)
