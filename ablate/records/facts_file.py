"""The facts of a study as plain data, under the flat keys that folders have; nothing else knows both forms.

What repeats and who planned the runs stand there as `given`, which is empty of runs that a study planned, and
`has_seeds`, beside the fields of the provenance. What a claim of an interaction is less than stands there as `a_less`,
`b_less` and, of another metric than that of the claim, `metric_less`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeVar, assert_never

from ablate.base.kept import schema_of
from ablate.core.facts import Claim, StudyFacts
from ablate.core.provenance import Given, Planned, Provenance
from ablate.core.replication import (
    Examples,
    Folds,
    GivenSeeds,
    KnownNoise,
    PlannedSeeds,
    Replication,
    Summaries,
    UnpairedRuns,
)

Part = TypeVar("Part")


@dataclass(frozen=True)
class _ReplicationKeys:
    """The keys that stand for a replication."""

    given: Literal["", "runs", "known_noise", "documents", "summaries", "folds"] = ""
    has_seeds: bool = True


@dataclass(frozen=True)
class _LessKeys:
    """The keys of a claim that stand for where A beats B by less; empty where it is no interaction."""

    a_less: list[str] = field(default_factory=list)
    b_less: list[str] = field(default_factory=list)
    metric_less: str = ""
    condition_less: str = ""


_OF_CONDITIONS = ("condition", "along", "condition_less")
"""The keys of a claim that only studies with conditions have."""
_FOLLOWING = {
    "environment": ["looks", "until"],
    "target": ["left_out"],
    "compare": ["searched", "differs", "source"],
    "reported": [
        "given",
        "own_seeds",
        "replanned",
        "has_seeds",
        "lost",
        "own_lengths",
        "length_column",
        "kept",
        "other_runs",
    ],
}
"""A field of the facts → the keys that follow it in a folder, and are no fields of the facts."""
_KEYS_OF_PARTS = {name for names in _FOLLOWING.values() for name in names}


def plain_facts(facts: StudyFacts) -> dict[str, Any]:
    """Returns the facts as one flat dict, as a folder has them; keys that do not apply have empty values."""
    fields_of_facts = asdict(facts)
    keys = asdict(_keys_of(facts.replication))
    values = {**asdict(Planned()), **asdict(Given()), **fields_of_facts["provenance"], **keys}
    fields_of_facts["claims"] = [_plain_claim(claim) for claim in facts.claims]
    plain: dict[str, Any] = {}
    for name, value in fields_of_facts.items():
        if name not in ("replication", "provenance"):
            plain[name] = value
        for key in _FOLLOWING.get(name, ()):
            plain[key] = values[key]
    return plain


def facts_from(plain: Mapping[str, Any]) -> StudyFacts:
    """Returns the facts in what `plain_facts` has written. Raises `ValidationError` for keys of another version."""
    keys = _part(_ReplicationKeys, plain)
    fields_of_facts = {name: value for name, value in plain.items() if name not in _KEYS_OF_PARTS}
    provenance: Provenance = _part(Given, plain) if keys.given else _part(Planned, plain)
    parts: dict[str, Any] = {"replication": _replication_of(keys), "provenance": provenance}
    if isinstance(plain.get("claims"), list):
        parts["claims"] = [_claim_fields(claim) for claim in plain["claims"]]
    return schema_of(StudyFacts).validate_python(fields_of_facts | parts)


def _plain_claim(claim: Claim) -> dict[str, Any]:
    """Returns the flat keys of a claim; those of conditions only where they say something."""
    keys = _keys_of_less(claim)
    plain: dict[str, Any] = {}
    for name, value in asdict(claim).items():
        if name == "less":
            plain |= {"a_less": keys.a_less, "b_less": keys.b_less}
        else:
            plain[name] = value
    plain |= {"metric_less": keys.metric_less, "condition_less": keys.condition_less}
    return {name: value for name, value in plain.items() if value or name not in _OF_CONDITIONS}


def _claim_fields(plain: object) -> object:
    """Returns the fields of a claim, from its flat keys; what is no mapping as it is. Raises `ValidationError`."""
    if not isinstance(plain, Mapping):
        return plain
    keys = _part(_LessKeys, plain)
    claim = {name: value for name, value in plain.items() if name not in asdict(keys)}
    if claim.get("kind") == "interaction":
        claim["less"] = {
            "a": keys.a_less,
            "b": keys.b_less,
            "metric": keys.metric_less or plain.get("metric"),
            "condition": keys.condition_less,
        }
    return claim


def _keys_of_less(claim: Claim) -> _LessKeys:
    """Returns the keys that stand for where A beats B by less."""
    less = claim.less
    if less is None:
        return _LessKeys()
    metric = "" if less.metric == claim.metric else less.metric
    return _LessKeys(less.a, less.b, metric, less.condition)


def are_given(plain: Mapping[str, Any]) -> bool:
    """Returns whether plain facts, of any version, are those of runs that existed before they were judged."""
    return bool(plain.get("given"))


def _part(kind: type[Part], plain: Mapping[str, Any]) -> Part:
    """Returns a part of the facts from the keys that are its fields; others are its defaults.

    Raises `ValidationError`.
    """
    names = [of_kind.name for of_kind in fields(kind)]  # type: ignore[arg-type]
    return schema_of(kind).validate_python({name: plain[name] for name in names if name in plain})


def _replication_of(keys: _ReplicationKeys) -> Replication:
    """Returns the replication that keys stand for; the inverse of `_keys_of`."""
    match keys.given:
        case "":
            return PlannedSeeds()
        case "runs":
            return GivenSeeds() if keys.has_seeds else UnpairedRuns()
        case "known_noise":
            return KnownNoise(keys.has_seeds)
        case "documents":
            return Examples(keys.has_seeds)
        case "summaries":
            return Summaries()
        case "folds":
            return Folds()
        case _:
            assert_never(keys.given)


def _keys_of(replication: Replication) -> _ReplicationKeys:
    """Returns the keys that stand for a replication."""
    match replication:
        case PlannedSeeds():
            return _ReplicationKeys("", has_seeds=True)
        case GivenSeeds():
            return _ReplicationKeys("runs", has_seeds=True)
        case UnpairedRuns():
            return _ReplicationKeys("runs", has_seeds=False)
        case KnownNoise(says_seeds):
            return _ReplicationKeys("known_noise", says_seeds)
        case Examples(says_seeds):
            return _ReplicationKeys("documents", says_seeds)
        case Summaries():
            return _ReplicationKeys("summaries", has_seeds=False)
        case Folds():
            return _ReplicationKeys("folds", has_seeds=False)
        case _:
            assert_never(replication)
