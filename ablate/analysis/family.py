"""The family of a study: its planned comparisons, and the claims that are none of them; the level that each has.

M is what was planned, whatever became of it. Each member is decided at α = 0.05/M, so that the chance of any false
verdict among them is at most 0.05.

A study with `seeds: {min, max}` looks at every multiple of `min` up to `max`, until it is settled: K looks, the k-th at
exactly the first k·min seeds. None is revoked, and look k spends the share w_k = k/(1 + … + K) of the level, fixed
beforehand, so that

    p_seq = min(1, min over the looks taken of p_k / w_k)

is a p-value whatever the test and whenever the looks end, by the union bound. A fixed plan is the case K = 1.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ablate.analysis.judge import ALPHA
from ablate.analysis.measure import Measure
from ablate.analysis.measures import measure_of
from ablate.analysis.runs import Runs
from ablate.core.facts import ALL_PAIRS, BASELINE, INTERACTION, Claim, StudyFacts, TaskFacts, VariantFacts
from ablate.core.short_names import by_design

CROSSED = ("factorial", "fractional")
"""Designs that vary several factors at once, whose planned comparisons are main effects."""


@dataclass(frozen=True)
class Look:
    """One look of a sequential design."""

    number: int
    """From 1 to `count`."""
    count: int
    """Looks that are planned, K."""
    seeds: int
    """The first seeds of the plan that it sees."""


@dataclass(frozen=True)
class Pair:
    """A against B on one task: variants whose mean per seed is compared."""

    name: str
    """The variant or, of a main effect, `path=level`."""
    against: str
    """What it is compared with, likewise."""
    a: tuple[str, ...]
    """The variants of A."""
    b: tuple[str, ...]
    """The variants of B."""
    task: TaskFacts
    planned: bool = True


def weights(count: int) -> list[float]:
    """Returns w_1 … w_K of K looks."""
    return [2 * k / (count * (count + 1)) for k in range(1, count + 1)]


def p_sequential(p_by_look: Sequence[float], count: int) -> float:
    """Returns p_seq after the first looks of `count`; a p that is NaN decides nothing."""
    p_seq = 1.0
    for p, weight in zip(p_by_look, weights(count), strict=False):
        if not math.isnan(p):
            p_seq = min(p_seq, p / weight)
    return p_seq


def alpha_at(runs: Runs, look: Look) -> float:
    """Returns α/M, or the share of it that the look has."""
    size = runs.memo("family", lambda evidence: max(family_size(evidence.facts), 1))
    return ALPHA * weights(look.count)[look.number - 1] / float(size)


def looks_taken(facts: StudyFacts) -> list[Look]:
    """Returns the looks that a study has taken, the last at all of its seeds; the first at least."""
    planned = facts.looks or [len(facts.seeds)]
    looks = [Look(number, len(planned), seeds) for number, seeds in enumerate(planned, start=1)]
    return [look for look in looks if look.number == 1 or look.seeds <= len(facts.seeds)]


def at_looks(runs: Runs, places: Sequence[tuple[TaskFacts, Sequence[str]]]) -> Iterator[tuple[Look, Runs]]:
    """Yields each look that was taken, with the runs of its seeds.

    places: tasks, and the variants on each. The looks end where these were not all asked for on the seeds of the next:
    a variant may have been settled on fewer.
    """
    for look in looks_taken(runs.facts):
        runs_at_look = runs.first(look.seeds)
        sides = [runs_at_look.of(name, task) for task, names in places for name in names]
        if look.number > 1 and not all(side.asked.all() for side in sides):
            break
        yield look, runs_at_look


def pairs(facts: StudyFacts) -> list[Pair]:
    """Returns what the tables compare on tasks that have the primary metric, in the order of the study, planned first.

    Every variant against the baseline, the one that `compare` names where this run has it, or every other; a placebo
    against the baseline alone. Of a design that crosses its factors, each level against the baseline's, over
    the cells that differ in nothing else; its cells against the baseline are exploratory.
    """
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    compared: list[Pair] = []
    exploratory: set[str] = set()
    if facts.design in CROSSED:
        compared = _main_effects(facts, tasks)
    if compared:
        exploratory = {variant.name for variant in facts.variants[1:] if by_design(variant)}
    for name, against in _variant_pairs(facts):
        for task in tasks:
            pair = Pair(name, against, (name,), (against,), task, planned=name not in exploratory)
            compared.append(pair)
    return sorted(compared, key=lambda pair: not pair.planned)


def planned_pairs(facts: StudyFacts) -> list[Pair]:
    """Returns the planned comparisons."""
    return [pair for pair in pairs(facts) if pair.planned]


def _variant_pairs(facts: StudyFacts) -> list[tuple[str, str]]:
    """Returns the names of the variants that are compared with one another, a placebo with the baseline."""
    baseline, *others = facts.variants
    judged = [variant.name for variant in facts.variants if not variant.placebo]
    if facts.compare == ALL_PAIRS:
        names = [(later, earlier) for earlier, later in itertools.combinations(judged, 2)]
    else:
        reference = facts.compare if facts.compare in judged else baseline.name
        names = [(name, reference) for name in judged if name != reference]
    return names + [(variant.name, baseline.name) for variant in others if variant.placebo]


def _main_effects(facts: StudyFacts, tasks: Sequence[TaskFacts]) -> list[Pair]:
    """Returns each level of each factor against the baseline's, over the cells of a crossed design."""
    crossed = [variant for variant in facts.variants if _is_cell(variant)]
    paths = [path for path in facts.factors if any(path in variant.changes for variant in crossed)]
    if len(paths) < 2:
        return []
    cells: dict[str, dict[str, str]] = {}
    for variant in crossed:
        levels = {path: _level(facts, variant, path) for path in paths}
        known = {path: level for path, level in levels.items() if level is not None}
        if len(known) == len(paths):
            cells[variant.name] = known

    effects = []
    for path in paths:
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
                for task in tasks:
                    effects.append(Pair(f"{path}={label}", f"{path}={base}", tuple(a), tuple(b), task))
    return effects


def _is_cell(variant: VariantFacts) -> bool:
    """Returns whether a variant is a cell of a crossed design: the baseline, or named by what it changes."""
    if variant.name == BASELINE:
        return True
    return by_design(variant) and bool(variant.changes) and not variant.placebo


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
    """Returns how a claim is decided on each task that can tell it."""
    measures = []
    for task in facts.tasks:
        measure = measure_of(claim.metric, task, facts)
        if measure is not None:
            measures.append(replace(measure, less=claim.metric_less))
    return measures


def planned_pair_of(claim: Claim, facts: StudyFacts) -> Pair | None:
    """Returns the planned comparison that a claim is about, in either direction; None where it is about none."""
    if claim.metric != facts.metric or claim.kind == INTERACTION:
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
