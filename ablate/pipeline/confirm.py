"""A confirmation repeats on unseen seeds what a study decided; it reports in `results/<study>@confirm/`.

Its variants and claims are those that were decided, its settings those that were chosen, or tuned again where tuning
chose them: a family of its own, whose outcome was not used to choose it. What is decided on each condition, or on
every one, is judged on those alone that are asked for. Of a design that crosses its factors it has all cells, since a
main effect is a mean over them: without some it would be another effect.
"""

import dataclasses
from collections.abc import Collection, Sequence
from typing import assert_never

from ablate.analysis.family import Levels, crossed_levels
from ablate.analysis.judge import DECIDED, DECIDED_CLAIM
from ablate.base.errors import AblateError, listed
from ablate.base.wording import counted, joined, seeds_in_words
from ablate.core.data_statement import NOT_STATED
from ablate.core.derived import is_measured
from ablate.core.facts import BASELINE, Claim, StudyFacts
from ablate.core.names import confirmed
from ablate.core.spelling import spelled
from ablate.pipeline.reports.reported import as_reported
from ablate.pipeline.requested import requested
from ablate.records.folder import StudyFolder
from ablate.report.tables.verdicts import planned_rows
from ablate.session.options import Options
from ablate.session.stage import Stage
from ablate.study.sections import TUNING_SEEDS_FROM, SeedsSection, asked_for
from ablate.study.study import Selection, Study


class NothingDecided(AblateError):
    """There is nothing to confirm."""

    exit_code = 0


def restrict_to_confirmed(
    study: Study, stages: tuple[Stage, ...], options: Options
) -> tuple[Study, tuple[Stage, ...]]:
    """Restricts a study that repeats a report, as its name says, and its stages to what that report decided.

    It gets seeds that the report has not used. Any other study is returned with its stages as they are.

    Where a stage that selects has a part in the confirmation, as tuning has, the variants are selected again; else they
    are those of the report. Raises `NothingDecided`, or `AblateError` where there is no report of the study as it is
    written.
    """
    name = confirmed(study.config.name)
    if name is None:
        return study, stages
    tasks = _tasks_to_confirm(study, options)
    report = StudyFolder(options.results_folder, name)
    if not report.has_trials:
        raise AblateError(f"{report.path}: has no report that could be confirmed; run {report.name} first")
    reported = as_reported(study, report).judged_on(tasks)
    facts = report.facts()
    claims = _decided_claims(reported, report)

    claimed = {claim.metric for claim in claims}
    confirming: list[Stage] = []
    for stage in stages:
        restricted_stage = stage.in_confirmation(facts.plan.searched, claimed)
        if restricted_stage is not None:
            confirming.append(restricted_stage)
    if any(stage.selects for stage in confirming):
        basis, selection = study.judged_on(tasks), Selection()
    else:
        basis, selection = reported, Selection("report")
    restricted = _restricted(basis, selection, report=report, facts=facts, claims=claims, options=options)
    return restricted, tuple(confirming)


def _tasks_to_confirm(study: Study, options: Options) -> list[str]:
    """Returns the tasks, or conditions, on which a confirmation is judged: those that `--condition` asks for.

    All are returned where a verdict is on their mean, or on a sample of them, which needs each. Raises `StudyError` for
    an unknown one.
    """
    asked = [cell.task for cell in requested(study.cells(), conditions=options.condition)]
    match study.config.over:
        case "each" | "every":
            return [*dict.fromkeys(asked)]
        case "mean" | "sample":
            return study.tasks
        case _:
            assert_never(study.config.over)


def _decided_claims(study: Study, report: StudyFolder) -> list[Claim]:
    """Returns the claims of a study that its report decided, but for those on time and memory.

    Where tasks are left out, one that remains must have helped to decide each.
    """
    if study.left_out_tasks:
        hashes = _claims_decided_on(study.tasks, report)
    else:
        hashes = {row["hash"] for row in report.claims() if row["verdict"] in DECIDED_CLAIM}
    return [claim for claim in study.claims if claim.hash in hashes and not is_measured(claim)]


def _claims_decided_on(tasks: Collection[str], report: StudyFolder) -> set[str]:
    """Returns the hashes of the decided claims of a report that these of its tasks alone decide, or help to decide."""
    # With numpy, for which a study that confirms nothing need not wait.
    from ablate.analysis.claims import judged_claims
    from ablate.analysis.runs import runs_of

    hashes: set[str] = set()
    for judged in judged_claims(runs_of(report.evidence())):
        if judged.decided and any({*at.tasks} <= {*tasks} for at in judged.deciding_places):
            hashes.add(judged.claim.hash)
    return hashes


def _decided_comparisons(
    report: StudyFolder, facts: StudyFacts, tasks: Collection[str]
) -> set[tuple[str, str]]:
    """Returns the planned (variant, baseline) pairs that a report decided on the primary metric.

    Where the report judges each task, they were decided on one of `tasks`. Where it judges its conditions together, it
    has one verdict on a pair, which counts whatever `tasks` are.
    """
    # A row over conditions has their form in the place of a task.
    places = {facts.over.form} if facts.over.joins_conditions else {*tasks}
    pairs: set[tuple[str, str]] = set()
    for row in planned_rows(report.comparisons()):
        if row["metric"] == facts.metric and row["verdict"] in DECIDED and row["task"] in places:
            pairs.add((row["variant"], row["baseline"]))
    return pairs


def _restricted(
    study: Study,
    selection: Selection,
    *,
    report: StudyFolder,
    facts: StudyFacts,
    claims: Sequence[Claim],
    options: Options,
) -> Study:
    """Returns a study as the confirmation of its report: with these claims, unseen seeds, and notes that say so.

    Its variants are the baseline, the placebo, those of decided comparisons and claims, and all cells of a crossed
    design. Raises `NothingDecided`. facts: those of the report.
    """
    comparisons = _decided_comparisons(report, facts, study.tasks)
    if not comparisons and not claims:
        raise NothingDecided(
            f"Nothing to confirm: {report.path} has decided no comparison on {spelled(facts.metric)} and no claim"
            f"{_tasks_in_words(study)}."
        )
    cells = crossed_levels(facts)
    names = {BASELINE, *cells}
    for pair in comparisons:
        names |= set(pair)
    for claim in claims:
        names |= set(claim.variants)
    variants = [variant for variant in study.variants if variant.placebo or variant.name in names]

    seeds = unseen_seeds(study.config.seeds, facts.seeds, options, report)
    decided: list[str] = []
    if comparisons:
        decided.append(counted(len(comparisons), "comparison"))
    if claims:
        decided.append(counted(len(claims), "claim"))
    where = _tasks_in_words(study)
    notes = [
        f"repeats{where and f'{where},'} on seeds {seeds_in_words(seeds.values)} what {report.name} decided on seeds "
        f"{seeds_in_words(facts.seeds)} ({joined(decided)}){_settings_in_words(study, facts)}, as a family of its own",
        *_notes_on_cells(cells),
        *_notes_on_examples(study, report),
    ]
    return dataclasses.replace(
        study.judging(variants, study.design.paths, selection),
        config=study.config.model_copy(update={"seeds": seeds}),
        claims=list(claims),
        not_judged=[],
        notes=notes,
    )


def unseen_seeds(
    given: SeedsSection, used: Sequence[int], options: Options, report: StudyFolder
) -> SeedsSection:
    """Returns seeds that a report has not used.

        those of the study        where they begin after the last that was used; and where none of them was used, if
                                  `--seeds` lists them, or they come from the file of the confirmation itself
        those after the last      else, as many as are asked for or were used

    Raises `AblateError` for listed seeds that were used, and where the next ones would reach those that tune.

    given: the seeds of the study, as options have changed it. used: those of the report.
    """
    last = max(used)
    asked = options.seeds
    again = sorted({*given.values} & {*used})
    if asked is not None and not isinstance(asked, int):
        if again:
            raise AblateError(
                f"--seeds {asked_for(asked)}: {report.path} used {listed(again)} already; give other seeds, or "
                f"their number: they then follow {last}"
            )
        return given
    is_from_its_own_file = asked is None and not options.confirm
    if given.start > last or (is_from_its_own_file and not again):
        return given
    start = last + 1
    count = asked or len(used)
    if start + count > TUNING_SEEDS_FROM:
        raise AblateError(
            f"{report.path}: used seeds up to {last}, and {count} more would reach {TUNING_SEEDS_FROM}; seeds from "
            "there on are reserved for tuning. Ask for fewer, or name them: --seeds 3,5,8"
        )
    return SeedsSection.of(start, count)


def _tasks_in_words(study: Study) -> str:
    """Says on which tasks alone a study is confirmed; nothing where it is on all."""
    if not study.left_out_tasks:
        return ""
    kind = "conditions" if study.config.conditions else "tasks"
    return f" on {joined(study.tasks)} alone, of {len(study.tasks) + len(study.left_out_tasks)} {kind}"


def _settings_in_words(study: Study, facts: StudyFacts) -> str:
    """Says where the settings of a confirmation come from; nothing where the study file gives them."""
    if study.selection.by:
        return ", with the settings that it chose"
    if facts.plan.searched:
        return ", tuned again"
    return ""


def _notes_on_cells(cells: Levels) -> list[str]:
    """Says that a confirmation trains every cell of a crossed design, and so judges every main effect."""
    if not cells:
        return []
    return [
        f"trains all {len(cells)} cells of its design, over which a main effect is a mean, and judges every main effect"
    ]


def _notes_on_examples(study: Study, report: StudyFolder) -> list[str]:
    """Returns the notes on the conditions of a confirmation whose test examples are not new, or may not be.

    There is one note for each cause, with its conditions.
    """
    conditions_by_limit: dict[str, list[str]] = {}
    for task in study.tasks:
        limit = _limit_on_examples(study, task, report.name)
        if limit:
            conditions_by_limit.setdefault(limit, []).append(task)

    notes: list[str] = []
    for limit, conditions in conditions_by_limit.items():
        where = f" on {joined(conditions)}" if len(conditions) < len(study.tasks) else ""
        notes.append(f"confirms{where} {limit}")
    return notes


def _limit_on_examples(study: Study, task: str, report_name: str) -> str:
    """Returns what follows `confirms` for a task whose test examples are not new, or may not be; else nothing."""
    baseline = study.variants[0]
    stated = study.workload.stated(baseline.configs[task], study.metric)
    if stated is not None and stated.test == NOT_STATED:
        return "over seeds; the task does not say whether the test examples are new, too"
    match study.describe(baseline)[task].sampling.pool:
        case "fresh":
            return ""
        case "held_out":
            return f"over seeds, not over examples: its test examples are those of {report_name}"
        case _:
            return f"over seeds, not over examples: its examples are from the pool of {report_name}"
