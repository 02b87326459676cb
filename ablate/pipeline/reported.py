"""A study as its last report has it: to confirm it, to time it, to evaluate its weights."""

from ablate.base.errors import AblateError, StudyError, listed
from ablate.records.folder import StudyFolder
from ablate.study.designs import Variant
from ablate.study.document import read_document
from ablate.study.load import load
from ablate.study.study import Selection, Study

# Sections of a study in which it may differ from its report.
BESIDE = (
    *("name", "question", "notes", "folder", "plugins", "seeds", "claims"),
    *("time_limit", "checkpoint", "save_every", "resources"),
)


def changed(study: Study, source: StudyFolder) -> list[str]:
    """The sections in which a study differs from the one of a report, but for those `BESIDE`. Raises `AblateError`."""
    try:
        reported, _ = load(read_document(source.study_file), study.stage_configs)
    except StudyError:
        raise AblateError(
            f"{source.study_file}: is of another version of ablate; run {source.name} again first"
        ) from None
    free = {key for config in study.stage_configs if not config.decides for key in config.model_fields}
    now, then = (config.model_dump(exclude={*BESIDE, *free}) for config in (study.config, reported))
    return [key for key in now if key not in then or now[key] != then[key]]


def as_reported(study: Study, folder: StudyFolder) -> Study:
    """The study with the variants of its last report, where it has one. Raises `AblateError` for another study."""
    if not folder.has_trials:
        return study
    if differing := changed(study, folder):
        raise AblateError(
            f"{study.path}: differs from the study that {folder.path} reports, in {listed(differing)}; run it "
            f"again first, or give the study as it was run: {folder.study_file}"
        )
    judged = folder.variants()
    if judged is None or judged["by"] == "design":
        return study
    resolve = study.resolve
    variants = [
        Variant(
            **of
            | {"at": tuple(of["at"]), "configs": [*map(resolve, of["configs"])]}
            | {"by_seed": {task: [*map(resolve, each)] for task, each in of.get("by_seed", {}).items()}}
        )
        for of in judged["variants"]
    ]
    return study.judging(variants, judged["paths"], Selection(judged["by"]))
