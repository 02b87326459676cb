"""A study that has been run, taken up again: to time it, or to evaluate its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ablate.base.locks import exclusive
from ablate.base.process import interruptible
from ablate.records.folder import StudyFolder
from ablate.records.store import Store
from ablate.route.cached import staying_current
from ablate.route.choose import study_path
from ablate.route.confirm import confirming
from ablate.route.options import Options
from ablate.route.place import place, refuse_another, reported
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare


def reread(path: Path, options: Options, apart: str = "") -> tuple[Experiment, StudyFolder, list[str]]:
    """The study of a file, or of a name as it was run; where it reports, and how the options differ from it.

    `apart`: a section that changes nothing of what is reported beside it.
    """
    experiment = prepare(study_path(path, options.results), options.sets)
    refuse_another(experiment, options.results)
    narrowed = confirming(experiment, options.results)
    return narrowed, *place(narrowed.document, options, beside=apart)


@contextmanager
def at_rest(path: Path, folder: StudyFolder, store: Store, say: Callable[[str], None]) -> Iterator[None]:
    """Inside, nothing else runs the study; a report that was up to date with `path` stays so."""
    facts = reported(folder)
    as_run = Options(results=folder.results, sweep=facts is not None and facts.searched == "sweep")
    with exclusive(store.root, folder.name, say), interruptible(), staying_current(folder, path, as_run):
        yield
