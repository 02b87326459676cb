"""Summaries in JSON documents that stand beside the runs which they summarise, and are none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ablate.runs.formats.json_documents import plain_lists
from ablate.runs.formats.level_names import SEED
from ablate.runs.summary_words import statistic_word

_RAW = (
    "raw",
    "results",
    "runs",
    "per_seed",
    "per_run",
    "by_seed",
    "trials",
    "individual",
    "scores",
    "values",
)
"""The names, in small letters, under which runs stand beside their summaries."""
_SUMMARIES = (
    *(
        "summary",
        "summaries",
        "statistics",
        "stats",
        "aggregate",
        "aggregates",
        "aggregated",
        "overall",
        "mean",
    ),
    *("means", "average", "averages", "effect_sizes", "significance", "comparisons", "p_values", "tests"),
)
"""The names, in small letters, under which summaries stand."""


@dataclass
class RunsOfDocument:
    """A document without the summaries that stand beside its runs."""

    document: object
    left_out: dict[str, None] = field(default_factory=dict)
    """The names of what was left out."""
    beside: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Lists of plain values that stood beside the runs, such as their seeds."""
    name: str = ""
    """The name under which the runs stood."""


def runs_of_document(document: object, baseline: str) -> RunsOfDocument:
    """Returns a document without what summarises its runs: beside them, or among the numbers of their seeds."""
    found = RunsOfDocument(document)
    if isinstance(document, dict):
        found.document = _without_words_among_seeds(_without_summaries(document, baseline, found), found)
    return found


def _without_summaries(
    document: Mapping[str, object], baseline: str, found: RunsOfDocument
) -> Mapping[str, object]:
    """Returns the runs of an object, where one key has them; else the object itself."""
    raw = [
        name for name, value in document.items() if _is_raw(name) and isinstance(value, dict | list) and value
    ]
    if len(raw) != 1:
        return document
    runs = document[raw[0]]
    variants = runs if isinstance(runs, dict) and baseline in runs else {}
    summaries = [name for name in document if name.lower() in _SUMMARIES or name in variants]
    kept = {name: value for name, value in document.items() if name not in summaries}
    found.left_out |= dict.fromkeys(summaries)
    others = [value for name, value in kept.items() if name != raw[0]]
    if not variants or any(isinstance(value, dict) and baseline in value for value in others):
        return kept
    found.beside = dict(plain_lists(kept))
    found.name = raw[0]
    return variants


def _is_raw(name: str) -> bool:
    return any(part in name.lower() for part in ("raw", "per_seed")) or name.lower() in _RAW


def _without_words_among_seeds(values: Mapping[str, object], found: RunsOfDocument) -> dict[str, object]:
    """Returns objects without statistics that stand among seeds: `mean` beside `0`, `1` and `2`."""
    words = [name for name in values if statistic_word(name) and not SEED.fullmatch(name)]
    others = [name for name in values if name not in words]
    if words and len(others) > 1 and all(SEED.fullmatch(name) for name in others):
        found.left_out |= dict.fromkeys(words)
        values = {name: values[name] for name in others}
    kept: dict[str, object] = {}
    for name, value in values.items():
        kept[name] = _without_words_among_seeds(value, found) if isinstance(value, dict) else value
    return kept
