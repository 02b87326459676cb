"""The command line of each trial that a study lacks, for the jobs of a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.base.errors import AblateError
from ablate.base.files import destination, write_text
from ablate.base.locks import exclusive
from ablate.base.text import at_results, typed
from ablate.core.trial import Cell
from ablate.pipeline.jobs.adopt import adopt_jobs
from ablate.pipeline.jobs.batch import Batch, Rehearsed
from ablate.pipeline.other_code import resolve_other_code
from ablate.pipeline.preregister.claims import preregister
from ablate.session.options import Options
from ablate.study.files import resolved_text
from ablate.study.sections import asked_for

if TYPE_CHECKING:
    from rich.console import Console


def write_commands(path: Path, options: Options, file: Path, console: Console) -> Batch:
    """Writes a line for each trial that a run would train now, and returns the trials.

    It begins the study as a run does: it adopts what earlier jobs have left, dates plan and claims, which must be
    older than their results, and lists the trials. Raises `AblateError`.
    """
    target = destination(file)
    rehearsed = Rehearsed.of(path, options, console)
    study, session, folder = rehearsed.study, rehearsed.session, rehearsed.folder
    with exclusive(session.store.root, folder.name, session.say):
        adopt_jobs(study, session)
        resolve_other_code(study, session)
        claims, _ = preregister(study, rehearsed.stages, session)
        folder.begin(resolved_text(study, folder.path))
        batch = rehearsed.batch(claims)
        folder.trial_list.add(batch.cells)
    lines = [f"{command_of(cell, path, options)}\n" for cell in batch.cells]
    write_text(target, "".join(lines))
    if study.workload.runs_apart:
        _refuse_part_of_code(target, rehearsed, Rehearsed.of(path, options, console, read_only=True))
    return batch


def _refuse_part_of_code(file: Path, planned: Rehearsed, now: Rehearsed) -> None:
    """Removes a file and raises `AblateError` where trials have other ids since it was written."""
    if {cell.id for cell in planned.study.cells()} == {cell.id for cell in now.study.cells()}:
        return
    file.unlink()
    raise AblateError(
        f"{file}: would count as code of the study, which each job would find changed: write it below "
        f"{planned.folder.results}, or exclude its name under `workload:`"
    )


def command_of(cell: Cell, path: Path, options: Options) -> str:
    """Returns the command that trains the trial of a cell alone, quoted for a shell."""
    return typed("trial", path, cell.id, *overrides_of(options), *at_results(options.results_folder))


def overrides_of(options: Options) -> Sequence[str]:
    """Returns the words of the options that decide which trials a study has."""
    words: list[str] = []
    for change in options.sets:
        words += ["--set", change]
    for name in options.condition:
        words += ["--condition", name]
    if options.seeds is not None:
        words += ["--seeds", asked_for(options.seeds)]
    if options.confirm:
        words.append("--confirm")
    if options.sweep:
        words.append("--sweep")
    return words
