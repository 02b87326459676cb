"""The notes of the study, as running text."""

from __future__ import annotations

from ablate.report.prose import prose
from ablate.report.section import Block, Material, Section


class Notes(Section):
    """What whoever ran the study wrote about it."""

    place = 250
    title = "Notes"
    needs_trials = False
    inside = "what whoever ran the study wrote about it"

    def applies(self, material: Material) -> bool:
        return bool(material.facts.notes.strip())

    def blocks(self, material: Material) -> list[Block]:
        return prose(material.facts.notes)
