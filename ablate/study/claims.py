"""The grammar of claims, and the variants that they compare.

    A beats B on METRIC [by X]
    A matches B on METRIC within X
    A does not lose to B on METRIC within X
    A beats B on METRIC by more at PATH=y than at PATH=x

A side, A or B, is the name of a variant; or `path=level`, which is the mean over the other factors where the design
crosses them; or several levels joined by commas, in any order, which are the one variant that has these levels and the
baseline's on every other path.
"""

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.base.wording import joined
from ablate.core.derived import DERIVED
from ablate.core.facts import INTERACTION, Claim
from ablate.core.metric import Metric, plain
from ablate.core.short_names import levels_in
from ablate.study.designs import Design
from ablate.study.document import parse_value
from ablate.study.patch import did_you_mean, elsewhere, meanings

GRAMMAR = (
    "`A beats B on METRIC [by X]`, `A matches B on METRIC within X`, `A does not lose to B on METRIC within X`, "
    "`A beats B on METRIC by more at PATH=y than at PATH=x`, where A and B are variants or path=level"
)
VERBS = ("beats", "matches", "lose")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
# What a claim may lack.
_WORDS = ("X", "to", "by", "within", "within X", "on METRIC", "on METRIC within X", "than at PATH=x")
# What some say → how a claim says it.
_REWORDED = (
    (r"(\S+) (?:is |are )?better than (\S+)", r"\1 beats \2"),
    (r"(\S+) (?:is |are )?worse than (\S+)", r"\2 beats \1"),
)
_COMPARED = r"(?P<a>.+?) {} (?P<b>.+?) on (?P<metric>\S+)"
# The first that matches a claim is its kind.
_PATTERNS = [
    (kind, re.compile(pattern))
    for kind, pattern in (
        (INTERACTION, r"(?P<a>.+?) beats (?P<b>.+?) by more on (?P<metric>\S+) than on (?P<metric_less>\S+)"),
        ("beats", _COMPARED.format("beats") + r"(?: by (?P<by>\S+))?"),
        ("matches", _COMPARED.format("matches") + r" within (?P<by>\S+)"),
        ("does_not_lose", _COMPARED.format("does not lose to") + r" within (?P<by>\S+)"),
        (INTERACTION, _COMPARED.format("beats") + r" by more at (?P<more>.+?) than at (?P<less>.+)"),
    )
]


@dataclass(frozen=True)
class Claimable:
    """Metrics that claims may use."""

    # Of several tasks, those with the smallest range.
    metrics: Mapping[str, Metric]
    # Derived metric that the study cannot give → what it would have to give for it.
    lacking: Mapping[str, str] = field(default_factory=dict)
    # Constant of every task → the metrics that it has a value of.
    constants: Mapping[str, Collection[str]] = field(default_factory=dict)


def parse_claim(text: str, design: Design | None, known: Claimable) -> Claim:
    """Reads a claim about the variants of `design`; without one, its sides are not looked up.

    Where no metrics are `known`, any name may be one. Raises `Invalid` with everything that is wrong.
    """
    text = " ".join(text.split())
    matches = [(kind, m) for kind, pattern in _PATTERNS if (m := pattern.fullmatch(text))]
    if not matches:
        on = "" if " on " in text else " on METRIC"
        hints = [f"Write: {re.sub(old, new, text)}{on}" for old, new in _REWORDED if re.match(old, text)]
        hints += [nearest(word, VERBS) for word in text.split() if word not in (*VERBS, "on", "within", "by")]
        raise Invalid("", "is not a claim", text, GRAMMAR, _lacking(text) or next(filter(None, hints), ""))
    kind, match = matches[0]
    named = match.groupdict()
    metric, less, by = named["metric"], named.get("metric_less") or "", 0.0
    sides: list[list[str]] = []
    constant = ""
    with Gather() as at:
        for name in filter(None, (metric, less)):
            rule = f"is about {name}, which this study cannot tell"
            at.refuse(name in known.lacking, "", rule, text, hint=known.lacking.get(name, ""))
            unknown = known.metrics and name not in {**known.metrics, **known.lacking}
            allowed, hint = listed(known.metrics), nearest(name, known.metrics)
            at.refuse(bool(unknown), "", f"unknown metric {name!r}", text, allowed, hint)
        alike = not less or (plain(metric) == plain(less) and metric != less)
        at.refuse(not alike, "", f"takes one metric on two slices, not {metric} and {less}", text)
        if kind == INTERACTION:
            over_seeds = metric in DERIVED and DERIVED[metric].kind != "mean"
            rule = f"an interaction takes a metric that each run has, and {metric} is none"
            at.refuse(over_seeds, "", rule, text, hint="Claim each of the two differences")
        elif named["by"] is not None:
            with at():
                by = _margin(named["by"], text, positive=kind != "beats")
                check_margin(by, metric, known.metrics, text)
        if design is not None:
            with at():
                reader = _Reader(text, design, known.constants)
                sides, constant = reader.sides(named), named["b"] if reader.constant(named["b"]) else ""
    # On two slices, the same sides are compared twice.
    a, b, a_less, b_less = [*sides, *(sides if less else ()), [], [], [], []][:4]
    return Claim(
        *(text, kind, metric, a, b, by), a_less=a_less, b_less=b_less, constant=constant, metric_less=less
    )


def _lacking(text: str) -> str:
    """`Add: within X`, where that makes a claim of a text; or nothing."""
    words = text.split()
    added = [more for more in _WORDS if not more.startswith("on") or "on" not in words]
    tried = ((more, [*words[:i], more, *words[i:]]) for more in added for i in range(1, len(words) + 1))
    found = (more for more, all_words in tried if any(p.fullmatch(" ".join(all_words)) for _, p in _PATTERNS))
    return next((f"Add: {more}" for more in found), "")


def check_margin(margin: float, metric: str, metrics: Mapping[str, Metric], given: Any) -> None:
    """Raises `Invalid` for a margin that not even guessing and the best value differ by."""
    span = metrics[metric].span if metric in metrics else None
    if span is not None and margin >= span:
        rule = f"a margin must be less than the range of {metric}, or everything is equivalent"
        raise Invalid("", rule, given, f"less than {span:g}, the distance from guessing to the best {metric}")


def _margin(given: str, text: str, positive: bool) -> float:
    value = float(given) if _NUMBER.fullmatch(given) else math.nan
    if not 0 <= value < math.inf or (positive and value == 0):
        rule = f"has a margin that is no {'positive' if positive else 'finite'} number: {given!r}"
        raise Invalid("", rule, text, f"for instance `{'within' if positive else 'by'} 0.02`")
    return value


@dataclass(frozen=True)
class _Side:
    """A or B as it is named."""

    name: str
    # Path → label.
    levels: Mapping[str, str]
    # Whether it is one variant, whatever the design.
    cell: bool


@dataclass(frozen=True)
class _Reader:
    """Reads the sides of one claim; every method raises `Invalid` with everything that is wrong."""

    text: str
    design: Design
    constants: Mapping[str, Collection[str]]

    def sides(self, named: Mapping[str, str]) -> list[list[str]]:
        """The variants of A and of B; of an interaction, these at the first of its levels, then at the second."""
        found: dict[str, _Side] = {}
        pairs: list[tuple[str, str]] = []
        with Gather() as at:
            for name in (named["a"], named["b"]):
                with at():
                    found[name] = self._side(name)
            for name in filter(None, (named.get("more"), named.get("less"))):
                with at():
                    pairs += self._levels(name).items()
                    several = len([*levels_in(name)]) > 1
                    at.refuse(several, "", f"takes one PATH=level after `at`, not {name!r}", self.text)
        a, b = found[named["a"]], found[named["b"]]
        self._check_constants(a.name, b.name, [named["metric"], *filter(None, [named.get("metric_less")])])
        if pairs:
            self._check_crossed((a, b), pairs)
        variants: list[list[str]] = []
        with Gather() as at:
            for level, side in itertools.product(pairs or (None,), (a, b)):
                with at():
                    variants.append(self._variants(side, level))
        if both := set(variants[0]) & set(variants[1]):
            hint = "`path=level` alone is the mean over the other factors; several levels are one variant"
            raise self._invalid(
                f"compares {joined(sorted(both))} with itself", hint=hint if self.design.kind.crosses else ""
            )
        return variants

    def _invalid(self, rule: str, allowed: str = "", hint: str = "") -> Invalid:
        return Invalid("", rule, self.text, allowed, hint)

    def constant(self, name: str) -> bool:
        """Whether it is the name of a constant, and of no variant."""
        return name in self.constants and all(name != variant.name for variant in self.design.variants)

    def _check_constants(self, a: str, b: str, metrics: Sequence[str]) -> None:
        """Only B may be one, on metrics that it has a value of."""
        if self.constant(a):
            raise self._invalid(
                f"begins with {a}, which is a constant of the task: only the second side may be one"
            )
        if self.constant(b) and not {*metrics} <= {*self.constants[b]}:
            raise self._invalid(f"{b} has no value of {joined(metrics)}", listed(self.constants[b]))

    def _check_crossed(self, sides: Sequence[_Side], pairs: Sequence[tuple[str, str]]) -> None:
        """An interaction takes two levels of a factor that neither side sets, and that the design can tell apart."""
        (path, more), (other, less) = pairs
        if path != other or more == less:
            raise self._invalid(f"takes two levels of one factor, not {path}={more} and {other}={less}")
        for side in sides:
            if path in side.levels:
                raise self._invalid(f"{side.name} itself sets {path}, the factor after `at`")
            effects = [frozenset((path, own)) for own in side.levels if not side.cell]
            for effect, together in itertools.product(effects, self.design.aliases):
                same = [" × ".join(each) for each in together if frozenset(each) != effect]
                if len(same) < len(together):
                    rule = f"is about {' × '.join(sorted(effect))}, which the design sees as one with {joined(same)}"
                    hint = "Use a fraction of a higher resolution, or `design: factorial`"
                    raise self._invalid(rule, hint=hint)

    def _side(self, name: str) -> _Side:
        design, variants = self.design, {v.name: v for v in self.design.variants}
        # A name that is also that of a level means, where the design crosses, the mean over the other factors.
        alone = design.kind.crosses and "=" in name and len(list(levels_in(name))) == 1
        if name in variants and not (alone and variants[name].at[:1] != ("variants",)):
            return _Side(name, {p: design.labels[p][name] for p in variants[name].patches}, True)
        if self.constant(name):
            return _Side(name, {}, True)
        if "=" not in name:
            levels = {
                f"{p}={level}": level for p in design.paths for level in sorted({*design.labels[p].values()})
            }
            named = [repr(full) for full, level in levels.items() if meanings(name, [level])]
            hint = f"Did you mean {' or '.join(named)}?" if named else nearest(name, [*variants, *levels])
            raise self._invalid(f"unknown variant {name!r}", listed([*variants, *self.constants]), hint)
        found = self._levels(name)
        return _Side(name, found, len(found) > 1)

    def _levels(self, name: str) -> dict[str, str]:
        """Path → label of a `PATH=level`, or several joined by commas."""
        found: dict[str, str] = {}
        with Gather() as at:
            for path, level in levels_in(name):
                at.refuse(path in found, "", f"{name} names {path} twice", self.text)
                with at():
                    found[path] = self._label(path, level)
        return found

    def _label(self, path: str, level: str) -> str:
        """The label of a level that some variant has: itself, or one that YAML reads alike (`true` for `on`)."""
        if path not in self.design.paths:
            hint = elsewhere(path, self.design.paths) or nearest(path, self.design.paths)
            raise self._invalid(f"unknown factor {path!r}", listed(self.design.paths), hint)
        labels = sorted({*self.design.labels[path].values()} - {""})
        alike = [label for label in labels if label == level or _read(label) == _read(level)]
        if not alike:
            raise self._invalid(f"{path} has no level {level!r}", listed(labels), did_you_mean(level, labels))
        return level if level in alike else alike[0]

    def _variants(self, side: _Side, level: tuple[str, str] | None) -> list[str]:
        """Those of a side, at one more level where there is one."""
        there = dict([level]) if level else {}
        named = f"{side.name}{''.join(f' at {path}={label}' for path, label in there.items())}"
        if self.constant(side.name):
            return [side.name]
        if "=" not in side.name and self.design.at(side.levels, cell=side.cell) != [side.name]:
            found = [] if there else [side.name]  # a placebo has no counterpart
        else:
            found = self.design.at({**side.levels, **there}, cell=side.cell)
        if not found:
            having = [v.name for v in self.design.having({**side.levels, **there})]
            hint = "Name the variant under `variants:`"
            hint += (
                "" if self.design.kind.crosses else ", or use `design: factorial`, which crosses its factors"
            )
            raise self._invalid(f"no variant has {named} and nothing else", listed(having), hint)
        return found


def _read(label: str) -> tuple[bool, Any]:
    """What YAML reads; a number is no switch."""
    try:
        value = {"on": True, "off": False}.get(label, parse_value(label))
    except ValueError:
        value = label
    return isinstance(value, bool), value
