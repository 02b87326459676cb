"""What a call of `ablate analyse` asks of its runs, and how one call differs from another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ablate.core.facts import BASELINE, StudyFacts
from ablate.runs.option_values import ROLES
from ablate.runs.options import AnalysisOptions
from ablate.runs.steps import LAST

Call = Mapping[str, str]
"""Option → its value as text; options that are not given are missing."""
_OF_THRESHOLDS = ("margin", "claim", "floor", "ceiling", "resolution", "along")
"""The options that set what counts as small, or what is claimed, or shown as a trend: where they do not decide, the
tested numbers stay."""
NOT_GIVEN = "none"


def call_of(options: AnalysisOptions, roles: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Returns what a call asks, with what it left to be guessed.

    roles: the columns by their roles.
    """
    asked: dict[str, object] = {
        "metric": options.metric,
        "baseline": options.baseline,
        "direction": options.direction,
        "margin": options.margin,
        "claim": "; ".join(sorted({*options.claim})),
        "floor": options.floor,
        "ceiling": options.ceiling,
        "resolution": options.resolution or None,
        "all-or-nothing": options.all_or_nothing,
        "also": "; ".join(sorted(f"{name} {direction}" for name, direction in options.also.items())),
        "where": "; ".join(sorted({*options.where})),
        "at": "" if options.at == LAST else options.at,
        "compare": options.compare,
        "over": "" if options.over == "each" else options.over,
        "scale": options.scale,
        "along": options.along,
        "independent-seeds": "on" if options.independent_seeds else "",
        "read": "; ".join(sorted(f"{name}={pattern}" for name, pattern in options.read.items())),
        "experiment": options.experiment,
        "replicates": "on" if options.replicates else "",
        "known-noise": options.known_noise,
    }
    call: dict[str, str] = {}
    for name, value in asked.items():
        if value not in (None, ""):
            call[name] = f"{value:g}" if isinstance(value, float) else str(value)
    for role in ROLES:
        if role in roles and (role != "step" or role in options.named_roles):  # Formats name the steps, too.
            call[role] = ",".join(roles[role])
    return call


def call_in(facts: StudyFacts) -> dict[str, str]:
    """Returns what the call of a report asked, as far as its facts tell."""
    call = {"metric": facts.metric, "baseline": facts.labels.get(BASELINE, BASELINE)}
    if facts.margin is not None:
        call["margin"] = f"{facts.margin:g}"
    return call


def differences(before: Call, now: Call) -> list[str]:
    """Returns how a call differs from one before it: `margin=0.03`, each as the later call has it."""
    names = dict.fromkeys([*now, *before])
    return [f"{name}={now.get(name, NOT_GIVEN)}" for name in names if before.get(name) != now.get(name)]


def differ_in_columns_alone(one: Call, other: Call) -> bool:
    """Returns whether two calls ask the same of columns that may have other names, or of rows that others meet."""
    names = {name for name in {*one, *other} if one.get(name) != other.get(name)}
    return names <= {*ROLES, "where", "at"}


def tested(call: Call, deciding: Call) -> tuple[tuple[str, str], ...]:
    """Returns what a call tests, without what it calls small, claims, or shows as a trend.

    deciding: the thresholds that change the tested numbers, with what they are.
    """
    asked = {name: value for name, value in call.items() if name not in _OF_THRESHOLDS}
    return tuple(sorted({**asked, **deciding}.items()))
