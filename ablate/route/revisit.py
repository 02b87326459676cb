"""A study that has been run, taken up again: to time it, or to evaluate its weights."""

from __future__ import annotations

from pathlib import Path

from ablate.records.folder import StudyFolder
from ablate.route.choose import narrowed, study_path
from ablate.route.options import Options
from ablate.route.place import place, refuse_another
from ablate.study.experiment import Experiment
from ablate.study.prepare import prepare


def reread(path: Path, options: Options) -> tuple[Experiment, StudyFolder, list[str]]:
    """The study of a file, or of a name as it was run; where it reports, and how the options differ from it."""
    experiment = prepare(study_path(path, options.results), options.sets)
    refuse_another(experiment, options.results)
    return narrowed(experiment, options), *place(experiment.document, options)
