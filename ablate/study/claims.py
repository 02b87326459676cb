"""The grammar of claims, and the variants that they compare.

    A beats B on METRIC [by X]
    A matches B on METRIC within X
    A does not lose to B on METRIC within X

A and B are names of variants, or `path=level`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.core.claim import Claim
from ablate.study.designs import Design
from ablate.study.document import parse_value
from ablate.study.suggestions import did_you_mean, elsewhere

GRAMMAR = (
    "`A beats B on METRIC [by X]`, `A matches B on METRIC within X`, `A does not lose to B on METRIC within X`, "
    "where A and B are variants or path=level"
)
VERBS = ("beats", "matches", "lose")
_PATTERNS = {
    "beats": re.compile(r"(?P<a>.+?) beats (?P<b>.+?) on (?P<metric>\S+)(?: by (?P<by>\S+))?"),
    "matches": re.compile(r"(?P<a>.+?) matches (?P<b>.+?) on (?P<metric>\S+) within (?P<by>\S+)"),
    "does_not_lose": re.compile(
        r"(?P<a>.+?) does not lose to (?P<b>.+?) on (?P<metric>\S+) within (?P<by>\S+)"
    ),
}


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
        path, _, level = side.partition("=")
        if self.everything or side in self.variants:
            return True
        if path not in self.levels:
            # A path of `factors:` that does not exist may stand for the one that the claim names.
            return "=" in side and any(
                path.endswith(f".{lost}") or nearest(path, [lost]) for lost in self.lost
            )
        levels = self.levels[path]
        return not levels or _label(level.partition("(")[0], levels) is not None


def parse_claim(
    text: str,
    design: Design,
    metrics: Collection[str],
    ranges: Mapping[str, float] | None = None,
    refused: Refused = Refused(),
    lacking: Mapping[str, str] = MappingProxyType({}),
) -> Claim | None:
    """Reads a claim about the variants of `design`; None for one about what is `refused`.

    Without `metrics`, any name may be one; `ranges` are those of `check_margin`; `lacking` of `Claimable`. Raises
    `Invalid` with everything that is wrong.
    """
    text = " ".join(text.split())
    matches = [(kind, m) for kind, pattern in _PATTERNS.items() if (m := pattern.fullmatch(text))]
    if not matches:
        hints = (nearest(word, VERBS) for word in text.split() if word not in (*VERBS, "on", "within", "by"))
        raise Invalid("", "is not a claim", text, GRAMMAR, next(filter(None, hints), ""))
    kind, match = matches[0]
    metric = match["metric"]
    by, sides = 0.0, {}
    with Gather() as at:
        if metric in lacking:
            at.refuse(
                True, "", f"is about {metric}, which this study cannot tell", text, hint=lacking[metric]
            )
        elif metrics and metric not in metrics:
            at.refuse(True, "", f"unknown metric {metric!r}", text, listed(metrics), nearest(metric, metrics))
        with at():
            by = _number(match["by"], text, positive=kind != "beats")
            check_margin(by, metric, ranges or {}, text)
        for side in ("a", "b"):
            with at():
                sides[side] = _side(match[side], text, design, refused)
        same = set(sides.get("a", ())) & set(sides.get("b", ()))
        at.refuse(same, "", "compares a variant with itself", text)
    return Claim(text, kind, metric, sides["a"], sides["b"], by) if all(sides.values()) else None


def check_margin(margin: float, metric: str, ranges: Mapping[str, float], given: Any) -> None:
    """Raises `Invalid` for a margin that not even guessing and the best value differ by: metric → that difference."""
    if metric in ranges and margin >= ranges[metric]:
        raise Invalid(
            "",
            f"a margin must be less than the range of {metric}, or everything is equivalent",
            given,
            f"less than {ranges[metric]:g}, the distance from guessing to the best {metric}",
        )


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


def _side(side: str, text: str, design: Design, refused: Refused) -> list[str]:
    """The variants that one side of a claim names; none where it names what is refused."""
    names = [v.name for v in design.variants]
    path, equals, level = side.partition("=")
    is_level = path in design.paths and level in design.labels(path).values()
    if side in names and not (design.factorial and is_level):
        return [side]
    if refused.has(side):
        return []
    if not equals or path not in (*design.paths, *refused.levels):
        known = names + [f"{p}={label}" for p in design.paths for label in set(design.labels(p).values())]
        what = f"unknown factor {path!r}" if equals else f"unknown variant {side!r}"
        hint = elsewhere(path, dict.fromkeys(design.paths)) if equals else ""
        allowed = listed(design.paths if equals else names)
        raise Invalid("", what, text, allowed, hint or nearest(side, known))
    labels = design.labels(path) if path in design.paths else {}
    wanted = _label(level, set(labels.values()))
    if wanted is None:
        found = sorted({*labels.values(), *refused.levels.get(path, ())} - {""})
        raise Invalid("", f"{path} has no level {level!r}", text, listed(found), did_you_mean(level, found))
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
