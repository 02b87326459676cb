"""The family of a study: its planned comparisons, and the claims that are none of them; the α that each has.

M is what was planned, whatever became of it. Each member is decided at α = 0.05/M, so that the chance of any false
verdict among them is at most 0.05. `claim_families` has the families of claims alone.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ablate.analysis.chances import weights
from ablate.analysis.claim_families import (
    PlacedClaim,
    alpha_of_late_claim,
    estimate_of,
    estimate_of_row,
    size_of_claims,
)
from ablate.analysis.looks import Look
from ablate.analysis.measure import Measure
from ablate.analysis.measures import measure_of
from ablate.analysis.power import ALPHA
from ablate.analysis.runs import Runs
from ablate.core.facts import ALL_PAIRS, BASELINE, Claim, StudyFacts, TaskFacts, VariantFacts
from ablate.core.over import TREND, Form
from ablate.core.short_names import by_design, levels_in

CROSSED = ("factorial", "fractional")
"""Designs that vary several factors at once, whose planned comparisons are main effects."""
Levels = dict[str, dict[str, str]]
"""Cell → path → label of its level."""


@dataclass(frozen=True)
class Pair:
    """A comparison of two groups of variants, by the mean of each per seed: on one task, or over several."""

    name: str
    """The variant or, of a main effect, `path=level`."""
    against: str
    """The variant or level that it is compared with."""
    a: tuple[str, ...]
    """The variants of A."""
    b: tuple[str, ...]
    """The variants of B."""
    tasks: tuple[TaskFacts, ...]
    """The task that it is about or, of one over conditions, all of them."""
    form: Form = "each"
    """How the tasks are taken together; `each` of a single one."""
    planned: bool = True

    @property
    def place(self) -> str:
        """Where the sides are compared: the task or, over conditions, how they are taken together."""
        return self.tasks[0].name if self.form == "each" else self.form

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of both sides."""
        return (*self.a, *self.b)


def alpha_at(runs: Runs, look: Look) -> float:
    """Returns α/M, or the share of it that the look has."""
    return _share(ALPHA, look) / float(_size(runs))


def alpha_of_claim(runs: Runs, claim: Claim, look: Look) -> float:
    """Returns the α of a claim, or the share of it that the look has.

    In a family of claims alone, one that was declared after results is judged among all rows and claims.
    """
    facts = runs.facts
    if facts.family == "all" or not claim.exploratory:
        return alpha_at(runs, look)
    return _share(alpha_of_late_claim(len(planned_pairs(facts)), len(facts.claims)), look)


def _size(runs: Runs) -> int:
    return runs.memo(lambda evidence: max(family_size(evidence.facts), 1), "family")


def _share(alpha: float, look: Look) -> float:
    """Returns the share of a level that a look has."""
    return alpha * weights(look.count)[look.number - 1]


def pairs(facts: StudyFacts) -> list[Pair]:
    """Returns what the tables compare on tasks that have the primary metric, in the order of the study, planned first.

    Every variant against the baseline, the one that `compare` names where this run has it, or every other; a placebo
    against the baseline alone. Of a design that crosses its factors, each level against the baseline's, over
    the cells that differ in nothing else; its cells against the baseline are exploratory. Of runs that were given, what
    both sides have run on. Where verdicts are over conditions, comparisons on one task are exploratory.
    """
    over = _pairs_over(facts)
    alone: list[Pair] = []
    for pair in over:
        alone += [replace(pair, tasks=(task,), form="each") for task in _tasks_of_both(pair, facts)]
    if not facts.over.joins_conditions:
        return sorted(alone, key=lambda pair: not pair.planned)
    planned = [pair for pair in over if pair.planned]
    return [*planned, *(replace(pair, planned=False) for pair in alone)]


def planned_pairs(facts: StudyFacts) -> list[Pair]:
    """Returns the planned comparisons."""
    return [pair for pair in pairs(facts) if pair.planned]


def is_judged(pair: Pair, facts: StudyFacts) -> bool:
    """Returns whether a comparison gets a verdict: it was planned, and the family is not one of claims alone."""
    return pair.planned and facts.family == "all"


def _pairs_over(facts: StudyFacts) -> list[Pair]:
    """Returns the comparisons of a study, each over all tasks that have the primary metric."""
    form = facts.over.form
    tasks = tuple(task for task in facts.tasks if facts.metric in task.metrics)
    if not tasks:
        return []
    exploratory: set[str] = set()
    compared = _main_effects(facts, tasks)
    if compared:
        exploratory = {variant.name for variant in facts.variants[1:] if by_design(variant)}
    for name, against in _variant_pairs(facts):
        pair = Pair(name, against, (name,), (against,), tasks, form, planned=name not in exploratory)
        if _tasks_of_both(pair, facts):
            compared.append(pair)
    return compared


def _tasks_of_both(pair: Pair, facts: StudyFacts) -> list[TaskFacts]:
    """Returns the tasks of a comparison on which all of its variants run."""
    return [task for task in pair.tasks if all(facts.is_planned(name, task.name) for name in pair.variants)]


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


def _main_effects(facts: StudyFacts, tasks: tuple[TaskFacts, ...]) -> list[Pair]:
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
                effects.append(Pair(name, against, tuple(a), tuple(b), tasks, facts.over.form))
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
    """Returns how a claim is decided on each task that can tell it, and on which its sides run.

    Of a claim on one condition, or on two, these alone.
    """
    slices = claim.metrics
    less = slices[1] if len(slices) > 1 else ""
    conditions = claim.conditions
    # One over conditions lacks those on which a side does not run, and says so.
    takes_all = claim.kind == "gains" or (facts.over.joins_conditions and not conditions)
    measures = []
    for task in facts.tasks:
        if conditions and task.name not in conditions:
            continue
        if not takes_all and not all(facts.is_planned(name, task.name) for name in claim.variants):
            continue
        measure = measure_of(claim.metric, task, facts)
        if measure is not None:
            measures.append(replace(measure, less=less))
    return measures


def place_of(claim: Claim, facts: StudyFacts) -> str:
    """Returns what a claim is about beside its sides: a condition, two, or how several are taken together."""
    conditions = claim.conditions
    if claim.kind == "gains":
        return TREND
    if conditions:
        return " and ".join(sorted(conditions))
    if facts.over.joins_conditions:
        return facts.over.form
    measures = measures_of(claim, facts)
    return measures[0].task.name if len(measures) == 1 else "every"


def family_size(facts: StudyFacts) -> int:
    """Returns M: how many comparisons and claims share the level, as declared before any trial.

    The planned comparisons, with the claims that are about none of them; of a family of claims the numbers that these
    are about; 1 of claims in order.
    """
    claims = [PlacedClaim(claim, place_of(claim, facts)) for claim in facts.claims if not claim.exploratory]
    match facts.family:
        case "all":
            planned = planned_pairs(facts)
            rows = {estimate_of_row(pair.a, pair.b, facts.metric, pair.place) for pair in planned}
            others = [placed for placed in claims if estimate_of(placed) not in rows]
            return len(planned) + len(others)
        case "claims":
            return size_of_claims(claims)
        case "ordered":
            return min(1, len(claims))
        case _:
            assert_never(facts.family)
