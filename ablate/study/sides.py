"""The variants that the sides of a claim name.

A side is the name of a variant; or `path=level`, which is the mean over the other factors where the design crosses
them; or several levels joined by commas, in any order, which are the one variant that has these levels and the
baseline's on every other path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.short_names import levels_in
from ablate.study.designs.design import Design
from ablate.study.document import parse_value
from ablate.study.suggestions import did_you_mean, elsewhere

ITSELF = "compares a variant with itself"


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
            rule = (
                ITSELF
                if set(found[0]) == set(found[1])
                else f"has {joined(sorted(both))} on both of its sides"
            )
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
            at.refuse(
                path != other, "", f"takes two levels of one factor, not of {path} and {other}", self.text
            )
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
            raise self._invalid(
                f"unknown variant {name!r}", listed(variants), nearest(name, [*variants, *levels])
            )
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
            hint = elsewhere(path, dict.fromkeys(paths)) or nearest(path, paths)
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
            raise self._invalid(
                f"{side.name} is only in variants that change other paths too", listed(having)
            )
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
