"""The claims of the study, judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ablate.core.short_names import short_claim
from ablate.report.section import Block, Material, Section
from ablate.report.tables import is_true, rows_of
from ablate.report.verdicts import claim_table, level_of, names_of, planned_rows
from ablate.report.words import say


class Claims(Section):
    """One row a claim."""

    place = 200
    title = "Claims"
    needs_trials = False
    open = True

    def answers(self, material: Material) -> list[str]:
        """Claims about other metrics than those of the verdicts."""
        facts = material.facts
        found: dict[str, list[str]] = {}
        for row in rows_of(material.claims):
            if row["metric"] not in facts.judged and not is_true(row["exploratory"]):
                found.setdefault(row["verdict"], []).append(short_claim(row["claim"], facts))
        said = [
            say("verdicts.claimed", verdict, found[verdict])
            for verdict in ("supported", "refuted")
            if verdict in found
        ]
        return [" ".join(said)] if said else []

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.claims):
            short = partial(short_claim, facts=material.facts)
            level = level_of(planned_rows(material.comparisons))
            yield claim_table(material.claims, short, names_of(material.facts), level)
