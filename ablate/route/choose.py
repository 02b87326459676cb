"""Which variants a run judges, where trainings choose them; and which study a path means."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from ablate.base.errors import AblateError, Problem, StudyError, listed
from ablate.core.feature import Feature, features
from ablate.records.folder import StudyFolder, report_folder
from ablate.route.options import Options
from ablate.route.place import place, refuse_another
from ablate.study.designs import Variant
from ablate.study.document import read_document
from ablate.study.experiment import Choice, Experiment
from ablate.study.load import load
from ablate.study.prepare import prepare


def narrowed(experiment: Experiment, options: Options) -> Experiment:
    """The study as a run with these options trains it. Raises `AblateError`."""
    for feature in features():
        experiment = feature.narrow(experiment, options)
    return experiment


def settling(experiment: Experiment, options: Options) -> list[Feature]:
    """The features that choose the variants of a run, in their order; none where they are chosen already.

    Raises `StudyError` for two that do not know of one another.
    """
    found = [] if experiment.choice.by else [f for f in features() if f.settles(experiment, options)]
    for first, then in pairwise(found):
        if first.name not in then.after:
            rule = f"cannot go with {first.name}: both choose the variants"
            raise StudyError([Problem(rule, (then.name,), source=str(experiment.path))])
    return found


def as_judged(experiment: Experiment) -> Mapping[str, Any]:
    """The variants with their configs, one a task, and who chose them, as plain data."""
    variants = [
        {
            "name": variant.name,
            "configs": variant.configs,
            "patches": dict(variant.patches),
            "at": list(variant.at),
            "placebo": variant.placebo,
            "tuned": dict(variant.tuned),
            "by_seed": {task: list(configs) for task, configs in variant.by_seed.items() if configs},
        }
        for variant in experiment.variants
    ]
    return {"by": experiment.choice.by or "design", "paths": experiment.design.paths, "variants": variants}


# Sections of a study in which it may differ from its report.
BESIDE = (
    *("name", "question", "notes", "folder", "plugins", "seeds", "claims"),
    *("time_limit", "checkpoint", "save_every", "resources"),
)


def changed(experiment: Experiment, source: StudyFolder) -> list[str]:
    """The sections in which a study differs from the one of a report, but for those `BESIDE`. Raises `AblateError`."""
    try:
        reported, _ = load(read_document(source.study_file))
    except StudyError:
        raise AblateError(
            f"{source.study_file}: is of another version of ablate; run {source.name} again first"
        ) from None
    free = {key for feature in features() if not feature.decides for key in feature.grammar()}
    now, then = (study.model_dump(exclude={*BESIDE, *free}) for study in (experiment.study, reported))
    return [key for key in now if key not in then or now[key] != then[key]]


def as_reported(experiment: Experiment, folder: StudyFolder) -> Experiment:
    """The study with the variants of its last report, where it has one. Raises `AblateError` for another study."""
    if not folder.has_trials:
        return experiment
    if differing := changed(experiment, folder):
        raise AblateError(
            f"{experiment.path}: differs from the study that {folder.path} reports, in {listed(differing)}; run it "
            f"again first, or give the study as it was run: {folder.study_file}"
        )
    judged = folder.variants()
    if judged is None or judged["by"] == "design":
        return experiment
    resolve = experiment.resolve
    variants = [
        Variant(
            **of
            | {"at": tuple(of["at"]), "configs": [*map(resolve, of["configs"])]}
            | {"by_seed": {task: [*map(resolve, each)] for task, each in of.get("by_seed", {}).items()}}
        )
        for of in judged["variants"]
    ]
    return experiment.judging(variants, judged["paths"], Choice(judged["by"]))


def reread(path: Path, options: Options) -> tuple[Experiment, StudyFolder, list[str]]:
    """The study of a file, or as it was run of a name or a folder, to time it or to evaluate its weights; where it
    reports, and how the options differ from it.
    """
    file = path if path.is_file() else report_folder(path, options.results).study_file
    experiment = prepare(file, options.sets)
    refuse_another(experiment, options.results)
    return narrowed(experiment, options), *place(experiment.document, options)
