"""Designs: the contract of which combinations are trained, the variants that they make, and what stands at a level."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ablate.base.registry import PartConfig
from ablate.study.document import PathKey
from ablate.study.labels import level_labels, short_label
from ablate.study.patch import has_path, key_of, value_at

T = TypeVar("T")
Effect = tuple[str, ...]
"""The path of a factor, or of two that interact."""
Config = dict[str, Any]
Resolve = Callable[[Mapping[str, Any]], Config]
"""Validates a config and fills in its defaults; raises `Invalid` with paths from the config's root."""


class Kind(ABC):
    """Base of designs, parts of the slot `design`; each is one file beside this one."""

    name: ClassVar[str]
    crosses: ClassVar[bool] = False
    "Whether it varies several factors at once, so that a level in a claim is the mean over the other factors."
    collapses: ClassVar[bool] = False
    "Whether combinations that are one config, since a level removes the path of another, are one variant."

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

    def words(self, study: Any) -> str:
        """What a reader of the plan should know of its trainings; nothing where the variants say all."""
        return ""


@dataclass(frozen=True)
class Variant:
    """One configuration of the study, for each of its tasks."""

    name: str
    configs: list[Config]
    "Resolved, one a task."
    patches: Mapping[str, Any] = field(default_factory=dict)
    "Path → value: what it changes in the baseline."
    at: PathKey = ()
    "Where the study file asks for it."
    placebo: bool = False
    tuned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    "Task → path → label of the value that a search has chosen."
    given: list[Config] | None = None
    "Its configs before a search has chosen; None where none has."


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
    factors: Mapping[str, list[Level]]
    "Path → the levels that change something."
    paths: list[str]
    "Every path that some variant changes."
    kind: Kind | None = None
    "None where it could not be read."
    _labels: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def crosses(self) -> bool:
        """Whether a level stands for the mean over the other factors."""
        return self.kind is not None and self.kind.crosses

    def labels(self, path: str) -> dict[str, str]:
        """Variant → label of its level at `path`; empty where the variant has no such path."""
        if path not in self._labels:
            found = labels_of(self.variants, path, self.factors.get(path, ()))
            self._labels[path] = dict(zip((v.name for v in self.variants), found, strict=True))
        return self._labels[path]

    def having(self, levels: Mapping[str, str]) -> list[Variant]:
        """The variants that have some levels, by label."""
        labels = {path: self.labels(path) for path in levels}
        return [
            v for v in self.variants if not v.placebo and all(labels[p][v.name] == levels[p] for p in levels)
        ]

    def at(self, levels: Mapping[str, str], *, cell: bool) -> list[str]:
        """The variants at some levels, by label: a `cell` is the one that changes nothing else.

        Otherwise, where the design crosses its factors, all of them: their mean is that over the other factors.
        """
        having = self.having(levels)
        if self.crosses and not cell:
            return [v.name for v in having if v.at[:1] != ("variants",)]
        return [v.name for v in having if v.patches.keys() <= levels.keys()][:1]

    @cached_property
    def aliases(self) -> list[list[Effect]]:
        """Sets of effects that its cells cannot tell apart."""
        return [] if self.kind is None else self.kind.aliases({p: len(of) for p, of in self.factors.items()})


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
