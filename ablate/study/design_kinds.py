"""The designs that need no table: one factor at a time, leave one out, factorial, path."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.registry import PartConfig, register
from ablate.study.designs import Kind, T


@register("design", "one_factor")
class OneFactor(Kind):
    """One change at a time: each level of each factor beside the baseline."""

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """Yields each level of each factor, alone."""
        for index, levels_of_factor in enumerate(levels):
            for level in levels_of_factor:
                combination: list[T | None] = [None] * len(levels)
                combination[index] = level
                yield tuple(combination)


@register("design", "leave_one_out")
class LeaveOneOut(OneFactor):
    """A stack of changes laid over the baseline, each taken out in turn: what carries anything?"""

    class Config(PartConfig):
        stack: Annotated[dict[str, Any], Field(min_length=1)]
        "Path → value in the stack; without it, a path has the value that the study gives it."


MAX_VARIANTS = 100_000


@register("design", "factorial")
class Factorial(Kind):
    """Every combination of the levels of all factors. Where a level removes the path of another, they are one."""

    crosses = True
    collapses = True

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """Raises `Invalid` for more combinations than anyone trains."""
        count = math.prod(number + 1 for number in levels.values())
        if count > MAX_VARIANTS:
            rule = f"make {count:,} combinations; a factorial can have {MAX_VARIANTS:,}"
            raise Invalid("factors", rule, hint="Use `design: one_factor`, or fewer levels")

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """Returns the product of all levels, the baseline's among them, without the baseline itself."""
        with_baseline = [(None, *levels_of_factor) for levels_of_factor in levels]
        everything = itertools.product(*with_baseline)
        return itertools.islice(everything, 1, None)


@register("design", "path")
class Path(Kind):
    """A greedy path from the baseline to a variant: each step adds the change that helps most.

    Which change that is, validation data say on tuning seeds, which never judge: the best of several is lucky, and on
    the seeds that chose it would look better than it is. Each configuration of the path is then trained on the seeds
    of the study, and judged against the baseline. After the ablation paths of Fawcett and Hoos 2016, J. Heuristics 22,
    431–458.
    """

    class Config(PartConfig):
        """Names the variant at the end of the path, and how many tuning seeds choose each step."""

        to: str
        "The variant, named under `variants:`, that changes several paths."
        seeds: Annotated[int, Field(ge=1, le=1_000)] = 3
        "Tuning seeds, from 10,000 on, on which steps are chosen."

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """Raises `Invalid` unless the target changes several paths, on one task, without factors of the study."""
        with Gather() as at:
            with at():
                self._check_target(study.variants)
            at.refuse(
                levels,
                "factors",
                "cannot be used with `design: path`, which takes its changes from its variant",
            )
            num_tasks = len(getattr(study, "tasks", ()))
            at.refuse(num_tasks > 1, "tasks", "must be one task for `design: path`")
            at.refuse(len(study.conditions) > 1, "conditions", "must be one condition for `design: path`")

    def _check_target(self, variants: Mapping[str, Mapping[str, Any]]) -> None:
        target = self.config.to
        if target not in variants:
            rule = "is not under `variants:`"
            raise Invalid("design.to", rule, target, listed(variants), nearest(target, variants))
        if len(variants[target]) < 2:
            raise Invalid("design.to", "changes only one path; `design: path` takes two or more", target)

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """Returns none: the steps are chosen by trainings."""
        return iter(())
