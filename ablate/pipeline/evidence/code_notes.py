"""Notes on the source of a user's program: made before training, and dropped where runs show otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from ablate.core.facts import BASELINE
from ablate.core.record import Record
from ablate.core.same_numbers import RunRecords, distance
from ablate.core.trial import Cell
from ablate.pipeline.evidence.about_variants import statements_on
from ablate.records.store import Store
from ablate.study.study import Study

CHECKED_SEEDS = 2
"""The seeds whose stored runs are compared with the notes before a study is trained."""


@dataclass(frozen=True)
class NoteOnVariants:
    """A note on the source of a program, and the runs that would contradict it."""

    text: str
    """A sentence without its full stop, with the variants and tasks that it is about."""
    tasks: Sequence[str]
    between_seeds: Sequence[str] = ()
    """The variants whose runs agree between seeds if the note is right."""
    on_a_seed: Sequence[tuple[str, str]] = ()
    """The pairs of variants whose runs agree under each seed if the note is right."""

    def is_contradicted(self, runs: RunRecords) -> bool:
        """Returns whether some runs that agree if the note is right have different numbers."""
        for task in self.tasks:
            if any(_differ(_seeds_of(name, task, runs)) for name in self.between_seeds):
                return True
            if any(_differ_on_a_seed(first, second, task, runs) for first, second in self.on_a_seed):
                return True
        return False


def code_notes(study: Study) -> list[NoteOnVariants]:
    """Returns the notes on the source of a user's program, which its runs may contradict; none without one.

    A note on seeds is wrong where runs of a variant differ between seeds; one on settings where a variant that changes
    them differs from the baseline under the same seed.
    """
    return [*_notes_of_workload(study), *_notes_on_untold(study)]


def standing_code_notes(notes: Iterable[NoteOnVariants], runs: RunRecords) -> list[str]:
    """Returns the texts of the notes that none of the runs contradicts."""
    return [note.text for note in notes if not note.is_contradicted(runs)]


def run_records(cells: Iterable[Cell], records: Mapping[str, Record]) -> RunRecords:
    """Returns the completed runs among records, by variant, task and seed."""
    runs: dict[tuple[str, str, int], Record] = {}
    for cell in cells:
        record = records.get(cell.id)
        if cell.judged and record is not None and record.status == "completed":
            runs[cell.variant, cell.task, cell.seed] = record
    return runs


def stored_runs(study: Study, store: Store) -> RunRecords:
    """Returns the completed runs that a store has of the first seeds of a study."""
    cells = study.cells(study.config.seeds.values[:CHECKED_SEEDS])
    records: dict[str, Record] = {}
    for cell in cells:
        record = store.load(cell.id)
        if record is not None:
            records[cell.id] = record
    return run_records(cells, records)


def _notes_of_workload(study: Study) -> Iterator[NoteOnVariants]:
    """Yields the notes of the workload, with the variants and tasks that they are about."""
    for statement in statements_on(study, study.workload.code_notes):
        note = statement.subject
        text = f"{statement.prefix}{note.text}"
        tasks = [statement.task]
        match note.about:
            case "seeds":
                yield NoteOnVariants(text, tasks, between_seeds=statement.variants)
            case "settings":
                yield NoteOnVariants(text, tasks, on_a_seed=_pairs_that_change(note.settings, study))
            case _:
                assert_never(note.about)


def _pairs_that_change(settings: Sequence[str], study: Study) -> list[tuple[str, str]]:
    """Returns each variant that changes one of the settings, with the baseline."""
    pairs: list[tuple[str, str]] = []
    for variant in study.variants:
        if any(path in settings for path in variant.patches):
            pairs.append((variant.name, BASELINE))
    return pairs


def _notes_on_untold(study: Study) -> Iterator[NoteOnVariants]:
    """Yields which variants the program may not be able to tell apart."""
    variants = [variant for variant in study.design.variants if not variant.placebo]
    configs = {variant.name: variant.configs[study.tasks[0]] for variant in variants}
    for untold in study.workload.untold(configs, study.design.paths, varied={}):
        if untold.variants is not None:
            text = f"{untold.variants[0]} {untold.problem.rule}"
            yield NoteOnVariants(text, [*study.tasks], on_a_seed=[untold.variants])


def _seeds_of(variant: str, task: str, runs: RunRecords) -> list[Record]:
    """Returns the runs of a variant on a task, one a seed."""
    return [record for (name, of_task, _), record in runs.items() if (name, of_task) == (variant, task)]


def _differ(records: Sequence[Record]) -> bool:
    """Returns whether two of some runs have different numbers."""
    return any(distance(one, other) > 0 for one, other in itertools.pairwise(records))


def _differ_on_a_seed(variant: str, other: str, task: str, runs: RunRecords) -> bool:
    """Returns whether two variants have different numbers under some seed."""
    for (name, of_task, seed), record in runs.items():
        if (name, of_task) != (variant, task):
            continue
        beside = runs.get((other, task, seed))
        if beside is not None and distance(record, beside) > 0:
            return True
    return False
