"""What is held equal, and by which values of the path that is changed for it."""

from ablate.report.matched_table import matched_sentence, matched_table
from ablate.report.section import Block, Material, Section
from ablate.report.verdicts import names_of


class Matched(
    Section,
    title="What was matched",
    needs_trials=False,
    inside="the value that gives every variant the same size, and how nearly",
):
    """One row a variant."""

    def applies(self, material: Material) -> bool:
        return "match" in material.facts.features

    def blocks(self, material: Material) -> list[Block]:
        return [matched_table(material.facts.features["match"], names_of(material.facts))]

    def findings(self, material: Material) -> list[str]:
        return [matched_sentence(material.facts.features["match"])]
