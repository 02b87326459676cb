"""The variants of a study in the order in which figures show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.core.facts import BASELINE, Facts
from ablate.core.short_names import short_names
from ablate.report.tables import short
from ablate.report.words import say

if TYPE_CHECKING:
    import pandas as pd

MAX_CURVES = 8
"Curves in one panel, the baseline's included."
MAX_PANELS = 16
"Panels of one figure: more take long to draw, and nobody looks through them."
MAX_PATHS = 3
"As many the title of a panel names."
PLACEBO_GROUP = "placebo"


@dataclass(frozen=True)
class Entry:
    """One variant and its place in a figure."""

    variant: str
    group: str
    "The end of the factor path that the variant changes, or of several; its panel."
    label: str
    "Its name for readers."
    placebo: bool = False


def entries(facts: Facts) -> list[Entry]:
    """Every variant but the baseline, those that change the same paths together, placebos last."""
    names = short_names(facts)
    paths = short(list(dict.fromkeys(path for v in facts.variants for path in v.changes)))
    found = [
        Entry(
            v.name,
            PLACEBO_GROUP if v.placebo else _group([paths[path].replace("_", " ") for path in v.changes]),
            names[v.name],
            v.placebo,
        )
        for v in facts.variants
        if v.name != BASELINE
    ]
    order = {group: i for i, group in enumerate(dict.fromkeys(e.group for e in found))}
    return sorted(found, key=lambda e: (e.placebo, order[e.group]))


def _group(paths: Sequence[str]) -> str:
    return " + ".join(paths) if len(paths) <= MAX_PATHS else "several settings"


def panels(facts: Facts, comparisons: pd.DataFrame) -> dict[str, list[Entry]]:
    """Title → the variants that a panel shows beside the baseline, at most MAX_CURVES − 1.

    Where they would take more than MAX_PANELS, those furthest from the baseline on the primary metric, and placebos.
    """
    every = entries(facts)
    mine = comparisons[comparisons["metric"] == facts.metric]
    far = mine["diff"].astype(float).abs().groupby(mine["variant"]).max().fillna(-1.0).to_dict()
    ranked = sorted(every, key=lambda entry: (not entry.placebo, -far.get(entry.variant, -1.0)))
    found = _arranged(every)
    while len(found) > MAX_PANELS:
        ranked = ranked[: len(ranked) - max(1, len(ranked) // 20)]
        kept = {entry.variant for entry in ranked}
        found = _arranged([entry for entry in every if entry.variant in kept])
    return found or {BASELINE: []}


def left_out(facts: Facts, shown: Mapping[str, Sequence[Entry]]) -> str:
    """What a caption says of variants for which the panels have no room."""
    every, some = len(facts.variants) - 1, sum(map(len, shown.values()))
    return say("figures.left_out", some, every) if some < every else ""


def _arranged(members: Sequence[Entry]) -> dict[str, list[Entry]]:
    groups: dict[str, list[Entry]] = {}
    for entry in members:
        groups.setdefault(entry.group, []).append(entry)
    result = {}
    for group, of in groups.items():
        count = -(-len(of) // (MAX_CURVES - 1))
        size = -(-len(of) // count)
        parts = [of[i : i + size] for i in range(0, len(of), size)]
        for i, part in enumerate(parts):
            result[f"{group} ({i + 1} of {len(parts)})" if len(parts) > 1 else group] = part
    return result
