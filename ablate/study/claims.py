"""The grammar of claims, and the variants that they compare.

    A beats B on METRIC [by X]
    A matches B on METRIC within X
    A does not lose to B on METRIC within X
    A beats B on METRIC by more at PATH=y than at PATH=x

A and B are names of variants, or `path=level`, several joined by commas; see `study.sides` for what these mean.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from ablate.base.errors import Gather, Invalid, listed, nearest
from ablate.core.claim import INTERACTION, Claim
from ablate.core.feature import derived
from ablate.study.designs.design import Design
from ablate.study.sides import Sides

GRAMMAR = (
    "`A beats B on METRIC [by X]`, `A matches B on METRIC within X`, `A does not lose to B on METRIC within X`, "
    "`A beats B on METRIC by more at PATH=y than at PATH=x`, where A and B are variants or path=level"
)
VERBS = ("beats", "matches", "lose")
_PATTERNS = {
    "beats": re.compile(r"(?P<a>.+?) beats (?P<b>.+?) on (?P<metric>\S+)(?: by (?P<by>\S+))?"),
    "matches": re.compile(r"(?P<a>.+?) matches (?P<b>.+?) on (?P<metric>\S+) within (?P<by>\S+)"),
    "does_not_lose": re.compile(
        r"(?P<a>.+?) does not lose to (?P<b>.+?) on (?P<metric>\S+) within (?P<by>\S+)"
    ),
    INTERACTION: re.compile(
        r"(?P<a>.+?) beats (?P<b>.+?) on (?P<metric>\S+) by more at (?P<more>.+?) than at (?P<less>.+)"
    ),
}


def parse_claim(
    text: str,
    design: Design | None,
    metrics: Collection[str],
    ranges: Mapping[str, float] = MappingProxyType({}),
    lacking: Mapping[str, str] = MappingProxyType({}),
) -> Claim:
    """Reads a claim about the variants of `design`; without one, its sides are not looked up.

    Without `metrics`, any name may be one; `ranges` are those of `check_margin`; `lacking` of `Claimable`. Raises
    `Invalid` with everything that is wrong.
    """
    text = " ".join(text.split())
    matches = [(kind, m) for kind, pattern in _PATTERNS.items() if (m := pattern.fullmatch(text))]
    if not matches:
        hints = (nearest(word, VERBS) for word in text.split() if word not in (*VERBS, "on", "within", "by"))
        raise Invalid("", "is not a claim", text, GRAMMAR, next(filter(None, hints), ""))
    kind, match = matches[0]
    metric, names, levels = match["metric"], match.group("a", "b"), tuple[str, ...]()
    by = 0.0
    sides: list[list[str]] = []
    with Gather() as at:
        if metric in lacking:
            rule = f"is about {metric}, which this study cannot tell"
            at.refuse(True, "", rule, text, hint=lacking[metric])
        elif metrics and metric not in metrics:
            at.refuse(True, "", f"unknown metric {metric!r}", text, listed(metrics), nearest(metric, metrics))
        if kind == INTERACTION:
            levels = match.group("more", "less")
            over_seeds = metric in derived() and derived()[metric].kind != "mean"
            rule = f"an interaction takes a metric that each run has, and {metric} is none"
            at.refuse(over_seeds, "", rule, text, hint="Claim each of the two differences")
        else:
            with at():
                by = _number(match["by"], text, positive=kind != "beats")
                check_margin(by, metric, ranges, text)
        if design is not None:
            with at():
                sides = (
                    Sides(text, design).crossed(names, levels)
                    if levels
                    else Sides(text, design).compared(names)
                )
    a, b, a_less, b_less = [*sides, [], [], [], []][:4]
    return Claim(text, kind, metric, a, b, by, a_less=a_less, b_less=b_less)


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
            f"has a margin that is no {'positive' if positive else 'finite'} number: {given!r}",
            text,
            f"for instance `{'within' if positive else 'by'} 0.02`",
        )
    return value
