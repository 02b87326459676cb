"""The variants that the sides of a claim name."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.facts import Less
from ablate.core.short_names import levels_in
from ablate.study.claim_grammar import Statement
from ablate.study.designs import Design, Variant
from ablate.study.plain_yaml import parse_value
from ablate.study.suggestions import did_you_mean, elsewhere, meanings


@dataclass(frozen=True)
class Sides:
    """The variants that a claim compares, A with B."""

    a: list[str] = field(default_factory=list)
    b: list[str] = field(default_factory=list)
    less: Less | None = None
    # The name of B where it is a constant of the task, and no variant.
    constant: str = ""


@dataclass(frozen=True)
class _Side:
    """A or B as a claim names it."""

    name: str
    # Path → label.
    levels: Mapping[str, str]
    # Whether it is one variant, whatever the design.
    is_cell: bool


@dataclass(frozen=True)
class _FactorLevel:
    """One level of a factor, by label, as it follows `at`."""

    path: str
    label: str

    def __str__(self) -> str:
        return f"{self.path}={self.label}"


def find_sides(statement: Statement, design: Design, constants: Mapping[str, Collection[str]]) -> Sides:
    """Returns the variants that a claim compares; raises `Invalid` with everything that is wrong with its sides.

    `constants`: constant of the task → the metrics that it has a value of.
    """
    return _Finder(statement, design, constants).find()


@dataclass(frozen=True)
class _Finder:
    """The look-up of one claim; every method raises `Invalid` with everything that is wrong."""

    statement: Statement
    design: Design
    constants: Mapping[str, Collection[str]]

    def find(self) -> Sides:
        """Returns the variants that the claim compares."""
        sides, factor_levels = self._names()
        side_a, side_b = sides
        self._check_constants(side_a.name, side_b.name)
        if factor_levels:
            self._check_crossed(sides, factor_levels)
        a, b, *less = self._variants(sides, factor_levels)
        self._check_distinct(a, b)
        constant = side_b.name if self._is_constant(side_b.name) else ""
        if self.statement.kind != "interaction":
            return Sides(a, b, constant=constant)
        # On two slices, the same sides are compared twice.
        a_less, b_less = less or (a, b)
        return Sides(a, b, Less(a_less, b_less, self.statement.metrics[-1]), constant)

    def _invalid(self, rule: str, allowed: str = "", hint: str = "") -> Invalid:
        return Invalid("", rule, self.statement.text, allowed, hint)

    def _is_constant(self, name: str) -> bool:
        """Returns whether a name is that of a constant, and of no variant."""
        return name in self.constants and all(name != variant.name for variant in self.design.variants)

    def _names(self) -> tuple[list[_Side], list[_FactorLevel]]:
        """Returns A and B, and the two levels of an interaction of levels."""
        sides: list[_Side] = []
        factor_levels: list[_FactorLevel] = []
        with Gather() as at:
            for name in (self.statement.a, self.statement.b):
                with at():
                    sides.append(self._side(name))
            for name in self.statement.places:
                with at():
                    levels = self._levels(name)
                    factor_levels += [_FactorLevel(path, label) for path, label in levels.items()]
                    if len(list(levels_in(name))) > 1:
                        raise self._invalid(f"takes one PATH=level after `at`, not {name!r}")
        return sides, factor_levels

    def _side(self, name: str) -> _Side:
        variants = {variant.name: variant for variant in self.design.variants}
        if name in variants and not self._is_mean(variants[name]):
            levels = {path: self.design.labels[path][name] for path in variants[name].patches}
            return _Side(name, levels, is_cell=True)
        if self._is_constant(name):
            return _Side(name, {}, is_cell=True)
        if "=" not in name:
            raise self._unknown_variant(name)
        levels = self._levels(name)
        return _Side(name, levels, is_cell=len(levels) > 1)

    def _is_mean(self, variant: Variant) -> bool:
        """Returns whether the name of a variant means all variants at the level that it names.

        So it does where the design crosses its factors: one level alone is the mean over the other factors.
        """
        if not self.design.kind.crosses or variant.at[:1] == ("variants",):
            return False
        return "=" in variant.name and len(list(levels_in(variant.name))) == 1

    def _unknown_variant(self, name: str) -> Invalid:
        variants = [variant.name for variant in self.design.variants]
        levels: dict[str, str] = {}
        for path in self.design.paths:
            for label in sorted(set(self.design.labels[path].values())):
                levels[f"{path}={label}"] = label
        meant = [repr(self._usual_name(level)) for level, label in levels.items() if meanings(name, [label])]
        hint = f"Did you mean {' or '.join(meant)}?" if meant else nearest(name, [*variants, *levels])
        _, is_placed, condition = name.partition(" at ")
        if is_placed:
            hint = f"Write `on {self.statement.metric} at {condition}`"
        allowed = [*dict.fromkeys([*variants, *map(self._usual_name, levels), *self.constants])]
        return self._invalid(f"unknown variant {name!r}", listed(allowed), hint)

    def _usual_name(self, level: str) -> str:
        """Returns the name of the one variant at a level, written `PATH=level`, where the design crosses none."""
        if self.design.kind.crosses:
            return level
        at_level = self.design.at(dict(levels_in(level)), cell=False)
        return at_level[0] if len(at_level) == 1 else level

    def _levels(self, name: str) -> dict[str, str]:
        """Returns path → label of a `PATH=level`, or of several that commas join."""
        levels: dict[str, str] = {}
        with Gather() as at:
            for path, label in levels_in(name):
                at.refuse(path in levels, "", f"{name} names {path} twice", self.statement.text)
                with at():
                    levels[path] = self._label(path, label)
        return levels

    def _label(self, path: str, given: str) -> str:
        """Returns the label of a level that some variant has: as given, or one that YAML reads alike."""
        paths = self.design.paths
        if path not in paths:
            hint = elsewhere(path, paths) or nearest(path, paths)
            raise self._invalid(f"unknown factor {path!r}", listed(paths), hint)
        labels = sorted(set(self.design.labels[path].values()) - {""})
        if given in labels:
            return given
        for label in labels:
            if _yaml_reads_alike(label, given):
                return label
        raise self._invalid(f"{path} has no level {given!r}", listed(labels), did_you_mean(given, labels))

    def _check_constants(self, a: str, b: str) -> None:
        """Raises `Invalid` where A is a constant, or B one without the metrics of the claim."""
        metrics = self.statement.metrics
        if self._is_constant(a):
            rule = f"begins with {a}, a constant of the task; only the second side may be a constant"
            raise self._invalid(rule)
        if self._is_constant(b) and not set(metrics) <= set(self.constants[b]):
            raise self._invalid(f"{b} has no value of {joined(metrics)}", listed(self.constants[b]))

    def _check_crossed(self, sides: Sequence[_Side], factor_levels: Sequence[_FactorLevel]) -> None:
        """Raises `Invalid` unless an interaction takes two levels of a factor that neither side sets.

        The design must be able to tell it apart from other effects.
        """
        more, less = factor_levels
        if more.path != less.path or more.label == less.label:
            raise self._invalid(f"takes two levels of one factor, not {more} and {less}")
        for side in sides:
            if more.path in side.levels:
                raise self._invalid(f"{side.name} itself sets {more.path}, the factor after `at`")
            if not side.is_cell:
                for path in side.levels:
                    self._check_not_aliased(frozenset((more.path, path)))

    def _check_not_aliased(self, interaction: frozenset[str]) -> None:
        """Raises `Invalid` for an interaction that the design sees as one with another effect."""
        for aliases in self.design.aliases:
            others = [" × ".join(effect) for effect in aliases if frozenset(effect) != interaction]
            if len(others) < len(aliases):
                effect = " × ".join(sorted(interaction))
                rule = f"is about {effect}, which this design cannot tell apart from {joined(others)}"
                hint = "Use a fraction of a higher resolution, or `design: factorial`"
                raise self._invalid(rule, hint=hint)

    def _check_distinct(self, a: list[str], b: list[str]) -> None:
        """Raises `Invalid` for a variant that is on both sides."""
        both = set(a) & set(b)
        if not both:
            return
        hint = ""
        if self.design.kind.crosses:
            hint = "`path=level` alone is the mean over the other factors; several levels are one variant"
        raise self._invalid(f"compares {joined(sorted(both))} with itself", hint=hint)

    def _variants(self, sides: Sequence[_Side], factor_levels: Sequence[_FactorLevel]) -> list[list[str]]:
        """Returns the variants of A and of B.

        Of an interaction of levels, these are those at its first level, then those at its second.
        """
        variants: list[list[str]] = []
        places: Sequence[_FactorLevel | None] = factor_levels or [None]
        with Gather() as at:
            for factor_level in places:
                for side in sides:
                    with at():
                        variants.append(self._variants_of(side, factor_level))
        return variants

    def _variants_of(self, side: _Side, factor_level: _FactorLevel | None) -> list[str]:
        """Returns the variants of a side, at one more level where there is one."""
        if self._is_constant(side.name):
            return [side.name]
        levels = dict(side.levels)
        if factor_level:
            levels[factor_level.path] = factor_level.label
        if not self._is_by_name_alone(side):
            variants = self.design.at(levels, cell=side.is_cell)
        elif factor_level:
            variants = []  # It has no counterpart at another level.
        else:
            variants = [side.name]
        if not variants:
            raise self._no_variant(side, factor_level, levels)
        return variants

    def _is_by_name_alone(self, side: _Side) -> bool:
        """Returns whether a side is a variant that its levels do not lead to: a placebo, or one yet to be found.

        Both have the levels of the baseline, which lead to the baseline.
        """
        return "=" not in side.name and self.design.at(side.levels, cell=side.is_cell) != [side.name]

    def _no_variant(
        self, side: _Side, factor_level: _FactorLevel | None, levels: Mapping[str, str]
    ) -> Invalid:
        named = f"{side.name} at {factor_level}" if factor_level else side.name
        having = [variant.name for variant in self.design.having(levels)]
        hint = "Name the variant under `variants:`"
        if not self.design.kind.crosses:
            hint += ", or use `design: factorial`, which crosses its factors"
        return self._invalid(f"no variant has exactly {named}", listed(having), hint)


def _yaml_reads_alike(one: str, other: str) -> bool:
    """Returns whether YAML reads two labels as the same value (`true` and `on`); a number is no switch."""
    value = _yaml_value(one)
    other_value = _yaml_value(other)
    return isinstance(value, bool) == isinstance(other_value, bool) and value == other_value


def _yaml_value(label: str) -> object:
    """Returns the value of a label as YAML reads it, on and off as switches."""
    if label in ("on", "off"):
        return label == "on"
    try:
        return parse_value(label)
    except ValueError:
        return label
