"""The variants of a study in the order in which figures show them."""

from __future__ import annotations

from dataclasses import dataclass

from ablate.core.facts import BASELINE, Facts, VariantFacts

MAX_CURVES = 8
"Curves in one panel, the baseline's included."
PLACEBO_GROUP = "placebo"


@dataclass(frozen=True)
class Entry:
    """One variant and its place in a figure."""

    variant: str
    group: str
    "The factor path that the variant changes, or several; its panel or heading."
    label: str
    "Its level, within the group."
    placebo: bool = False


def entries(facts: Facts) -> list[Entry]:
    """Every variant but the baseline, those that change the same paths together, placebos last."""
    found = [_entry(v) for v in facts.variants if v.name != BASELINE]
    order = {group: i for i, group in enumerate(dict.fromkeys(e.group for e in found))}
    return sorted(found, key=lambda e: (e.placebo, order[e.group]))


def by_design(variant: VariantFacts) -> bool:
    """Whether the name of a variant is made of what it changes, and so says all of it."""
    return variant.name == ",".join(f"{path}={level}" for path, level in variant.changes.items())


def _entry(variant: VariantFacts) -> Entry:
    if variant.placebo:
        return Entry(variant.name, PLACEBO_GROUP, variant.name, placebo=True)
    label = ", ".join(variant.changes.values()) if by_design(variant) else variant.name
    return Entry(variant.name, " + ".join(variant.changes), label)


def panels(facts: Facts) -> dict[str, list[Entry]]:
    """Title → the variants that a panel shows beside the baseline, at most MAX_CURVES − 1."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries(facts):
        groups.setdefault(entry.group, []).append(entry)
    result = {}
    for group, members in groups.items():
        count = -(-len(members) // (MAX_CURVES - 1))
        size = -(-len(members) // count)
        parts = [members[i : i + size] for i in range(0, len(members), size)]
        for i, part in enumerate(parts):
            result[f"{group} ({i + 1} of {len(parts)})" if len(parts) > 1 else group] = part
    return result or {BASELINE: []}
