"""Where further runs may decide what is open: more seeds, or other settings of what was tuned."""

from collections.abc import Iterator

from ablate.analysis.agreeing import SUBTRACTED, Groups
from ablate.analysis.claims import judged_claims
from ablate.analysis.compare import Comparison, primary_comparison
from ablate.analysis.family import is_judged, pairs
from ablate.analysis.guides import refuse_own_guides
from ablate.analysis.judged_claim import JudgedClaim
from ablate.analysis.looks import looks_taken
from ablate.analysis.runs import Runs, runs_of
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
    for comparison in _judged_comparisons(runs):
        if comparison.open and comparison.look == last_look:
            for task in comparison.pair.tasks:
                places |= {(name, task.name) for name in comparison.pair.variants}
    for judged in _open_claims(runs):
        for at in judged.places:
            for task_name in at.tasks:
                places |= {(name, task_name) for name in judged.claim.variants}

    always = [facts.variants[0].name, *facts.placebos]
    for task_name in {task_name for _, task_name in places}:
        places |= {(name, task_name) for name in always}
    return places


def _judged_comparisons(runs: Runs) -> Iterator[Comparison]:
    """Yields the comparisons that get a verdict."""
    for pair in pairs(runs.facts):
        if is_judged(pair, runs.facts):
            yield primary_comparison(runs, pair)


def _open_claims(runs: Runs) -> Iterator[JudgedClaim]:
    """Yields the claims that more seeds may decide.

    Of claims in order, none after one that nothing can decide any more: it will not be tested. What is measured may
    still be.
    """
    last_look = looks_taken(runs.facts)[-1]
    is_reachable = True
    for judged in judged_claims(runs):
        is_open = judged.open and judged.look == last_look
        is_ordered = runs.facts.family == "ordered" and not judged.claim.exploratory
        if is_open and (is_reachable or not is_ordered):
            yield judged
        elif is_ordered and not (judged.settled or judged.measured):
            is_reachable = False


def depends_on_tuning(evidence: Evidence) -> set[Place]:
    """Returns the (variant, task) pairs on whose choice of settings a verdict depends."""
    runs = runs_of(evidence)
    refuse_own_guides(runs.evidence)
    places: set[Place] = set()
    for comparison in _judged_comparisons(runs):
        pair = comparison.pair
        for task_name, must_agree in comparison.verdict.must_agree.items():
            places |= _must_agree(task_name, (pair.a, pair.b), must_agree)
    for judged in judged_claims(runs):
        for at in judged.places:
            for task_name in at.tasks:
                places |= _must_agree(task_name, judged.claim.sides, at.must_agree)
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
