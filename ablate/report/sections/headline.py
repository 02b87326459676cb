"""The findings in sentences, below a few words on whether the baseline learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ablate.core.facts import BASELINE
from ablate.report.section import Block, Material, Section, Sentences, sections

if TYPE_CHECKING:
    from ablate.core.evidence import Evidence


class Headline(Section):
    """The findings of all sections."""

    place = 0
    title = "Findings"

    def heading(self, material: Material) -> str:
        return _badge(learned(material.evidence))[0]

    def accent(self, material: Material) -> str:
        return _badge(learned(material.evidence))[1]

    def blocks(self, material: Material) -> list[Block]:
        from ablate.analysis.headline import headline

        found = [
            sentence
            for section in sections()
            if section.applies(material)
            for sentence in section.findings(material)
        ]
        return [Sentences([*found, *headline(material.evidence, material.comparisons, material.claims)])]


@dataclass(frozen=True)
class Learned:
    """Whether the baseline learned one task."""

    task: str
    solved: int | None
    "Runs that reached the threshold; None where the task declares none."
    runs: int
    "Runs with an outcome."

    @property
    def everywhere(self) -> bool:
        """Whether every run reached the threshold, or there is none."""
        return self.solved is None or 0 < self.runs == self.solved


def learned(evidence: Evidence) -> list[Learned]:
    """For every task, on how many of its runs the baseline reached the threshold `solved`."""
    from ablate.analysis.learning import solved_rates

    rates = solved_rates(evidence)
    mine = {row["task"]: row for row in rates[rates["variant"] == BASELINE].to_dict("records")}
    trials = evidence.trials[evidence.trials["variant"] == BASELINE]
    ended = trials[trials["status"].isin(["completed", "diverged"])]["task"]
    return [
        Learned(task.name, mine[task.name]["solved"], mine[task.name]["runs"])
        if task.name in mine
        else Learned(task.name, None, int((ended == task.name).sum()))
        for task in evidence.facts.tasks
    ]


def _badge(tasks: list[Learned]) -> tuple[str, str]:
    """Whether the baseline learned, in a few words, and their colour."""
    if not any(task.runs for task in tasks):
        return "No baseline run has an outcome", "orange"
    if not all(task.everywhere for task in tasks):
        return "The baseline did not learn", "orange"
    if all(task.solved is None for task in tasks):
        return "No threshold says whether the baseline learned", "soft"
    return "The baseline learned", "green"
