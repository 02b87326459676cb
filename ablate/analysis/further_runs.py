"""Where further runs may decide what is open: more seeds, or other settings of what was tuned."""

from ablate.analysis.agreeing import SUBTRACTED, Groups
from ablate.analysis.claims import judged_claim
from ablate.analysis.compare import primary_comparison
from ablate.analysis.family import planned_pairs
from ablate.analysis.guides import refuse_own_guides
from ablate.analysis.looks import looks_taken
from ablate.analysis.runs import runs_of
from ablate.core.facts import Evidence

Place = tuple[str, str]
"""A variant and a task."""


def unsettled(evidence: Evidence) -> set[Place]:
    """Returns where more seeds may settle a planned comparison or a claim.

    The baseline and the placebos are needed there too.
    """
    runs = runs_of(evidence)
    refuse_own_guides(runs.evidence)
    facts = runs.facts
    last_look = looks_taken(facts)[-1]
    places: set[Place] = set()
    for pair in planned_pairs(facts):
        comparison = primary_comparison(runs, pair)
        if comparison.open and comparison.look == last_look:
            places |= {(name, pair.task.name) for name in (*pair.a, *pair.b)}
    for claim in facts.claims:
        judged = judged_claim(runs, claim)
        if judged.open and judged.look == last_look:
            for on_task in judged.tasks:
                places |= {(name, on_task.task) for name in claim.variants}

    always = [facts.variants[0].name, *facts.placebos]
    for task in {task for _, task in places}:
        places |= {(name, task) for name in always}
    return places


def depends_on_tuning(evidence: Evidence) -> set[Place]:
    """Returns the (variant, task) pairs on whose choice of settings a verdict depends."""
    runs = runs_of(evidence)
    refuse_own_guides(runs.evidence)
    places: set[Place] = set()
    for pair in planned_pairs(runs.facts):
        decision = primary_comparison(runs, pair).decision
        places |= _must_agree(pair.task.name, (pair.a, pair.b), decision.must_agree)
    for claim in runs.facts.claims:
        for on_task in judged_claim(runs, claim).tasks:
            places |= _must_agree(on_task.task, claim.sides, on_task.judged.must_agree)
    return places


def _must_agree(task: str, groups: Groups, sides: tuple[bool, bool]) -> set[Place]:
    """Returns the variants on a task whose other settings must agree with a decision; `sides` as `Judged` has them."""
    above, below = sides
    places: set[Place] = set()
    for index, group in enumerate(groups):
        needed = above if index in SUBTRACTED else below
        if needed:
            places |= {(name, task) for name in group}
    return places
