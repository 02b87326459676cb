"""The contract of designs, the variants that they make, and the labels of levels."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ablate.base.registry import PartConfig
from ablate.study.patch import has_path, key_of, level_labels, short_label, value_at
from ablate.study.plain_yaml import PathKey

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
        """Raises `Invalid`, with paths from the root of the study, for factors that it cannot take.

        `levels`: path of a factor → number of its levels beside the baseline's.
        """

    @abstractmethod
    def combinations(self, levels: Sequence[Sequence[T]]) -> Iterator[tuple[T | None, ...]]:
        """Returns the combinations to train beside the baseline: a level of each factor, or None for the baseline's."""

    def aliases(self, levels: Mapping[str, int]) -> list[list[Effect]]:
        """Returns sets of two effects and more that it cannot tell apart.

        `levels` are those of `check`.
        """
        return []


@dataclass(frozen=True)
class Variant:
    """A variant of the study, with its configuration on each task."""

    name: str
    # Task of the study file → the resolved config there.
    configs: Mapping[str, Config]
    # Path → value that it changes in the baseline.
    patches: Mapping[str, Any] = field(default_factory=dict)
    # Where the study file asks for it.
    at: PathKey = ()
    placebo: bool = False
    # Task → path → label of the value that a search has chosen.
    tuned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Task → name → config of the variant at a setting that tuning cannot tell from the chosen one.
    runner_ups: Mapping[str, Mapping[str, Config]] = field(default_factory=dict)
    # Task → its config on each seed of the study, where each seed has chosen one.
    by_seed: Mapping[str, Sequence[Config]] = field(default_factory=dict)

    @property
    def first_config(self) -> Config:
        """The config on the first task of the study file."""
        return first_of(self.configs)


@dataclass(frozen=True)
class Level:
    """One level of a factor that is not the baseline's."""

    value: Any
    # Task of the study file → the config of the baseline with it.
    configs: Mapping[str, Config]
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
        labels: dict[str, dict[str, str]] = {}
        for path in self.paths:
            labels_at_path = labels_of(self.variants, path, self.factors.get(path, ()))
            labels[path] = dict(zip(names, labels_at_path, strict=True))
        return labels

    @cached_property
    def aliases(self) -> list[list[Effect]]:
        """Sets of effects that its variants cannot tell apart."""
        return self.kind.aliases({path: len(levels) for path, levels in self.factors.items()})

    def having(self, levels: Mapping[str, str]) -> list[Variant]:
        """Returns the variants that have some levels, by label."""
        return [variant for variant in self.variants if not variant.placebo and self._has(variant, levels)]

    def _has(self, variant: Variant, levels: Mapping[str, str]) -> bool:
        return all(self.labels[path][variant.name] == label for path, label in levels.items())

    def at(self, levels: Mapping[str, str], *, cell: bool) -> list[str]:
        """Returns the names of the variants at some levels, by label.

        A `cell` is the one variant that changes nothing else. Otherwise, where the design crosses its factors, all of
        them: their mean is that over the other factors.
        """
        having = self.having(levels)
        if self.kind.crosses and not cell:
            return [variant.name for variant in having if variant.at[:1] != ("variants",)]
        for variant in having:
            if variant.patches.keys() <= levels.keys():
                return [variant.name]
        return []


def first_of(configs: Mapping[str, Config]) -> Config:
    """Returns the config on the first task; `configs`: task → config."""
    return next(iter(configs.values()))


def labels_of(variants: list[Variant], path: str, levels: Iterable[Level]) -> list[str]:
    """Returns the label of each variant's level at `path`; an empty one where it has no such path.

    The baseline is the first of `variants`. A level of a factor is what its patch makes of the baseline alone: another
    factor further down changes no label.
    """
    baseline = value_at(variants[0].first_config, path)
    # JSON of the value of a patch → what it makes of the baseline alone.
    alone = {key_of(level.value): value_at(first_of(level.configs), path) for level in levels}
    # Index of a variant that changes the path → the value of its level.
    changed: dict[int, Any] = {}
    for index, variant in enumerate(variants):
        if path in variant.patches:
            changed[index] = _changed_value(variant, path, alone)
    labels = level_labels([baseline, *alone.values(), *changed.values()])

    labels_by_variant: list[str] = []
    for index, variant in enumerate(variants):
        if index in changed:
            label = labels[key_of(changed[index])]
        elif has_path(variant.first_config, path):
            value = _unchanged_value(variant, path, baseline)
            label = labels.get(key_of(value)) or short_label(value)
        else:
            label = ""
        labels_by_variant.append(label)
    return labels_by_variant


def _changed_value(variant: Variant, path: str, alone: Mapping[str, Any]) -> Any:
    """Returns the value of the level of a variant that changes `path`."""
    value = value_at(variant.first_config, path)
    # A variant that is named by hand, or was found by a search, may change more of a part on paths further down.
    if variant.at[:1] != ("factors",):
        return value
    return alone.get(key_of(variant.patches[path]), value)


def _unchanged_value(variant: Variant, path: str, baseline: Any) -> Any:
    """Returns the value at `path` of a variant that may change only a part around it."""
    if any(path.startswith(f"{outer}.") for outer in variant.patches):
        return value_at(variant.first_config, path)
    return baseline
