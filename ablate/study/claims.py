"""The grammar of claims, and the variants that they compare.

    A beats B on METRIC [by X]
    A matches B on METRIC within X
    A does not lose to B on METRIC within X
    A beats B on METRIC by more at PATH=y than at PATH=x

A side, A or B, is the name of a variant; or `path=level`, which is the mean over the other factors where the design
crosses them; or several levels joined by commas, in any order, which are the one variant that has these levels and the
baseline's on every other path.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.facts import INTERACTION, Claim
from ablate.core.feature import derived
from ablate.core.metric import Metric
from ablate.core.short_names import levels_in
from ablate.study.designs.design import Design
from ablate.study.document import parse_value
from ablate.study.suggestions import did_you_mean, elsewhere

GRAMMAR = (
    "`A beats B on METRIC [by X]`, `A matches B on METRIC within X`, `A does not lose to B on METRIC within X`, "
    "`A beats B on METRIC by more at PATH=y than at PATH=x`, where A and B are variants or path=level"
)
VERBS = ("beats", "matches", "lose")
_COMPARED = r"(?P<a>.+?) {} (?P<b>.+?) on (?P<metric>\S+)"
_PATTERNS = {
    kind: re.compile(_COMPARED.format(verb) + rest)
    for kind, verb, rest in (
        ("beats", "beats", r"(?: by (?P<by>\S+))?"),
        ("matches", "matches", r" within (?P<by>\S+)"),
        ("does_not_lose", "does not lose to", r" within (?P<by>\S+)"),
        (INTERACTION, "beats", r" by more at (?P<more>.+?) than at (?P<less>.+)"),
    )
}
ITSELF = "compares a variant with itself"


@dataclass(frozen=True)
class Claimable:
    """Metrics that claims may use."""

    metrics: Mapping[str, Metric]
    ranges: Mapping[str, float] = field(default_factory=dict)
    "The range of each that has one; the smallest, of several tasks."
    lacking: Mapping[str, str] = field(default_factory=dict)
    "Derived metric that the study cannot give → what it would have to give for it."


def parse_claim(text: str, design: Design | None, known: Claimable) -> Claim:
    """Reads a claim about the variants of `design`; without one, its sides are not looked up.

    Where no metrics are `known`, any name may be one. Raises `Invalid` with everything that is wrong.
    """
    text = " ".join(text.split())
    matches = [(kind, m) for kind, pattern in _PATTERNS.items() if (m := pattern.fullmatch(text))]
    if not matches:
        hints = (nearest(word, VERBS) for word in text.split() if word not in (*VERBS, "on", "within", "by"))
        raise Invalid("", "is not a claim", text, GRAMMAR, next(filter(None, hints), ""))
    kind, match = matches[0]
    metric, names, by = match["metric"], match.group("a", "b"), 0.0
    sides: list[list[str]] = []
    with Gather() as at:
        if metric in known.lacking:
            rule = f"is about {metric}, which this study cannot tell"
            at.refuse(True, "", rule, text, hint=known.lacking[metric])
        elif known.metrics and metric not in known.metrics:
            allowed, hint = listed(known.metrics), nearest(metric, known.metrics)
            at.refuse(True, "", f"unknown metric {metric!r}", text, allowed, hint)
        if kind == INTERACTION:
            over_seeds = metric in derived() and derived()[metric].kind != "mean"
            rule = f"an interaction takes a metric that each run has, and {metric} is none"
            at.refuse(over_seeds, "", rule, text, hint="Claim each of the two differences")
        elif match["by"] is not None:
            with at():
                by = _number(match["by"], text, positive=kind != "beats")
                check_margin(by, metric, known.ranges, text)
        if design is not None:
            levels = match.group("more", "less") if kind == INTERACTION else ()
            reader = Sides(text, design)
            with at():
                sides = reader.crossed(names, levels) if levels else reader.compared(names)
    a, b, a_less, b_less = [*sides, [], [], [], []][:4]
    return Claim(text, kind, metric, a, b, by, a_less=a_less, b_less=b_less)


def check_margin(margin: float, metric: str, ranges: Mapping[str, float], given: Any) -> None:
    """Raises `Invalid` for a margin that not even guessing and the best value differ by: metric → that difference."""
    if metric in ranges and margin >= ranges[metric]:
        rule = f"a margin must be less than the range of {metric}, or everything is equivalent"
        allowed = f"less than {ranges[metric]:g}, the distance from guessing to the best {metric}"
        raise Invalid("", rule, given, allowed)


def _number(given: str, text: str, positive: bool) -> float:
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or (positive and value == 0):
        rule = f"has a margin that is no {'positive' if positive else 'finite'} number: {given!r}"
        raise Invalid("", rule, text, f"for instance `{'within' if positive else 'by'} 0.02`")
    return value


@dataclass(frozen=True)
class _Side:
    """One side as it is named."""

    name: str
    levels: Mapping[str, str]
    "Path → label."
    cell: bool
    "Whether it is one variant, whatever the design."


@dataclass(frozen=True)
class Sides:
    """Reads the sides of one claim; every method raises `Invalid` with everything that is wrong."""

    text: str
    design: Design

    def compared(self, names: Sequence[str]) -> list[list[str]]:
        """The variants of A and of B."""
        found: list[list[str]] = []
        with Gather() as at:
            for name in names:
                with at():
                    found.append(self._variants(self._read(name)))
        both = set(found[0]) & set(found[1])
        if both:
            alone = "`path=level` alone is the mean over the other factors; several levels are one variant"
            same = both == {*found[0], *found[1]}
            rule = ITSELF if same else f"has {joined(sorted(both))} on both of its sides"
            raise self._invalid(rule, hint=alone if self.design.crosses else "")
        return found

    def crossed(self, names: Sequence[str], levels: Sequence[str]) -> list[list[str]]:
        """The variants of A and B at the first of two `PATH=level`, then at the second."""
        sides: list[_Side] = []
        pairs: list[tuple[str, str]] = []
        with Gather() as at:
            for name in names:
                with at():
                    sides.append(self._read(name))
            for name in levels:
                with at():
                    pairs.append(self._level_of_one(name))
        (path, more), (other, less) = pairs
        with Gather() as at:
            rule = f"takes two levels of one factor, not of {path} and {other}"
            at.refuse(path != other, "", rule, self.text)
            rule = f"names {path}={more} twice, not two levels of {path}"
            at.refuse(pairs[0] == pairs[1], "", rule, self.text)
            for side in sides:
                rule = f"{side.name} itself sets {path}, the factor after `at`"
                at.refuse(path in side.levels, "", rule, self.text)
            at.refuse(sides[0].levels == sides[1].levels, "", ITSELF, self.text)
        self._check_aliases(sides, path)
        found, missing = [], []
        for level in (more, less):
            for side in sides:
                itself = self.design.at(side.levels, cell=side.cell)
                known = "=" in side.name or itself == [side.name]  # a placebo has no counterpart elsewhere
                there = {**side.levels, path: level}
                found.append(self.design.at(there, cell=side.cell) if known else [])
                missing += [] if found[-1] else [f"{side.name} at {path}={level}"]
        if missing:
            hint = self._to_have([path, *(p for side in sides for p in side.levels)])
            raise self._invalid(f"needs {joined(missing)}, which the design does not train", hint=hint)
        return found

    def _invalid(self, rule: str, allowed: str = "", hint: str = "") -> Invalid:
        return Invalid("", rule, self.text, allowed, hint)

    def _check_aliases(self, sides: Sequence[_Side], path: str) -> None:
        """An interaction that a fraction sees as one with another effect cannot be told."""
        for effect in {frozenset((path, own)) for side in sides if not side.cell for own in side.levels}:
            for together in self.design.aliases:
                same = [" × ".join(other) for other in together if frozenset(other) != effect]
                if len(same) < len(together):
                    about = " × ".join(sorted(effect))
                    raise self._invalid(
                        f"is about {about}, which the design sees as one with {joined(same)}",
                        hint="Use a fraction of a higher resolution, or `design: factorial`",
                    )

    def _read(self, name: str) -> _Side:
        design, variants = self.design, {v.name: v for v in self.design.variants}
        pieces = list(levels_in(name)) if "=" in name else []
        # A name that is also that of a level means, where the design crosses, the mean over the other factors.
        if name in variants and not (
            design.crosses and len(pieces) == 1 and pieces[0][1] in design.labels(pieces[0][0]).values()
        ):
            return _Side(name, {p: design.labels(p)[name] for p in variants[name].patches}, True)
        if not pieces:
            levels = [f"{p}={level}" for p in design.paths for level in set(design.labels(p).values())]
            hint = nearest(name, [*variants, *levels])
            raise self._invalid(f"unknown variant {name!r}", listed(variants), hint)
        found: dict[str, str] = {}
        with Gather() as at:
            for path, level in pieces:
                at.refuse(path in found, "", f"{name} names {path} twice", self.text)
                with at():
                    found[path] = self._level(path, level)
        return _Side(name, found, len(found) > 1)

    def _level(self, path: str, level: str) -> str:
        """The label of a level that some variant has."""
        paths = self.design.paths
        if path not in paths:
            hint = elsewhere(path, paths) or nearest(path, paths)
            raise self._invalid(f"unknown factor {path!r}", listed(paths), hint)
        labels = sorted({*self.design.labels(path).values()} - {""})
        wanted = _label(level, labels)
        if wanted is None:
            raise self._invalid(f"{path} has no level {level!r}", listed(labels), did_you_mean(level, labels))
        return wanted

    def _level_of_one(self, name: str) -> tuple[str, str]:
        """The `PATH=level` of an interaction."""
        pieces = list(levels_in(name))
        if len(pieces) != 1 or "=" not in name:
            raise self._invalid(f"takes one PATH=level after `at`, not {name!r}", listed(self.design.paths))
        ((path, level),) = pieces
        return path, self._level(path, level)

    def _variants(self, side: _Side) -> list[str]:
        found = self.design.at(side.levels, cell=side.cell) if "=" in side.name else [side.name]
        if found:
            return found
        having = [v.name for v in self.design.having(side.levels)]
        if having:
            rule = f"{side.name} is only in variants that change other paths too"
            raise self._invalid(rule, listed(having))
        raise self._invalid(f"no variant has all levels of {side.name}", hint=self._to_have(side.levels))

    def _to_have(self, paths: Collection[str]) -> str:
        """What to change in a study that lacks a combination of levels at some paths."""
        if self.design.crosses:
            return "A level may remove the path of another, or the design may leave the combination out"
        if all(path in self.design.factors for path in paths):
            return "Use `design: factorial`, which crosses its factors, or name the variant under `variants:`"
        return "Name the variant under `variants:`"


def _label(level: str, labels: Collection[str]) -> str | None:
    """The label that `level` means: itself, or one that YAML reads alike (`true` for `on`, `3e-3` for `0.003`)."""
    if level in labels:
        return level
    try:
        value = parse_value(level)
    except ValueError:
        return None
    for label in labels:
        read = {"on": True, "off": False}.get(label, parse_value(label) if "(" not in label else label)
        if read == value and isinstance(read, bool) == isinstance(value, bool):
            return label
    return None
