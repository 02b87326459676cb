"""The answer, the noise floor in a line, and, folded, what the verdicts rest on."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.learning import baseline_learned, convergence
from ablate.analysis.runs import Runs
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE
from ablate.report.answer import answers, learned, noise_lines
from ablate.report.section import Block, Folded, Items, Material, Section, Text, applying, failed
from ablate.report.verdicts import names_of, planned_rows
from ablate.report.words import say


class Headline(Section):
    """The answers and the findings of all sections."""

    place = 0
    title = "Answer"
    needs_trials = False

    def accent(self, material: Material) -> str:
        if material.evidence.only_measured:
            return "soft"
        found = baseline_learned(material.evidence)
        return ("green" if all(one.ok for one in found) else "orange") if found else "soft"

    def blocks(self, material: Material) -> Iterator[Block]:
        if lines := answers(material):
            yield Items(lines, "lead")
        if material.evidence.only_measured:
            yield Text(say("answer.only_timed"))
            return
        for line in [*gaps(material.evidence), *noise_lines(material)]:
            yield Text(line)
        found = [*limits(material)]
        for section in applying(material):
            try:
                found += section.findings(material) if section.applies(material) else ()
            except Exception as error:
                yield failed(f"What “{section.title}” has found", error)
        if found := [*found, *material.facts.cautions]:
            yield Folded(say("limits.title", len(found)), [Items(found, "findings")])


def gaps(evidence: Evidence) -> Iterator[str]:
    """What is missing of the runs that were planned."""
    baseline = evidence.trials[evidence.trials["variant"] == BASELINE]
    if not baseline["status"].isin(["completed", "diverged"]).any():
        yield say("limits.no_baseline")
    if missing := sum(int((side.asked & ~side.ended).sum()) for side in Runs(evidence).sides()):
        yield say("limits.missing", missing, evidence.facts.planned)


def limits(material: Material) -> Iterator[str]:
    """Whether the baseline learned, what was held equal, and what else the verdicts rest on."""
    evidence, facts = material.evidence, material.facts
    names = names_of(facts)
    found = baseline_learned(evidence)
    if said := [learned(one) for one in found if one.ok]:
        yield say("limits.learned", said)
    if not found:
        yield say("limits.unknown_learned")
    residuals = [abs(m.residual) for variant in facts.variants for m in variant.matched.values()]
    if facts.match is not None and residuals:
        yield say("limits.matched", facts.match.quantity, facts.match.by, max(residuals))
    if facts.left_out:
        yield say("limits.left_out", facts.left_out)
    runs, trend = Runs(evidence), convergence(evidence)
    for task in facts.tasks:
        if runs.suspect(task, facts.metric):
            yield say("limits.groups", task.name)
    if improving := list(trend.loc[trend["improving"], "variant"].drop_duplicates()):
        yield say("limits.improving", [names[variant] for variant in improving])
    if facts.rate and planned_rows(material.comparisons):
        yield say("limits.rate", facts.rate)
    if facts.looks:
        most = facts.looks[-1] * len(facts.variants) * len(facts.tasks)
        yield say("limits.looks", facts.looks, facts.planned, most, most - facts.planned)
    pools = {task.sampling.pool for task in facts.tasks}
    yield from (say(f"limits.{pool}") for pool in ("held_out", "resplit") if pool in pools)
