"""A greedy path from the baseline to a variant that changes several things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from ablate.base.errors import Gather, listed, nearest
from ablate.base.registry import PartConfig, register
from ablate.base.wording import counted
from ablate.study.designs.design import Kind, T

MAX_CHANGES = 20


@register("design", "path")
class Path(Kind):
    """A greedy path from the baseline to a variant: each step adds the change that helps most.

    Which change that is, validation data say on tuning seeds, which never judge: the best of several is lucky, and on
    the seeds that chose it would look better than it is. Each configuration of the path is then trained on the seeds
    of the study, and judged against the baseline and against the one before it. After the ablation paths
    of Fawcett and Hoos 2016, J. Heuristics 22, 431–458.
    """

    walks = True

    class Config(PartConfig):
        """Where the path leads, and how much its choices may cost."""

        to: str
        "The variant, named under `variants:`, that changes several paths."
        seeds: Annotated[int, Field(ge=1, le=1_000)] = 3
        "Tuning seeds, from 10,000 on, on which steps are chosen."

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """See `Kind`: a target of several changes, on one task, without factors of its own or a search."""
        to, variants = self.config.to, study.variants
        count = len(variants.get(to, ()))
        with Gather() as at:
            rule = "is no variant that is named under `variants:`"
            at.refuse(to not in variants, "design.to", rule, to, listed(variants), nearest(to, variants))
            rule = f"has {counted(count, 'change')}, and a path takes from 2 to {MAX_CHANGES}"
            at.refuse(to in variants and not 2 <= count <= MAX_CHANGES, "design.to", rule, to)
            at.refuse(levels, "factors", "have no part in a path, whose changes are those of its variant")
            for section in ("search", "tune"):
                given = getattr(study, section) is not None
                at.refuse(given, section, "cannot go with a path, which takes the settings of the study")
            at.refuse(
                len(getattr(study, "tasks", ())) > 1, "tasks", "are several, and a path is chosen on one"
            )

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`: none before the steps are chosen."""
        return iter(())

    def words(self, study: Any) -> str:
        """See `Kind`."""
        count = len(study.variants[self.config.to])
        most = (count * (count + 1) // 2 - 1) * self.config.seeds
        return (
            f"the {count} steps to {self.config.to} are chosen on validation data of "
            f"{counted(self.config.seeds, 'tuning seed')}, from 10000 on: at most {most} trainings beside those of the "
            f"{count + 1} configurations of the path, which the seeds of the study judge"
        )
