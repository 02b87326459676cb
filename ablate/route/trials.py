"""The trials that verdicts rest on, asked for look by look until everything is settled, and their evidence.

What a look decides follows from the records of its seeds alone, so that a kill, or another number of jobs, changes no
decision: the same command takes the same looks again, from the store, and goes on.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ablate.analysis.claims import Place, unsettled
from ablate.base.errors import Problem, StudyError, listed, nearest
from ablate.base.process import now
from ablate.core.events import Plan
from ablate.core.facts import BASELINE, Claim, Evidence, Facts
from ablate.core.feature import Measured, features
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.route.cautions import cautions
from ablate.route.choose import as_judged
from ablate.route.claims import is_measured
from ablate.route.gather import comparable, gather
from ablate.route.options import Options
from ablate.route.place import source_of
from ablate.route.running import Run
from ablate.study.experiment import Experiment, facts_of
from ablate.study.sections import in_words


class Trials(Plan):
    """The plan of a study's trials; a fixed number of seeds is a single look. See `core.events.Plan`."""

    def __init__(
        self,
        experiment: Experiment,
        claims: Sequence[Claim] = (),
        enlist: Callable[[Sequence[Cell]], None] = lambda cells: None,
    ) -> None:
        """With the variants that are judged, and dated claims; `enlist` hears of cells before they are trained."""
        self.experiment, self.claims, self.enlist = experiment, claims, enlist
        judged, seeds = experiment.cells(), experiment.study.seeds
        # By role: `judged`, those that features add, and those that chose the variants.
        self.cells = [*judged, *experiment.companions(judged), *experiment.choice.cells]
        self._number = {seed: number for number, seed in enumerate(seeds.values)}
        self._looks = seeds.looks or [seeds.count]
        self._taken = 0
        # The number of seeds that each variant was asked for on each task.
        self._until: dict[Place, int] = {}
        self._open = {_place(cell) for cell in self.cells if cell.seed in self._number}
        enlist(self.cells)

    def ask(self, records: Mapping[str, Record]) -> Sequence[Cell]:
        """What features ask for after the last look; then the cells of the next where it has left something open; none
        where nothing is, or none is left.
        """
        before = {id(cell) for cell in self.used} if self._taken else set()

        @functools.cache
        def evidence() -> Evidence:
            facts = self.facts()
            # What seeds do not settle cannot keep them coming.
            facts = replace(facts, claims=[claim for claim in facts.claims if not is_measured(claim)])
            return self.evidence(facts, comparable(self.used, records, lambda text: None))

        judged, known = [cell for cell in self.used if cell.judged], {cell.name for cell in self.cells}
        more = [
            c for f in features() for c in f.more(self.experiment, judged, evidence) if c.name not in known
        ]
        if more:
            self.enlist(more)
            self.cells += more
            return more
        if self._taken == len(self._looks):
            self._open = set()
        elif self._taken:
            self._open &= unsettled(evidence())
        if not self._open:
            return []
        self._until |= dict.fromkeys(self._open, self._looks[self._taken])
        self._taken += 1
        return [cell for cell in self.used if id(cell) not in before]

    @property
    def left(self) -> int:
        """The largest number of trainings that may follow those already asked for."""
        used = {cell.id for cell in self.used}
        return len({cell.id for cell in self.cells if _place(cell) in self._open} - used)

    @property
    def used(self) -> list[Cell]:
        """The cells that have been asked for; those on other seeds, as of a search, from the first look on."""
        return [c for c in self.cells if self._number.get(c.seed, -1) < self._until.get(_place(c), 0)]

    def wanted(self, options: Options) -> Callable[[Cell], bool]:
        """Whether a cell is one of those that `--only` and `--seed` ask for. Raises `StudyError`."""
        asked = select([cell for cell in self.cells if cell.judged], options.only, options.seed)
        places = {(cell.variant, cell.task, cell.seed) for cell in asked}
        return lambda cell: (cell.variant, cell.task, cell.seed) in places

    def facts(self) -> Facts:
        """The study as it was trained, with the claims that these variants can settle."""
        settled = {claim.hash for claim in self.experiment.claims}
        found = facts_of(self.experiment, [claim for claim in self.claims if claim.hash in settled])
        if not self.experiment.study.seeds.looks:
            return found
        until: dict[str, dict[str, int]] = {}
        for (variant, task), count in self._until.items():
            until.setdefault(variant, {})[task] = count
        return replace(found, seeds=found.seeds[: max(self._until.values())], until=until)

    def evidence(self, facts: Facts, records: Mapping[str, Record]) -> Evidence:
        """Of the trials that were asked for, with what features keep of those that they added."""
        used = self.used
        others = [cell for cell in used if not cell.judged]
        frames = {
            name: frame
            for feature in features()
            for name, frame in feature.frames(self.experiment, others, records).items()
        }
        found = gather(facts, [cell for cell in used if cell.judged or cell.setting], records)
        return replace(found, frames={**found.frames, **frames})

    def save_evidence(
        self, run: Run, records: Mapping[str, Record], measured: Mapping[str, Measured]
    ) -> None:
        """Writes the evidence, with what features have measured."""
        environment = run.workers.where.environment()
        ran = [record.environment for record in records.values() if record.status == "completed"]
        # The driver may have trained nothing.
        environment["machine"] = ran[0].get("machine") if ran else environment["machine"]
        facts = replace(
            self.facts(),
            environment={name: value for name, value in environment.items() if name != "kind"},
            cautions=cautions(self.experiment),
            source=source_of(self.experiment.path, run.folder),
            reported=now(),
        )
        found = self.evidence(facts, comparable(self.used, records, run.warn))
        for name, known in measured.items():
            if len(known.frame):
                found = found.having(name, known.frame, known.facts)
        run.folder.save_evidence(found)
        run.folder.save_variants(as_judged(self.experiment))


def select(cells: Sequence[Cell], only: Sequence[str] = (), seed: int | None = None) -> list[Cell]:
    """All cells, or those of the variants in `only` (with the baseline) and of one seed. Raises `StudyError`."""
    rule = "is not a variant of the study"
    names = list(dict.fromkeys(cell.variant for cell in cells))
    problems = [
        Problem(rule, given=name, allowed=listed(names), hint=nearest(name, names), source="--only")
        for name in only
        if name not in names
    ]
    seeds = {cell.seed for cell in cells}
    if seed is not None and seed not in seeds:
        allowed = in_words(sorted(seeds))
        problems.append(Problem("is not a seed of the study", given=seed, allowed=allowed, source="--seed"))
    if problems:
        raise StudyError(problems)
    wanted = {BASELINE, *only} if only else set(names)
    return [cell for cell in cells if cell.variant in wanted and seed in (None, cell.seed)]


def _place(cell: Cell) -> Place:
    return cell.variant, cell.task
