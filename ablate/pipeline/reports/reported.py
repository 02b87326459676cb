"""A study as its last report has it: to confirm it, to time it, to evaluate its weights."""

from collections.abc import Sequence

from ablate.base.errors import AblateError, StudyError, listed
from ablate.core.judged_variants import JudgedVariant
from ablate.records.folder import StudyFolder
from ablate.study.designs import Config, Variant
from ablate.study.document import read_document
from ablate.study.load import load
from ablate.study.schema import StudyConfig
from ablate.study.study import Selection, Study

# Sections in which a study and its report may differ.
FREE_SECTIONS = (
    "name",
    "question",
    "notes",
    "folder",
    "plugins",
    "seeds",
    "claims",
    "time_limit",
    "checkpoint",
    "save_every",
    "resources",
)


def changed_sections(study: Study, folder: StudyFolder) -> list[str]:
    """Returns the sections in which a study differs from its report, but for those that may differ.

    Raises `AblateError` for a report of another version of this package.
    """
    return _differing_sections(study, _reported_config(study, folder))


def _reported_config(study: Study, folder: StudyFolder) -> StudyConfig:
    """Returns what the file beside a report says, with the parts of the study: no plugin that it names is run.

    Raises `AblateError` for a report of another version of this package.
    """
    try:
        document = read_document(folder.study_file)
        document.data["plugins"] = []
        reported, _ = load(document, study.stage_configs)
    except StudyError:
        raise AblateError(
            f"{folder.study_file}: was written by another version of ablate, or with other plugins; run {folder.name} "
            "again first"
        ) from None
    return reported


def _differing_sections(study: Study, reported: StudyConfig) -> list[str]:
    """Returns the sections in which a study differs from what was reported, but for those that may differ.

    These are `FREE_SECTIONS`, and the keys of stages that decide nothing.
    """
    free = {*FREE_SECTIONS}
    for config in study.stage_configs:
        if not config.decides:
            free |= config.model_fields.keys()
    now = study.config.model_dump(exclude=free)
    then = reported.model_dump(exclude=free)
    return [key for key in now if key not in then or now[key] != then[key]]


def as_reported(study: Study, folder: StudyFolder) -> Study:
    """Returns a study with the variants that trainings chose for its last report.

    Where none chose any, or it has no report, the study is returned as it is. Raises `AblateError` where the report is
    of another study, or of another version of this package.
    """
    if not folder.has_trials:
        return study
    reported = _reported_config(study, folder)
    changed = _differing_sections(study, reported)
    if changed:
        raise AblateError(
            f"{study.path}: differs from the study that {folder.path} reports, in {listed(changed)}; run it "
            f"again first, or give the study as it was run: {folder.study_file}"
        )
    judged = folder.variants()
    if judged is None or judged.by == "design":
        return study
    # The file of the report has the same conditions, maybe in another order.
    tasks = [*(reported.conditions or study.variants[0].configs)]
    variants = [_variant(study, variant, tasks) for variant in judged.variants]
    return study.judging(variants, judged.paths, Selection(judged.by))


def _variant(study: Study, judged: JudgedVariant, tasks: Sequence[str]) -> Variant:
    """Returns a variant from its fields as a report keeps them; tasks: those of its configs, in their order."""
    by_seed: dict[str, list[Config]] = {}
    for task, configs in judged.by_seed.items():
        by_seed[task] = [study.resolve(config) for config in configs]
    configs_of_tasks = dict(zip(tasks, map(study.resolve, judged.configs), strict=True))
    return Variant(
        name=judged.name,
        configs={task: configs_of_tasks[task] for task in study.variants[0].configs},
        patches=judged.patches,
        at=tuple(judged.at),
        placebo=judged.placebo,
        tuned=judged.tuned,
        by_seed=by_seed,
    )
