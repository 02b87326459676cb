"""The trials that verdicts rest on: those of the study, or of what a search has chosen; and their evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ablate.base.process import now
from ablate.core.events import FixedPlan
from ablate.core.facts import Claim, Evidence, Facts
from ablate.core.feature import Measured, features
from ablate.core.record import Record
from ablate.core.trial import JUDGED, Cell
from ablate.route.cautions import cautions
from ablate.route.claims import is_measured
from ablate.route.gather import comparable, gather
from ablate.route.options import Options
from ablate.route.place import source_of
from ablate.route.running import Run
from ablate.route.select import select
from ablate.route.settle import UNTUNED, Settling, Until
from ablate.study.experiment import Experiment
from ablate.study.facts import facts_of


@dataclass(frozen=True)
class Work:
    """The trials that verdicts rest on, and the others that the study refers to."""

    experiment: Experiment
    "With the variants that are judged."
    given: Experiment
    "As it was before a search chose its variants."
    claims: Sequence[Claim]
    "Dated."
    cells: Sequence[Cell]
    """By role: `judged`; `untuned`, the variants of a tuned study as the study gives them; `tried`, the settings that a
    search has tried; and those that features add."""
    seeds: int | None = None
    "The number of the study's seeds that were used, where looks decide on it; so does the next."
    until: Until = field(default_factory=dict)
    "That of each variant on each task."

    @classmethod
    def of(
        cls,
        experiment: Experiment,
        claims: Sequence[Claim],
        given: Experiment | None = None,
        others: Sequence[Cell] = (),
    ) -> Work:
        """The trials of a study, with those that features train beside them, and others."""
        cells = experiment.cells()
        return cls(experiment, given or experiment, claims, [*cells, *experiment.companions(cells), *others])

    def role(self, name: str) -> list[Cell]:
        """The cells with a role."""
        return [cell for cell in self.cells if cell.role == name]

    def wanted(self, options: Options) -> Callable[[Cell], bool]:
        """Whether a cell is one of those that `--only` and `--seed` ask for. Raises `StudyError`."""
        # Variants that were tuned are compared with themselves, so that only the seed is chosen of these.
        asked = [*select(self.role(JUDGED), options.only, options.seed)]
        untuned = self.role("untuned")
        asked += select(untuned, seed=options.seed) if untuned else []
        places = {(cell.variant, cell.task, cell.seed) for cell in asked}
        return lambda cell: (cell.variant, cell.task, cell.seed) in places

    def plan(self) -> Settling | FixedPlan:
        """The plan that trains it: at once, or look by look until everything is settled."""
        seeds = self.experiment.study.seeds
        if not seeds.looks:
            return FixedPlan(self.cells)

        def evidence(
            cells: Sequence[Cell], count: int, until: Until, records: Mapping[str, Record]
        ) -> Evidence:
            mine = replace(self, cells=cells, seeds=count, until=until)
            facts = mine.facts()
            # What seeds do not settle cannot keep them coming.
            facts = replace(facts, claims=[claim for claim in facts.claims if not is_measured(claim)])
            return mine.evidence(facts, comparable(cells, records, lambda text: None))

        return Settling(self.cells, seeds.values, seeds.looks, evidence)

    def after(self, plan: Settling | FixedPlan) -> Work:
        """What was trained of it."""
        if isinstance(plan, FixedPlan):
            return self
        return replace(self, cells=plan.used, seeds=plan.looks[plan.taken - 1], until=plan.until)

    def evidence(self, facts: Facts, records: Mapping[str, Record]) -> Evidence:
        """Of its trials, with what features keep of those that they asked for."""
        found = [(f.name, f.frame(self.experiment, self.role(f.name), records)) for f in features()]
        frames = {name: frame for name, frame in found if frame is not None}
        return replace(gather(facts, self.role(JUDGED), records), frames=frames)

    def save_evidence(
        self, run: Run, records: Mapping[str, Record], measured: Mapping[str, Measured]
    ) -> None:
        """Writes the evidence, with the claims that these variants can settle, and what features have measured."""
        if untuned := self.role("untuned"):
            given = [replace(cell, variant=cell.variant.removesuffix(UNTUNED)) for cell in untuned]
            evidence = gather(self._on_its_seeds(facts_of(self.given)), given, records)
            run.folder.save_evidence(evidence, untuned=True)
        facts = self.facts(run.workers.where.environment(), cautions(self.experiment))
        source = source_of(self.experiment.path, run.folder)
        found = self.evidence(replace(facts, source=source, reported=now()), records)
        for name, known in measured.items():
            if len(known.frame):
                found = found.having(name, known.frame, known.facts)
        run.folder.save_evidence(found)

    def facts(self, environment: Mapping[str, Any] | None = None, limits: Sequence[str] = ()) -> Facts:
        """The study as it was trained, with the claims that these variants can settle."""
        settled = {claim.hash for claim in self.experiment.claims}
        mine = [claim for claim in self.claims if claim.hash in settled]
        return self._on_its_seeds(facts_of(self.experiment, mine, environment, limits))

    def _on_its_seeds(self, facts: Facts) -> Facts:
        until: dict[str, dict[str, int]] = {}
        for (variant, task), count in self.until.items():
            until.setdefault(variant, {})[task] = count
        return replace(facts, seeds=facts.seeds[: self.seeds], until=until)


def as_given(cell: Cell) -> Cell:
    """A trial of a tuned variant as the study gives it, under a name that tells them apart."""
    variant = f"{cell.variant}{UNTUNED}"
    name = f"{variant}{cell.name.removeprefix(cell.variant)}"
    return replace(cell, variant=variant, name=name, role="untuned")
