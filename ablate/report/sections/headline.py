"""The findings in sentences, below a few words on whether the baseline learned."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.headline import headline
from ablate.analysis.learning import baseline_learned
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.report.section import Block, Failed, Material, Section, Sentences, sections


class Headline(Section):
    """The findings of all sections."""

    place = 0
    title = "Findings"

    def heading(self, material: Material) -> str:
        return badge(material.evidence)[0]

    def accent(self, material: Material) -> str:
        return badge(material.evidence)[1]

    def blocks(self, material: Material) -> Iterator[Block]:
        found: list[str] = []
        failed = []
        for section in sections():
            try:
                found += section.findings(material) if section.applies(material) else ()
            except Exception as error:
                failed.append(Failed(f"What “{section.title}” has found", error))
        yield Sentences([*found, *headline(material.evidence, material.comparisons, material.claims)])
        yield from failed


def badge(evidence: Evidence) -> tuple[str, str]:
    """Whether the baseline learned, in a few words, and their colour."""
    baseline = evidence.trials[evidence.trials["variant"] == BASELINE]
    if not baseline["status"].isin(["completed", "diverged"]).any():
        return "No baseline run has an outcome", "orange"
    found = baseline_learned(evidence)
    if not all(ok for ok, _ in found):
        return "The baseline did not learn", "orange"
    if not found:
        return "Nothing says whether the baseline learned", "soft"
    return "The baseline learned", "green"
