"""The family of a study: its planned comparisons, and the claims that are none of them; the α that each has.

M is what was planned, whatever became of it. Each member is decided at α = 0.05/M, so that the chance of any false
verdict among them is at most 0.05.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ablate.analysis.chances import weights
from ablate.analysis.judge import ALPHA
from ablate.analysis.looks import Look
from ablate.analysis.measure import Measure
from ablate.analysis.measures import measure_of
from ablate.analysis.runs import Runs
from ablate.core.facts import ALL_PAIRS, BASELINE, Claim, StudyFacts, TaskFacts, VariantFacts
from ablate.core.short_names import by_design, levels_in

CROSSED = ("factorial", "fractional")
"""Designs that vary several factors at once, whose planned comparisons are main effects."""
Levels = dict[str, dict[str, str]]
"""Cell → path → label of its level."""


@dataclass(frozen=True)
class Pair:
    """A comparison on one task of two groups of variants, by the mean of each per seed."""

    name: str
    """The variant or, of a main effect, `path=level`."""
    against: str
    """The variant or level that it is compared with."""
    a: tuple[str, ...]
    """The variants of A."""
    b: tuple[str, ...]
    """The variants of B."""
    task: TaskFacts
    planned: bool = True


def alpha_at(runs: Runs, look: Look) -> float:
    """Returns α/M, or the share of it that the look has."""
    size = runs.memo("family", lambda evidence: max(family_size(evidence.facts), 1))
    return ALPHA * weights(look.count)[look.number - 1] / float(size)


def pairs(facts: StudyFacts) -> list[Pair]:
    """Returns what the tables compare on tasks that have the primary metric, in the order of the study, planned first.

    Every variant against the baseline, the one that `compare` names where this run has it, or every other; a placebo
    against the baseline alone. Of a design that crosses its factors, each level against the baseline's, over
    the cells that differ in nothing else; its cells against the baseline are exploratory. Of runs that were given, what
    both sides have run on.
    """
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    exploratory: set[str] = set()
    compared = _main_effects(facts, tasks)
    if compared:
        exploratory = {variant.name for variant in facts.variants[1:] if by_design(variant)}
    for name, against in _variant_pairs(facts):
        for task in tasks:
            if not all(facts.is_planned(side, task.name) for side in (name, against)):
                continue
            is_planned = name not in exploratory
            compared.append(Pair(name, against, a=(name,), b=(against,), task=task, planned=is_planned))
    return sorted(compared, key=lambda pair: not pair.planned)


def planned_pairs(facts: StudyFacts) -> list[Pair]:
    """Returns the planned comparisons."""
    return [pair for pair in pairs(facts) if pair.planned]


def _variant_pairs(facts: StudyFacts) -> list[tuple[str, str]]:
    """Returns the names of the variants that are compared with one another, a placebo with the baseline."""
    baseline = facts.variants[0]
    judged = [variant.name for variant in facts.variants if not variant.placebo]
    if facts.compare == ALL_PAIRS:
        names = [(later, earlier) for earlier, later in itertools.combinations(judged, 2)]
    else:
        reference = facts.compare if facts.compare in judged else baseline.name
        names = [(name, reference) for name in judged if name != reference]
    return names + [(name, baseline.name) for name in facts.placebos]


def _main_effects(facts: StudyFacts, tasks: Sequence[TaskFacts]) -> list[Pair]:
    """Returns each level of each factor against the baseline's, over the cells of a crossed design."""
    cells = crossed_levels(facts)
    if not cells:
        return []
    effects = []
    for path in next(iter(cells.values())):
        base, *others = facts.factors[path]
        for label in others:
            a = [name for name, levels in cells.items() if levels[path] == label]
            b = [name for name, levels in cells.items() if levels[path] == base]
            if facts.design == "factorial":
                # A combination that one side lacks would not cancel.
                rest = {name: _without(levels, path) for name, levels in cells.items()}
                shared = {rest[name] for name in a} & {rest[name] for name in b}
                a = [name for name in a if rest[name] in shared]
                b = [name for name in b if rest[name] in shared]
            if a and b:
                name = f"{path}={label}"
                against = f"{path}={base}"
                effects += [Pair(name, against, a=tuple(a), b=tuple(b), task=task) for task in tasks]
    return effects


def crossed_levels(facts: StudyFacts) -> Levels:
    """Returns the levels of each cell of a crossed design, without cells that lack a path.

    Empty where fewer than two factors are crossed, and where the run left out cells: the means over those that it has
    would be other effects.
    """
    if facts.design not in CROSSED or any(_is_cell_name(name, facts) for name in facts.plan.left_out):
        return {}
    crossed = [variant for variant in facts.variants if _is_cell(variant)]
    paths = [path for path in facts.factors if any(path in variant.changes for variant in crossed)]
    if len(paths) < 2:
        return {}
    cells: Levels = {}
    for variant in crossed:
        levels = {path: _level(facts, variant, path) for path in paths}
        known = {path: level for path, level in levels.items() if level is not None}
        if len(known) == len(paths):
            cells[variant.name] = known
    return cells


def _is_cell(variant: VariantFacts) -> bool:
    """Returns whether a variant is a cell of a crossed design: the baseline, or named by what it changes."""
    if variant.name == BASELINE:
        return True
    return by_design(variant) and bool(variant.changes) and not variant.placebo


def _is_cell_name(name: str, facts: StudyFacts) -> bool:
    """Returns whether the name of a variant that this run left out is made of levels of factors."""
    return all(path in facts.factors and level for path, level in levels_in(name))


def _level(facts: StudyFacts, variant: VariantFacts, path: str) -> str | None:
    """Returns the label of a variant's level at a path.

    None where another change of the variant has removed the path, or changed what is there.
    """
    if path in variant.changes:
        return variant.changes[path]
    baseline = facts.variants[0]
    unchanged = path in variant.levels and variant.levels[path] == baseline.levels.get(path)
    return facts.factors[path][0] if unchanged else None


def _without(levels: Mapping[str, str], path: str) -> tuple[str, ...]:
    """Returns the levels at all other paths."""
    return tuple(level for other, level in levels.items() if other != path)


def measures_of(claim: Claim, facts: StudyFacts) -> list[Measure]:
    """Returns how a claim is decided on each task that can tell it, and on which its sides run."""
    slices = claim.metrics
    less = slices[1] if len(slices) > 1 else ""
    measures = []
    for task in facts.tasks:
        if not all(facts.is_planned(name, task.name) for name in claim.variants):
            continue
        measure = measure_of(claim.metric, task, facts)
        if measure is not None:
            measures.append(replace(measure, less=less))
    return measures


def planned_pair_of(claim: Claim, facts: StudyFacts) -> Pair | None:
    """Returns the planned comparison that a claim is about, in either direction; None where it is about none."""
    if claim.metric != facts.metric or claim.kind == "interaction":
        return None
    sides = {frozenset(claim.a), frozenset(claim.b)}
    same = [pair for pair in planned_pairs(facts) if {frozenset(pair.a), frozenset(pair.b)} == sides]
    if len(same) != 1 or len(measures_of(claim, facts)) != 1:
        return None
    return same[0]


def family_size(facts: StudyFacts) -> int:
    """Returns M: the planned comparisons, and the claims about none of them that were declared before any trial."""
    declared = [claim for claim in facts.claims if not claim.exploratory]
    other_claims = [claim for claim in declared if planned_pair_of(claim, facts) is None]
    return len(planned_pairs(facts)) + len(other_claims)
