"""The cells of a design that crosses its factors, and the contrasts of effects between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ablate.analysis.runs import Runs, Side
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.aliasing import Effect, alias_sets
from ablate.core.evidence import Evidence
from ablate.core.facts import BASELINE, Facts, TaskFacts, VariantFacts
from ablate.core.short_names import by_design

CROSSING = ("factorial", "fractional")
"""Designs that vary several factors at once, so that effects are means over the others."""
Levels = Mapping[str, str]
"""Path → label."""


def crossings(evidence: Evidence) -> list[Crossed]:
    """What the design crosses, for each task of the primary metric; none where it crosses nothing."""
    facts = evidence.facts
    if facts.design not in CROSSING:
        return []
    runs, cells, without = Runs(evidence), *_cells(facts)
    found = [Crossed.of(runs, task, cells, without) for task in facts.tasks if facts.metric in task.metrics]
    return [crossed for crossed in found if len(crossed.factors) > 1]


def _cells(facts: Facts) -> tuple[dict[str, Levels], list[str]]:
    """Variant of the design → its level of every factor; and the variants that lack a factor."""
    first = facts.variants[0]
    mine = [v for v in facts.variants if v.name == BASELINE or (by_design(v) and v.changes and not v.placebo)]
    paths = [path for path in facts.factors if any(path in variant.changes for variant in mine)]
    cells: dict[str, Levels] = {}
    without = []
    for variant in mine:
        levels = {path: _level(facts, variant, path, first) for path in paths}
        if None in levels.values():
            without.append(variant.name)
        else:
            cells[variant.name] = {path: level for path, level in levels.items() if level is not None}
    return cells, without


def _level(facts: Facts, variant: VariantFacts, path: str, first: VariantFacts) -> str | None:
    """Its label; None where another change of the variant has removed the path, or changed what is there."""
    if path in variant.changes:
        return variant.changes[path]
    same = path in variant.levels and variant.levels[path] == first.levels.get(path)
    return facts.factors[path][0] if same else None


@dataclass(frozen=True)
class Crossed:
    """The cells of a design on one task, as far as they can be compared."""

    runs: Runs
    task: TaskFacts
    cells: Mapping[str, Levels]
    "Variant → its levels."
    factors: Mapping[str, list[str]]
    "Path → labels of the levels that some cell has, the baseline's first."
    left_out: Sequence[str]
    "What it leaves out, each in a clause."

    @classmethod
    def of(cls, runs: Runs, task: TaskFacts, cells: Mapping[str, Levels], without: Sequence[str]) -> Crossed:
        """Of the cells that have run."""
        metric = runs.facts.metric
        ran = {
            variant: levels
            for variant, levels in cells.items()
            if not np.isnan(runs.of(variant, task).scored(metric)).all()
        }
        baseline = cells[BASELINE]
        labels = {
            path: list(dict.fromkeys([baseline[path], *(levels[path] for levels in ran.values())]))
            for path in baseline
        }
        varying = {path: found for path, found in labels.items() if len(found) > 1}
        kept = {variant: {path: levels[path] for path in varying} for variant, levels in ran.items()}
        clauses = []
        if without:
            clauses.append(
                f"{_variants(without)} {'lacks' if len(without) == 1 else 'lack'} a factor that another removes"
            )
        if lost := [variant for variant in cells if variant not in ran]:
            clauses.append(f"{_variants(lost)} {'has' if len(lost) == 1 else 'have'} no run with an outcome")
        if single := [path for path in labels if path not in varying]:
            clauses.append(f"nothing varies {wording.joined(single)}")
        found = cls(runs, task, kept, varying, clauses)
        if found.fraction and not found.estimable:
            clauses.append("every effect, since a fraction without all of its cells mixes them")
        return found

    @property
    def facts(self) -> Facts:
        """Of the study."""
        return self.runs.facts

    @property
    def fraction(self) -> bool:
        """Whether cells are compared though others of their levels differ, which a fraction has balanced."""
        return self.facts.design == "fractional"

    def baseline(self, levels: Levels) -> Levels:
        """The baseline's levels on the same paths."""
        return {path: self.factors[path][0] for path in levels}

    def sides(self, wanted: Sequence[Levels]) -> list[list[Side]]:
        """The cells at each of several sets of levels of the same paths: those that differ in nothing else."""
        found = [
            {
                tuple(level for path, level in levels.items() if path not in of): variant
                for variant, levels in self.cells.items()
                if all(levels[path] == label for path, label in of.items())
            }
            for of in wanted
        ]
        if not self.fraction:
            everywhere = set.intersection(*(set(of) for of in found))
            found = [{rest: variant for rest, variant in of.items() if rest in everywhere} for of in found]
        return [[self.runs.of(variant, self.task) for variant in of.values()] for of in found]

    def contrasts(self) -> Iterator[tuple[str, str, Levels]]:
        """Kind, name and levels of each contrast that has cells."""
        names = {effect: name for name, effect in self.estimable} if self.fraction else {}
        every: list[Effect] = [*((path,) for path in self.factors), *combinations(self.factors, 2)]
        for effect in every:
            if self.fraction and effect not in names:
                continue
            for levels in self._levels(effect):
                wanted = [levels, self.baseline(levels)]
                if len(effect) == 2:
                    wanted += [{**levels, path: self.factors[path][0]} for path in effect]
                if all(self.sides(wanted)):
                    name = names.get(effect) or " × ".join(effect)
                    yield ("main" if len(effect) == 1 else "interaction"), name, levels

    def _levels(self, effect: Effect) -> Iterator[Levels]:
        first, *others = effect
        for level in self.factors[first][1:]:
            if not others:
                yield {first: level}
            for other in self.factors[others[0]][1:] if others else ():
                yield {first: level, others[0]: other}

    @cached_property
    def estimable(self) -> list[tuple[str, Effect]]:
        """Names and paths of the effects that a fraction tells apart: of aliases the first, named with the others.

        None of a fraction that has lost a cell, where every effect is mixed with others.
        """
        if not self.fraction:
            return []
        signs = {
            path: [1 if levels[path] != self.factors[path][0] else -1 for levels in self.cells.values()]
            for path in self.factors
        }
        sets = alias_sets(signs)
        columns = [np.prod([signs[path] for path in found[0]], axis=0) for found in sets]
        coded = np.stack([np.ones(len(self.cells)), *columns])
        balanced = np.array_equal(coded @ coded.T, len(self.cells) * np.eye(len(coded)))
        return [(" = ".join(" × ".join(effect) for effect in found), found[0]) for found in sets if balanced]


def _variants(names: Sequence[str]) -> str:
    return f"{wording.counted(len(names), 'variant')} ({listed(names, 3)})" if len(names) > 1 else names[0]
