"""The step from a document to a study and its stages, with all mistakes at once."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ablate.base.errors import AblateError, listed
from ablate.base.plugins import add_loaded_modules
from ablate.core.trial import Cell
from ablate.pipeline.confirm import restrict_to_confirmed
from ablate.pipeline.reports.limits import limited_as_run
from ablate.pipeline.reports.place import refuse_another, report_place
from ablate.pipeline.requested import requested
from ablate.records.folder import StudyFolder
from ablate.records.named_folder import report_folder
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.stages import CONFIGS, STAGES
from ablate.study.document import Document, read_document
from ablate.study.drafting import draft_study
from ablate.study.load import load
from ablate.study.stage_config import StageOutline
from ablate.study.study import Study


def prepare(
    document: Document, stage_types: Sequence[type[Stage]], options: Options
) -> tuple[Study, tuple[Stage, ...]]:
    """Checks a study, and returns it as these options train it, with its stages.

    Raises `StudyError` with all mistakes against the schema, or else with all mistakes of meaning; and `NothingDecided`
    for a confirmation without anything to confirm.
    """
    study, stages = check(document, stage_types, options)
    study, stages = restrict_to_confirmed(study, stages, options)
    for stage in stages:
        study = stage.adjust(study)
    requested(study.cells(), options.only, options.seed, options.condition)  # refuses unknown names
    study = replace(
        study,
        companions_per_cell=_companions_per_cell(study, stages),
        selected_paths=_selected_paths(stages),
    )
    return study, stages


def reread(
    path: Path, options: Options, *, trust: bool = False
) -> tuple[Study, tuple[Stage, ...], StudyFolder]:
    """Prepares a study, and returns it with its stages and the folder in which it reports.

    path: a study file; or the name of a study or its results folder, which is taken as it was run. trust: whether the
    code that a results folder names may run. Raises `AblateError` where it may not.
    """
    is_given = path.is_file()
    named = report_folder(path, options.results_folder)
    file = path if is_given else named.study_file
    document = read_document(file).override(options, CONFIGS)
    if not is_given:
        _refuse_other_folder(named, document, options.results_folder)
    if not is_given and not trust:
        _refuse_code_of_folder(document)
    options = limited_as_run(file, options)
    study, stages = prepare(document, STAGES, options)
    refuse_another(study, options.results_folder)
    folder, overrides = report_place(document, options)
    return study.reporting(folder.name, overrides), stages, folder


def _refuse_other_folder(named: StudyFolder, document: Document, results: Path) -> None:
    """Raises `AblateError` for a folder that is not where its study reports, as one that was copied or renamed."""
    own = StudyFolder(results, str(document.written.get("name") or document.data.get("name")))
    if own.path.resolve() != named.path.resolve():
        raise AblateError(
            f"{named.path}: reports the study {own.name}, whose folder is {own.path}, where the result would stand. "
            f"Give it its name back, {own.name}, and its results folder with --results; or give the study file"
        )


def _refuse_code_of_folder(document: Document) -> None:
    """Raises `AblateError` for a results folder that names code: somebody else may have made it."""
    plugins = document.data.get("plugins")
    workload = document.data.get("workload")
    code = [*plugins] if isinstance(plugins, list) else []
    if isinstance(workload, dict):
        code += workload.values()
    if code:
        raise AblateError(
            f"{document.path}: names code of its own, {listed(code, 4)}, which would run on this machine. Give the "
            "study file instead of the name, or add --trust if you trust this folder and that code"
        )


def check(
    document: Document, stage_types: Sequence[type[Stage]], options: Options
) -> tuple[Study, tuple[Stage, ...]]:
    """Checks a study, and returns it as its file says, with its stages.

    Raises `StudyError` with all mistakes.
    """
    configs = [stage_type.Config for stage_type in stage_types]
    config, workload = load(document, configs, skip_unknown_keys=True)
    workload.results = options.results_folder.absolute()
    loaded_before = {*sys.modules}
    made = [stage_type.from_study(config, options) for stage_type in stage_types]
    stages = tuple(stage for stage in made if stage is not None)
    drafted = draft_study(document, config, workload, outline_of(stages))
    if drafted.is_whole:
        for stage in stages:
            stage.check(drafted.draft)
    refuse_two_selections(stages, document)
    document.raise_problems()
    # The modules that checks have loaded belong to the plugins.
    add_loaded_modules(config.plugins, loaded_before)
    return replace(drafted.study, stage_configs=configs), stages


def refuse_two_selections(stages: Sequence[Stage], document: Document) -> None:
    """Refuses two stages that both choose variants, unless the later one may come after the first."""
    selecting = [stage for stage in stages if stage.selects]
    for first, later in pairwise(selecting):
        if not isinstance(first, later.selects_after):
            document.refuse((later.name,), f"cannot be combined with {first.name}: both choose the variants")


def outline_of(stages: Iterable[Stage]) -> StageOutline:
    """Gathers the metrics, variants and varied paths that stages will add to a study."""
    metrics: frozenset[str] = frozenset()
    names: list[str] = []
    varied: dict[str, Sequence[str]] = {}
    for stage in stages:
        metrics |= stage.metrics
        names += stage.variant_names()
        varied |= stage.varied_paths()
    return StageOutline(metrics, names, varied)


def companions(study: Study, stages: Iterable[Stage], judged: Sequence[Cell]) -> list[Cell]:
    """Returns the cells that stages have trained beside judged ones."""
    cells: list[Cell] = []
    for stage in stages:
        cells += stage.companions(study, judged)
    return cells


def _selected_paths(stages: Iterable[Stage]) -> list[str]:
    """Returns the paths whose values are selected for each variant."""
    selected: list[str] = []
    for stage in stages:
        if stage.selects:
            for paths in stage.varied_paths().values():
                selected += paths
    return selected


def _companions_per_cell(study: Study, stages: Iterable[Stage]) -> int:
    """Returns how many cells the stages train beside each judged cell."""
    first = study.cells(study.config.seeds.values[:1])[:1]
    return len(companions(study, stages, first))
