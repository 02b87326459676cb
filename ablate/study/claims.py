"""The grammar of claims, and the variants that they compare.

    A beats B on METRIC [by X]
    A matches B on METRIC within X
    A does not lose to B on METRIC within X

A and B are names of variants, or `path=level`.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ablate.base.errors import Invalid, listed, nearest
from ablate.core.claim import Claim
from ablate.study.designs import Design
from ablate.study.document import parse_value

GRAMMAR = (
    "`A beats B on METRIC [by X]`, `A matches B on METRIC within X`, `A does not lose to B on METRIC within X`, "
    "where A and B are variants or path=level"
)
_PATTERNS = {
    "beats": re.compile(r"(?P<a>.+?) beats (?P<b>.+?) on (?P<metric>\S+)(?: by (?P<by>\S+))?"),
    "matches": re.compile(r"(?P<a>.+?) matches (?P<b>.+?) on (?P<metric>\S+) within (?P<by>\S+)"),
    "does_not_lose": re.compile(
        r"(?P<a>.+?) does not lose to (?P<b>.+?) on (?P<metric>\S+) within (?P<by>\S+)"
    ),
}


def parse_claim(text: str, design: Design, metrics: Collection[str]) -> Claim:
    """Reads a claim about the variants of `design`; raises `Invalid`. Without `metrics`, any name may be one."""
    text = " ".join(text.split())
    matches = [(kind, m) for kind, pattern in _PATTERNS.items() if (m := pattern.fullmatch(text))]
    if not matches:
        raise Invalid("", "is not a claim", text, GRAMMAR)
    kind, match = matches[0]
    metric = match["metric"]
    if metrics and metric not in metrics:
        raise Invalid("", f"unknown metric {metric!r}", text, listed(metrics), nearest(metric, metrics))
    by = _number(match["by"], text, positive=kind != "beats")
    a, b = (_side(match[side], text, design) for side in ("a", "b"))
    if set(a) & set(b):
        raise Invalid("", "compares a variant with itself", text)
    return Claim(text, kind, metric, a, b, by)


def _number(given: str | None, text: str, positive: bool) -> float:
    if given is None:
        return 0.0
    try:
        value = float(given)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf") or (positive and value == 0):
        raise Invalid(
            "",
            f"has a margin that is no {'positive ' if positive else ''}number: {given!r}",
            text,
            "for instance `within 0.02`",
        )
    return value


def _side(side: str, text: str, design: Design) -> list[str]:
    """The variants that one side of a claim names."""
    names = [v.name for v in design.variants]
    path, equals, level = side.partition("=")
    is_level = path in design.paths and level in design.labels(path).values()
    if side in names and not (design.factorial and is_level):
        return [side]
    if not equals or path not in design.paths:
        known = names + [f"{p}={label}" for p in design.paths for label in set(design.labels(p).values())]
        what = f"unknown factor {path!r}" if equals else f"unknown variant {side!r}"
        raise Invalid("", what, text, listed(design.paths if equals else names), nearest(side, known))
    labels = design.labels(path)
    wanted = _label(level, set(labels.values()))
    if wanted is None:
        found = sorted(set(labels.values()))
        raise Invalid("", f"{path} has no level {level!r}", text, listed(found), nearest(level, found))
    having = [v for v in design.variants if labels[v.name] == wanted and not v.placebo]
    if design.factorial:
        return [v.name for v in having if v.at[:1] != ("variants",)]
    alone = [v.name for v in having if set(v.patches) <= {path}]
    if not alone:
        raise Invalid(
            "",
            f"{side} is only in variants that change other paths too",
            text,
            listed(v.name for v in having),
        )
    return alone[:1]


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
