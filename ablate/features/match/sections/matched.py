"""What is held equal, and by which values of the path that is changed for it."""

from __future__ import annotations

from ablate.features.match.told import said, table
from ablate.report.section import Block, Material, Section
from ablate.report.verdicts import names_of


class Matched(Section):
    """One row a variant."""

    place = 1150
    title = "What was matched"
    needs_trials = False
    inside = "the value that gives every variant the same size, and how nearly"

    def applies(self, material: Material) -> bool:
        return "match" in material.facts.features

    def blocks(self, material: Material) -> list[Block]:
        return [table(material.facts.features["match"], names_of(material.facts))]

    def findings(self, material: Material) -> list[str]:
        return [said(material.facts.features["match"])]
