"""What the looks taken have left open, where seeds are added until everything is settled."""

from __future__ import annotations

from ablate.analysis.claims import follow
from ablate.analysis.compare import compared
from ablate.analysis.looks import looks
from ablate.analysis.measures import measure_of
from ablate.analysis.runs import Runs
from ablate.core.evidence import Evidence

Place = tuple[str, str]
"""A variant and a task."""


def unsettled(evidence: Evidence) -> set[Place]:
    """Where more seeds may settle a planned comparison or a claim; with the baseline and placebos there.

    A comparison or a claim that rests on a failed or missing trial waits for it.
    """
    runs = Runs(evidence)
    facts, last = runs.facts, looks(runs.facts)[-1]
    found = {
        (one.variant.name, one.task.name)
        for one in compared(runs, all_metrics=False)
        if one.open and one.look == last
    }
    for followed in follow(runs):
        claim = followed.claim
        if followed.open and followed.look == last:
            found |= {
                (name, task.name)
                for name in claim.variants
                for task in facts.tasks
                if measure_of(claim.metric, task, facts)
            }
    always = [v.name for index, v in enumerate(facts.variants) if not index or v.placebo]
    return found | {(name, task) for _, task in found for name in always}
