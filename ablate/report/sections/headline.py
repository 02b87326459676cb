"""The answer in a few sentences, the noise floor, then what a reader should know beside it."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.answer import answer
from ablate.analysis.headline import conditions, headline
from ablate.analysis.learning import baseline_learned
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.report.brief.noise_floor import noise_blocks
from ablate.report.section import Block, Failed, Folded, Lead, Material, Section, Sentences, Text, applying


class Headline(Section):
    """The answers and the findings of all sections."""

    place = 0
    title = "Answer"
    needs_trials = False

    def accent(self, material: Material) -> str:
        return "soft" if material.evidence.only_measured else badge(material.evidence)[1]

    def blocks(self, material: Material) -> Iterator[Block]:
        if lines := answers(material):
            yield Lead(lines)
        if material.evidence.only_measured:
            yield Text("The variants were timed, not trained: nothing here is about what they learn.")
            return
        yield from noise_blocks(material)
        found, failed = [], []
        if not baseline_learned(material.evidence):
            found = [f"{badge(material.evidence)[0]}."]
        for section in applying(material):
            try:
                found += section.findings(material) if section.applies(material) else ()
            except Exception as error:
                failed.append(Failed(f"What “{section.title}” has found", error))
        yield Sentences([*found, *headline(material.evidence, material.claims)])
        yield from failed
        if limits := conditions(material.evidence, material.comparisons):
            yield Folded(f"What the verdicts are conditional on ({len(limits)})", [Sentences(limits)])


def answers(material: Material) -> list[str]:
    """The answer to the question of a study, a paragraph a string: by task, then what its search has found."""
    found = answer(material.evidence, material.comparisons)
    for section in applying(material):
        if section.applies(material):
            found += section.answers(material)
    return found


def badge(evidence: Evidence) -> tuple[str, str]:
    """Whether the baseline learned, in a few words, and their colour."""
    baseline = evidence.trials[evidence.trials["variant"] == BASELINE]
    if not baseline["status"].isin(["completed", "diverged"]).any():
        return "No baseline run has an outcome", "orange"
    found = baseline_learned(evidence)
    if not all(ok for _, ok, _ in found):
        return "The baseline did not learn", "orange"
    if not found:
        return "Nothing says whether the baseline learned", "soft"
    return "The baseline learned", "green"
