"""The variants that the sides of a claim name.

A side is the name of a variant; or `path=level`, which is the mean over the other factors where the design crosses
them; or several levels joined by commas, in any order, which are the one variant that has these levels and the
baseline's on every other path.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.short_names import levels_in
from ablate.study.designs.design import Design
from ablate.study.document import parse_value
from ablate.study.suggestions import did_you_mean, elsewhere


@dataclass(frozen=True)
class Refused:
    """What a study gives and what is refused there, so that it is in no design: no claim about it is a mistake."""

    variants: Collection[str] = ()
    "Names."
    levels: Mapping[str, Collection[str]] = field(default_factory=dict)
    "Path of a factor → names of its levels; none where they cannot be read."
    lost: Collection[str] = ()
    "Paths of factors that do not exist."
    everything: bool = False
    "Whether its factors or variants cannot be read at all."

    def has(self, side: str) -> bool:
        """Whether a side of a claim names something of this."""
        if self.everything or side in self.variants:
            return True
        return "=" in side and any(self._has(path, level) for path, level in levels_in(side))

    def _has(self, path: str, level: str) -> bool:
        if path not in self.levels:
            # A path of `factors:` that does not exist may stand for the one that the claim names.
            return any(path.endswith(f".{lost}") or nearest(path, [lost]) for lost in self.lost)
        levels = self.levels[path]
        return not levels or _label(level.partition("(")[0], levels) is not None


NOTHING = Refused()
ITSELF = "compares a variant with itself"


@dataclass(frozen=True)
class _Side:
    """One side as it is named."""

    name: str
    levels: Mapping[str, str]
    "Path → label."
    cell: bool
    "Whether it is one variant, whatever the design."


def compared(names: Sequence[str], text: str, design: Design, refused: Refused) -> list[list[str]]:
    """The variants of A and of B of the claim `text`; none of a side that names what is refused.

    Raises `Invalid` with everything that is wrong.
    """
    found = []
    with Gather() as at:
        for name in names:
            with at():
                side = _read(name, text, design, refused)
                found.append([] if side is None else _variants(side, text, design))
        both = set(found[0]) & set(found[1]) if len(found) == 2 else set()
        alone = "`path=level` alone is the mean over the other factors; more levels, joined by commas, are one variant"
        rule = (
            ITSELF
            if set().union(*found) == both
            else f"has {' and '.join(sorted(both))} on both of its sides"
        )
        at.refuse(bool(both), "", rule, text, hint=alone if design.crosses else "")
    return found


def crossed(
    names: Sequence[str], levels: Sequence[str], text: str, design: Design, refused: Refused
) -> list[list[str]]:
    """The variants of A and B at the first of two `PATH=level`, then at the second, as `compared` gives them."""
    found, at_levels = [], []
    with Gather() as at:
        for name in names:
            with at():
                found.append(_read(name, text, design, refused))
        for name in levels:
            with at():
                at_levels.append(_level_of_one(name, text, design, refused))
    sides, pairs = [side for side in found if side], [level for level in at_levels if level]
    if len(sides) < 2 or len(pairs) < 2:
        return [[]]
    (path, more), (other, less) = pairs
    with Gather() as at:
        at.refuse(path != other, "", f"takes two levels of one factor, not of {path} and {other}", text)
        at.refuse(pairs[0] == pairs[1], "", f"names {path}={more} twice, not two levels of {path}", text)
        for side in sides:
            at.refuse(path in side.levels, "", f"{side.name} itself sets {path}, the factor after `at`", text)
        at.refuse(sides[0].levels == sides[1].levels, "", ITSELF, text)
    return _cells(sides, path, [more, less], text, design)


def _cells(sides: list[_Side], path: str, levels: list[str], text: str, design: Design) -> list[list[str]]:
    """The variants of each side at each level of `path`; raises `Invalid` with those that are not there."""
    for effect in {frozenset((path, own)) for side in sides if not side.cell for own in side.levels}:
        for together in design.aliases:
            same = [" × ".join(other) for other in together if frozenset(other) != effect]
            if len(same) < len(together):
                rule = (
                    f"is about {' × '.join(sorted(effect))}, which the design sees as one with {joined(same)}"
                )
                hint = "Use a fraction of a higher resolution, or `design: factorial`"
                raise Invalid("", rule, text, hint=hint)
    found, missing = [], []
    for level in levels:
        for side in sides:
            itself = design.at(side.levels, cell=side.cell)
            known = "=" in side.name or itself == [side.name]  # a placebo has no counterpart elsewhere
            found.append(design.at({**side.levels, path: level}, cell=side.cell) if known else [])
            if not found[-1]:
                missing.append(f"{side.name} at {path}={level}")
    if missing:
        rule = f"needs {joined(missing)}, which the design does not train"
        raise Invalid(
            "", rule, text, hint=_to_have([path, *(p for side in sides for p in side.levels)], design)
        )
    return found


def _read(name: str, text: str, design: Design, refused: Refused) -> _Side | None:
    """A side; None where it names what is refused."""
    variants = {v.name: v for v in design.variants}
    pieces = list(levels_in(name)) if "=" in name else []
    if name in variants and not (design.crosses and _is_level(pieces, design)):
        return _Side(name, {p: design.labels(p)[name] for p in variants[name].patches}, True)
    if refused.has(name):
        return None
    if not pieces:
        known = [
            *variants,
            *(f"{p}={level}" for p in design.paths for level in set(design.labels(p).values())),
        ]
        raise Invalid("", f"unknown variant {name!r}", text, listed(variants), nearest(name, known))
    levels: dict[str, str] = {}
    with Gather() as at:
        for path, level in pieces:
            at.refuse(path in levels, "", f"{name} names {path} twice", text)
            with at():
                levels[path] = _level(path, level, text, design, refused)
    return _Side(name, levels, len(levels) > 1)


def _is_level(pieces: Sequence[tuple[str, str]], design: Design) -> bool:
    """Whether the name of a variant is also that of a level, whose mean over the other factors it then means."""
    return len(pieces) == 1 and pieces[0][1] in design.labels(pieces[0][0]).values()


def _level(path: str, level: str, text: str, design: Design, refused: Refused) -> str:
    """The label of a level that some variant has."""
    if path not in (*design.paths, *refused.levels):
        hint = elsewhere(path, dict.fromkeys(design.paths)) or nearest(path, design.paths)
        raise Invalid("", f"unknown factor {path!r}", text, listed(design.paths), hint)
    labels = design.labels(path).values() if path in design.paths else ()
    wanted = _label(level, set(labels))
    if wanted is None:
        found = sorted({*labels, *refused.levels.get(path, ())} - {""})
        raise Invalid("", f"{path} has no level {level!r}", text, listed(found), did_you_mean(level, found))
    return wanted


def _level_of_one(name: str, text: str, design: Design, refused: Refused) -> tuple[str, str] | None:
    """The `PATH=level` of an interaction; None where it names what is refused."""
    if refused.has(name):
        return None
    pieces = list(levels_in(name))
    if len(pieces) != 1 or "=" not in name:
        raise Invalid("", f"takes one PATH=level after `at`, not {name!r}", text, listed(design.paths))
    ((path, level),) = pieces
    return path, _level(path, level, text, design, refused)


def _variants(side: _Side, text: str, design: Design) -> list[str]:
    """The variants of a side of a comparison; raises `Invalid` where there is none."""
    found = design.at(side.levels, cell=side.cell) if "=" in side.name else [side.name]
    if found:
        return found
    having = [v.name for v in design.having(side.levels)]
    if not having:
        rule, hint = f"no variant has all levels of {side.name}", _to_have(side.levels, design)
        raise Invalid("", rule, text, hint=hint)
    raise Invalid("", f"{side.name} is only in variants that change other paths too", text, listed(having))


def _to_have(paths: Collection[str], design: Design) -> str:
    """What to change in a study that lacks a combination of levels at some paths."""
    if design.crosses:
        return "A level may remove the path of another, or the design may leave the combination out"
    if all(path in design.factors for path in paths):
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
