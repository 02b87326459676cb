"""The end of a run whose report is written: places, MLflow, and the note of its sources."""

from collections.abc import Mapping, Sequence

from ablate.core.record import BESIDE, Record
from ablate.pipeline.evidence.own_inputs import agreed_variables
from ablate.pipeline.next_steps import print_places
from ablate.pipeline.reports.cache import remember
from ablate.pipeline.trial_plan import TrialPlan
from ablate.session.options import RunOutcome
from ablate.session.session import Session
from ablate.session.stage import Measurement
from ablate.study.study import Study


def finish(
    session: Session,
    planned: Study,
    plan: TrialPlan,
    records: Mapping[str, Record],
    measured: Sequence[Measurement],
) -> RunOutcome:
    """Ends a run: prints where its report is, completes MLflow, and notes the sources of the report.

    planned: the study before its variants were chosen.
    """
    options = session.options
    folder = session.folder
    print_places(folder, folder.facts(), session.console, options.tracking_uri)
    # The study keeps the trials of the variants that its file gives, whatever stages chose in their place.
    cells = [*plan.cells, *planned.cells()]
    if options.partial:
        folder.trial_list.add(cells)
    else:
        folder.trial_list.keep_only(cells)
    is_tracked = session.tracker.finish()
    # A run that names another place is never known as up to date, and sees to that place itself.
    lacks_tracking = not is_tracked and options.tracking_uri is None

    used = plan.used
    recorded = {cell.id: records[cell.id] for cell in used if cell.id in records}
    judged = [cell for cell in used if cell.judged]
    missing = sum(cell.id not in recorded or recorded[cell.id].status == "pruned" for cell in judged)
    failed = session.failed(used, recorded)
    has_all_records = all(cell.id in recorded for cell in used)
    if has_all_records and not (missing or failed or options.partial or plan.stopped):
        _remember(session, plan, recorded, measured, lacks_tracking=lacks_tracking)
    if missing:
        session.say(f"{missing} of {len(judged)} trials have not been run.")
    return RunOutcome(folder.path, failed, session.display.done, missing, plan.stopped)


def _remember(
    session: Session,
    plan: TrialPlan,
    records: Mapping[str, Record],
    measured: Sequence[Measurement],
    *,
    lacks_tracking: bool,
) -> None:
    """Notes what the report was made from, unless a measurement is incomplete or variables have other values."""
    files = {file for cell in plan.used for file in cell.trial.files}
    for measurement in measured:
        if measurement.files is None:
            return
        files |= {str(path) for path in measurement.files}
    variables = agreed_variables(records)
    if variables is None:
        return  # The next run says so again.
    for record in records.values():
        # What a trial of one's own code has read beside it.
        files |= {*record.environment.get(BESIDE, ())}
    remember(plan.study.document, session, list(records), files, variables, lacks_tracking=lacks_tracking)
