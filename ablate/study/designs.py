"""Designs: which combinations are trained, the variants that they make, and what stands at a level."""

import itertools
import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from ablate.base.errors import Gather, Invalid, Problem, listed, nearest
from ablate.base.registry import PartConfig, register
from ablate.study.document import PathKey
from ablate.study.patch import has_path, key_of, level_labels, short_label, value_at

T = TypeVar("T")
# The path of a factor, or of two that interact.
Effect = tuple[str, ...]
Config = dict[str, Any]
# Validates a config and fills in its defaults; raises `Invalid` with paths from the config's root.
Resolve = Callable[[Mapping[str, Any]], Config]


class Kind(ABC):
    """Base of designs, parts of the slot `design`."""

    name: ClassVar[str]
    # Whether it varies several factors at once, so that a level in a claim is the mean over the other factors.
    crosses: ClassVar[bool] = False
    # Whether combinations that are one config, since a level removes the path of another, are one variant.
    collapses: ClassVar[bool] = False

    def __init__(self, config: Any = None) -> None:
        self.config: Any = PartConfig() if config is None else config

    def check(self, levels: Mapping[str, int], study: Any) -> None:  # noqa: B027
        """Raises `Invalid`, with paths from the root of the study, for what it cannot take.

        `levels`: path of a factor → number of its levels beside the baseline's.
        """

    @abstractmethod
    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """The combinations that are trained beside the baseline: of each factor a level, or None for the baseline's."""

    def aliases(self, levels: Mapping[str, int]) -> list[list[Effect]]:
        """Sets of two effects and more that it cannot tell apart, of factors with so many levels."""
        return []


@dataclass(frozen=True)
class Variant:
    """One configuration of the study, for each of its tasks."""

    name: str
    # Resolved, one a task.
    configs: list[Config]
    # Path → value: what it changes in the baseline.
    patches: Mapping[str, Any] = field(default_factory=dict)
    # Where the study file asks for it.
    at: PathKey = ()
    placebo: bool = False
    # Task → path → label of the value that a search has chosen.
    tuned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Task → name → config: itself at the settings that tuning cannot tell from the chosen one.
    runner_ups: Mapping[str, Mapping[str, Config]] = field(default_factory=dict)
    # Task → its config on each seed of the study, where every seed has chosen its own.
    by_seed: Mapping[str, Sequence[Config]] = field(default_factory=dict)


@dataclass(frozen=True)
class Level:
    """One level of a factor that is not the baseline's."""

    value: Any
    configs: list[Config]
    at: PathKey


@dataclass(frozen=True)
class Design:
    """The variants of a study, the baseline first, and the labels of their levels."""

    variants: list[Variant]
    # Path → the levels that change something.
    factors: Mapping[str, list[Level]]
    # Every path that some variant changes.
    paths: list[str]
    kind: Kind

    @cached_property
    def labels(self) -> dict[str, dict[str, str]]:
        """Path → variant → label of its level; empty where the variant has no such path."""
        names = [variant.name for variant in self.variants]
        return {
            path: dict(zip(names, labels_of(self.variants, path, self.factors.get(path, ())), strict=True))
            for path in self.paths
        }

    def having(self, levels: Mapping[str, str]) -> list[Variant]:
        """The variants that have some levels, by label."""
        return [
            variant
            for variant in self.variants
            if not variant.placebo and all(self.labels[p][variant.name] == of for p, of in levels.items())
        ]

    def at(self, levels: Mapping[str, str], *, cell: bool) -> list[str]:
        """The variants at some levels, by label: a `cell` is the one that changes nothing else.

        Otherwise, where the design crosses its factors, all of them: their mean is that over the other factors.
        """
        having = self.having(levels)
        if self.kind.crosses and not cell:
            return [v.name for v in having if v.at[:1] != ("variants",)]
        return [v.name for v in having if v.patches.keys() <= levels.keys()][:1]

    @cached_property
    def aliases(self) -> list[list[Effect]]:
        """Sets of effects that its cells cannot tell apart."""
        return self.kind.aliases({p: len(of) for p, of in self.factors.items()})


def labels_of(variants: list[Variant], path: str, levels: Iterable[Level]) -> list[str]:
    """The label of each variant's level at `path`.

    A level of a factor is what its patch makes of the baseline alone: another factor further down changes no label.
    """
    alone = {key_of(level.value): value_at(level.configs[0], path) for level in levels}

    def changed(variant: Variant) -> Any:
        own = value_at(variant.configs[0], path)
        # One that is named by hand, or was found by a search, may change more of a part on paths further down.
        return alone.get(key_of(variant.patches[path]), own) if variant.at[:1] == ("factors",) else own

    baseline = value_at(variants[0].configs[0], path)
    patched = {i: changed(variant) for i, variant in enumerate(variants) if path in variant.patches}
    labels = level_labels([baseline, *alone.values(), *patched.values()])

    def label(index: int, variant: Variant) -> str:
        if index in patched:
            return labels[key_of(patched[index])]
        if not has_path(variant.configs[0], path):
            return ""
        inside = any(path.startswith(f"{outer}.") for outer in variant.patches)
        value = value_at(variant.configs[0], path) if inside else baseline
        return labels.get(key_of(value)) or short_label(value)

    return [label(index, variant) for index, variant in enumerate(variants)]


@register("design", "one_factor")
class OneFactor(Kind):
    """One change at a time: each level of each factor beside the baseline."""

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        places = range(len(levels))
        return (
            tuple(level if i == place else None for i in places)
            for place in places
            for level in levels[place]
        )


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
        """See `Kind`: not more than anyone trains."""
        count = math.prod(number + 1 for number in levels.values())
        if count > MAX_VARIANTS:
            rule = f"make {count:,} combinations; a factorial can have {MAX_VARIANTS:,}"
            raise Invalid("factors", rule, hint="Use `design: one_factor`, or fewer levels")

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        return itertools.islice(itertools.product(*((None, *of) for of in levels)), 1, None)


# Resolution → number of factors → the generators: for each factor after the first, A, B, …, those that make it.
FRACTIONS: dict[int, dict[int, str]] = {
    3: {
        3: "AB",
        4: "ABC",
        5: "AB AC",
        6: "AB AC BC",
        7: "AB AC BC ABC",
        8: "ABC ABD ACD BCD",
        9: "AB AC AD BCD ABCD",
        10: "AB AC BC AD BCD ABCD",
        11: "AB AC BC AD BD ACD BCD",
    },
    4: {
        4: "ABC",
        5: "ABCD",
        6: "ABC ABD",
        7: "ABC ABD ACD",
        8: "ABC ABD ACD BCD",
        9: "ABC ABD ABE ACDE",
        10: "ABC ABD ABE ACDE BCDE",
        11: "ABC ABD ACD ABE ACE ADE",
    },
    5: {
        5: "ABCD",
        6: "ABCDE",
        7: "ABCDEF",
        8: "ABCD ABEF",
        9: "ABCDE ABCFG",
        10: "ABCD ABEF ACEG",
        11: "ABCD ABEF ACEG BDFG",
    },
}
MAX_FACTORS = max(FRACTIONS[3])


@register("design", "path")
class Path(Kind):
    """A greedy path from the baseline to a variant: each step adds the change that helps most.

    Which change that is, validation data say on tuning seeds, which never judge: the best of several is lucky, and on
    the seeds that chose it would look better than it is. Each configuration of the path is then trained on the seeds
    of the study, and judged against the baseline. After the ablation paths of Fawcett and Hoos 2016, J. Heuristics 22,
    431–458.
    """

    class Config(PartConfig):
        """Where the path leads, and how much its choices may cost."""

        to: str
        "The variant, named under `variants:`, that changes several paths."
        seeds: Annotated[int, Field(ge=1, le=1_000)] = 3
        "Tuning seeds, from 10,000 on, on which steps are chosen."

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """See `Kind`: a target of several changes, on one task, without factors of its own."""
        to, variants = self.config.to, study.variants
        with Gather() as at:
            at.refuse(
                to not in variants,
                "design.to",
                "is no variant that is named under `variants:`",
                to,
                listed(variants),
                nearest(to, variants),
            )
            at.refuse(
                len(variants.get(to, "two")) < 2,
                "design.to",
                "changes one path only, and a path takes several",
                to,
            )
            at.refuse(levels, "factors", "have no part in a path, whose changes are those of its variant")
            at.refuse(
                len(getattr(study, "tasks", ())) > 1, "tasks", "are several, and a path is chosen on one"
            )

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """See `Kind`: none before the steps are chosen."""
        return iter(())


@register("design", "fractional")
class Fractional(Kind):
    """The fewest combinations of two levels a factor that keep a resolution: a regular 2^(k−p) fraction.

    At resolution 3 no two main effects are seen as one, at 4 no main effect and interaction of two, at 5 no two
    interactions of two. Of the fractions with the fewest combinations that hold the baseline it is the one of minimum
    aberration (Fries and Hunter 1980, Technometrics 22, 601–608).
    """

    crosses = True

    class Config(PartConfig):
        """How little the fraction may tell apart."""

        resolution: Literal[3, 4, 5] = 4
        "The least number of factors in a product that is the same in every combination."

    def check(self, levels: Mapping[str, int], study: Any) -> None:
        """See `Kind`: two levels a factor, and at least as many factors as the resolution."""
        rule = "has several levels, and a fraction takes two of each factor: the baseline's and one other"
        several = [
            Problem(rule, ("factors", path), number + 1) for path, number in levels.items() if number > 1
        ]
        if several:
            raise Invalid.many(several)
        count, resolution = len(levels), self.config.resolution
        if count < resolution:
            rule = f"does not exist: a fraction of resolution {resolution} takes {resolution} factors or more"
            raise Invalid(
                "design.resolution", rule, resolution, hint="Use `design: factorial`, or a lower one"
            )
        if count > MAX_FACTORS:
            raise Invalid("factors", "are too many for a fraction", count, f"at most {MAX_FACTORS}")

    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        chosen = cells(len(levels), self.config.resolution)[1:]
        return (tuple(of[0] if on else None for of, on in zip(levels, cell, strict=True)) for cell in chosen)

    def aliases(self, levels: Mapping[str, int]) -> list[list[Effect]]:
        chosen, found = cells(len(levels), self.config.resolution), defaultdict(list)
        for effect in (*combinations(range(len(levels)), 1), *combinations(range(len(levels)), 2)):
            # Its contrast over the cells, up to its sign: that of an interaction is the product of two factors'.
            contrast = tuple(sum(cell[i] for i in effect) % 2 for cell in chosen)
            found[contrast].append(tuple(list(levels)[i] for i in effect))
        return [together for together in found.values() if len(together) > 1]


def cells(num_factors: int, resolution: int) -> list[tuple[bool, ...]]:
    """Which factors have their other level in each of 2^(k−p) cells, the baseline's first, where none has.

    The first k − p factors take every combination; each of the others is the sum, modulo 2, of some of these.
    """
    words = FRACTIONS[resolution][num_factors].split()
    basic = "ABCDEFG"[: num_factors - len(words)]
    found = []
    for last_to_first in itertools.product((False, True), repeat=len(basic)):
        on = dict(zip(basic, reversed(last_to_first), strict=True))
        found.append((*on.values(), *(sum(on[factor] for factor in word) % 2 == 1 for word in words)))
    return found
