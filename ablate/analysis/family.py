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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ablate.analysis.judge import ALPHA
from ablate.analysis.measure import Measure
from ablate.analysis.measures import measure_of
from ablate.analysis.runs import Runs
from ablate.core.facts import ALL_PAIRS, BASELINE, INTERACTION, Claim, StudyFacts, TaskFacts, VariantFacts
from ablate.core.short_names import by_design


@dataclass(frozen=True)
class Look:
    """The `number`-th of `count` looks, at the first `seeds` seeds."""

    number: int
    count: int
    seeds: int


def weights(count: int) -> list[float]:
    """w_1 … w_K of K looks."""
    return [2 * k / (count * (count + 1)) for k in range(1, count + 1)]


def p_sequential(p_by_look: Sequence[float], count: int) -> float:
    """p_seq after the first looks of `count`; a p that is NaN decides nothing."""
    return min([1.0, *[p / w for p, w in zip(p_by_look, weights(count), strict=False) if not math.isnan(p)]])


def looks(facts: StudyFacts) -> list[Look]:
    """The looks that a study has taken, the last at all of its seeds."""
    planned = facts.looks or [len(facts.seeds)]
    return [
        Look(k, len(planned), seeds)
        for k, seeds in enumerate(planned, start=1)
        if seeds <= len(facts.seeds) or k == 1
    ]


# Designs that vary several factors at once, whose planned comparisons are main effects.
CROSSED = ("factorial", "fractional")


@dataclass(frozen=True)
class Pair:
    """A against B on one task: variants whose mean per seed is compared."""

    name: str
    against: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    task: TaskFacts
    planned: bool = True


def pairs(facts: StudyFacts) -> list[Pair]:
    """What the tables compare on tasks that have the primary metric, in the order of the study, planned first.

    Every variant against the baseline, the one that `compare` names where this run has it, or every other; a placebo
    against the baseline alone. Of a design that crosses its factors, each level against the baseline's, over
    the cells that differ in nothing else; its cells against the baseline are exploratory.
    """
    tasks = [task for task in facts.tasks if facts.metric in task.metrics]
    effects = list(_main_effects(facts)) if facts.design in CROSSED else []
    found = [Pair(*effect, task) for effect in effects for task in tasks]
    first, *others = facts.variants
    judged = [variant.name for variant in facts.variants if not variant.placebo]
    reference = facts.compare if facts.compare in judged else first.name
    sides = [(name, reference) for name in judged if name != reference]
    if facts.compare == ALL_PAIRS:
        sides = [(b, a) for a, b in itertools.combinations(judged, 2)]
    cells = {variant.name for variant in others if effects and by_design(variant)}
    sides += [(variant.name, first.name) for variant in others if variant.placebo]
    found += [Pair(a, b, (a,), (b,), task, a not in cells) for a, b in sides for task in tasks]
    return sorted(found, key=lambda pair: not pair.planned)


def _main_effects(facts: StudyFacts) -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """Each level of each factor against the baseline's: their names, and the cells of both."""
    cells = [
        v for v in facts.variants if v.name == BASELINE or (by_design(v) and v.changes and not v.placebo)
    ]
    paths = [path for path in facts.factors if any(path in variant.changes for variant in cells)]
    first = facts.variants[0]
    levels = {cell.name: {path: _level(facts, cell, path, first) for path in paths} for cell in cells}
    levels = {name: of for name, of in levels.items() if None not in of.values()}
    for path in paths if len(paths) > 1 else ():
        base, *others = facts.factors[path]
        for label in others:
            a, b = ([name for name, of in levels.items() if of[path] == level] for level in (label, base))
            if facts.design == "factorial":
                # A combination that one side lacks would not cancel.
                rest = [{tuple({**levels[name], path: ""}.items()) for name in side} for side in (a, b)]
                a, b = (
                    [name for name in side if tuple({**levels[name], path: ""}.items()) in rest[0] & rest[1]]
                    for side in (a, b)
                )
            if a and b:
                yield f"{path}={label}", f"{path}={base}", tuple(a), tuple(b)


def _level(facts: StudyFacts, variant: VariantFacts, path: str, first: VariantFacts) -> str | None:
    """Its label; None where another change of the variant has removed the path, or changed what is there."""
    if path in variant.changes:
        return variant.changes[path]
    same = path in variant.levels and variant.levels[path] == first.levels.get(path)
    return facts.factors[path][0] if same else None


def planned(facts: StudyFacts) -> list[Pair]:
    """Those that were planned."""
    return [pair for pair in pairs(facts) if pair.planned]


def row_of(claim: Claim, facts: StudyFacts) -> Pair | None:
    """The planned comparison that a claim is about, in either direction; None where it is about none."""
    if claim.metric != facts.metric or claim.kind == INTERACTION:
        return None
    sides = {frozenset(claim.a), frozenset(claim.b)}
    same = [pair for pair in planned(facts) if {frozenset(pair.a), frozenset(pair.b)} == sides]
    return same[0] if len(same) == 1 and len(measures_of(claim, facts)) == 1 else None


def measures_of(claim: Claim, facts: StudyFacts) -> list[Measure]:
    """How a claim is decided on each task that can tell it."""
    found = (measure_of(claim.metric, task, facts) for task in facts.tasks)
    return [replace(one, less=claim.metric_less) for one in found if one]


def family_size(facts: StudyFacts) -> int:
    """M, the planned comparisons, and the claims that are none of them and were declared before any trial."""
    others = sum(not claim.exploratory and row_of(claim, facts) is None for claim in facts.claims)
    return len(planned(facts)) + others


def alpha_at(runs: Runs, look: Look) -> float:
    """α/M, or the share of it that the look has."""
    size = runs.memo("family", lambda evidence: max(family_size(evidence.facts), 1))
    return ALPHA * weights(look.count)[look.number - 1] / float(size)


def at_looks(runs: Runs, places: Sequence[tuple[TaskFacts, Sequence[str]]]) -> Iterator[tuple[Look, Runs]]:
    """Each look that was taken, and the runs of its seeds, as long as all were asked for on these tasks and variants:

    they are not where a variant was settled on fewer.
    """
    for look in looks(runs.facts):
        fewer = runs.first(look.seeds)
        sides = [fewer.of(name, task) for task, names in places for name in names]
        if look.number > 1 and not all(side.asked.all() for side in sides):
            break
        yield look, fewer
