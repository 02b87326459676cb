"""The grammar of claims.

    A beats B on METRIC [by X]
    A matches B on METRIC within X
    A does not lose to B on METRIC within X
    A beats B on METRIC by more at PATH=y than at PATH=x
    A beats B by more on METRIC@y than on METRIC@x
    A gains on B on METRIC along PATH [by X]

`at NAME` after METRIC is one condition of the study, and two of them may stand in the place of the two levels.

A side, A or B, is the name of a variant; or `path=level`, which is the mean over the other factors where the design
crosses them; or several levels joined by commas, in any order, which are the one variant that has these levels and the
baseline's on every other path.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ablate.base.errors import Invalid, nearest
from ablate.core.facts import ClaimKind

GRAMMAR = (
    "`A beats B on METRIC [by X]`, `A matches B on METRIC within X`, `A does not lose to B on METRIC within X`, "
    "`A beats B on METRIC by more at PATH=y than at PATH=x`, `A beats B by more on METRIC@y than on METRIC@x`, "
    "`A gains on B on METRIC along PATH [by X]`, where A and B are variants or path=level; METRIC may be followed by "
    "`at` and a condition, and two conditions may stand for the two levels"
)
_VERBS = ("beats", "matches", "lose", "gains")
# What a claim may lack.
_OMISSIONS = (
    "X",
    "to",
    "by",
    "within",
    "within X",
    "on METRIC",
    "on METRIC within X",
    "than at PATH=x",
    "along",
    "along PATH",
    "on METRIC along PATH",
)
# What some say → how a claim says it.
_REWORDED = (
    (r"(\S+) (?:is |are )?better than (\S+)", r"\1 beats \2"),
    (r"(\S+) (?:is |are )?worse than (\S+)", r"\2 beats \1"),
    (r"(\S+) gains (?:over )?(?!on )(\S+)", r"\1 gains on \2"),
)
_COMPARED = r"(?P<a>.+?) {} (?P<b>.+?) on (?P<metric>\S+)"
_IN_CONDITION = _COMPARED + r"(?: at (?P<condition>.+?))?"
# The groups are fields of `Statement`. The first pattern that matches a claim says its kind.
_PATTERNS: Sequence[tuple[ClaimKind, re.Pattern[str]]] = (
    (
        "interaction",
        re.compile(r"(?P<a>.+?) beats (?P<b>.+?) by more on (?P<metric>\S+) than on (?P<metric_less>\S+)"),
    ),
    ("beats", re.compile(_IN_CONDITION.format("beats") + r"(?: by (?P<margin>\S+))?")),
    ("matches", re.compile(_IN_CONDITION.format("matches") + r" within (?P<margin>\S+)")),
    ("does_not_lose", re.compile(_IN_CONDITION.format("does not lose to") + r" within (?P<margin>\S+)")),
    (
        "interaction",
        re.compile(_COMPARED.format("beats") + r" by more at (?P<place>.+?) than at (?P<place_less>.+)"),
    ),
    ("gains", re.compile(_COMPARED.format("gains on") + r" along (?P<along>\S+)(?: by (?P<margin>\S+))?")),
)


@dataclass(frozen=True)
class Statement:
    """A claim taken apart by the grammar, before its names are looked up; empty text where it has none."""

    text: str
    kind: ClaimKind
    a: str
    b: str
    # Of an interaction of two slices, the metric by which A beats B by more.
    metric: str
    # Of an interaction of two slices, the metric by which A beats B by less.
    metric_less: str = ""
    # X.
    margin: str = ""
    # Of an interaction of two places, the condition or `path=level` where A beats B by more, and where by less.
    place: str = ""
    place_less: str = ""
    # The one condition that the claim is about.
    condition: str = ""
    # The path along which A gains on B.
    along: str = ""

    @property
    def metrics(self) -> list[str]:
        """The metrics that the claim is about."""
        return [self.metric, self.metric_less] if self.metric_less else [self.metric]

    @property
    def places(self) -> list[str]:
        """The two levels, or conditions, of an interaction of these, else none."""
        return [self.place, self.place_less] if self.place else []


def read_statement(text: str) -> Statement:
    """Returns a claim taken apart; raises `Invalid` with a hint for a text that is none."""
    text = " ".join(text.split())
    for kind, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            words = {name: word for name, word in match.groupdict().items() if word is not None}
            return Statement(text, kind, **words)
    raise Invalid("", "is not a claim", text, GRAMMAR, _hint(text))


def _hint(text: str) -> str:
    """Returns how a text may become a claim: by what it lacks, other words, or a right spelling."""
    omission = _omission(text)
    if omission:
        return f"Add: {omission}"
    for said, claimed in _REWORDED:
        if re.match(said, text):
            metric = "" if " on " in text else " on METRIC"
            return f"Write: {re.sub(said, claimed, text)}{metric}"
    for word in text.split():
        verb = "" if word in (*_VERBS, "on", "within", "by") else nearest(word, _VERBS)
        if verb:
            return verb
    return ""


def _omission(text: str) -> str:
    """Returns the words that somewhere in a text would make it a claim; or nothing."""
    words = text.split()
    for omission in _OMISSIONS:
        if omission.startswith("on") and "on" in words:
            continue
        for index in range(1, len(words) + 1):
            completed = " ".join([*words[:index], omission, *words[index:]])
            if any(pattern.fullmatch(completed) for _, pattern in _PATTERNS):
                return omission
    return ""
