"""A run from its study file to its report, for `ablate run`, `ablate sweep` and Python."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ablate.pipeline.reports.cache import current_report, go_on_tracking, print_current
from ablate.pipeline.reports.limits import limited_as_run
from ablate.pipeline.reports.place import refuse_another, refuse_without_search, report_place
from ablate.session.forks import import_before_fork
from ablate.session.options import Options, RunOutcome
from ablate.stages import CONFIGS, STAGES
from ablate.study.document import read_document

if TYPE_CHECKING:
    from rich.console import Console


def run_study(path: Path, options: Options, console: Console) -> RunOutcome:
    """Trains what a study lacks, judges its variants, and publishes the report; one that is up to date is printed."""
    options = limited_as_run(path, options)
    document = read_document(path).override(options, CONFIGS)  # --set, --seeds and --confirm
    folder, overrides = report_place(document, options)
    report = current_report(folder, document, options)
    if report is not None:
        print_current(folder, document, report, overrides, console)
        if report.lacks_tracking:
            go_on_tracking(folder, console)
        return RunOutcome(folder.path)
    refuse_without_search(document, folder, options)
    import_before_fork(document, options)
    # What a report that is up to date must not wait for: numpy, the engines, MLflow's client.
    from ablate.pipeline.evidence.evidence import collect, measure
    from ablate.pipeline.evidence.limitations import print_limitations
    from ablate.pipeline.finish import finish
    from ablate.pipeline.jobs.adopt import adopt_jobs
    from ablate.pipeline.other_code import resolve_other_code
    from ablate.pipeline.prepare import prepare
    from ablate.pipeline.preregister.claims import preregister
    from ablate.pipeline.reporter import Reporter, write_page
    from ablate.pipeline.selection import select_variants
    from ablate.pipeline.trial_plan import plan_trials
    from ablate.session.session import IncompleteSelection, Session
    from ablate.study.files import resolved_text

    # Workers, MLflow and the process that judges and draws start while the study is checked.
    with (
        Session(document, folder, options, console) as session,
        closing(Reporter(in_process=options.jobs == 0)) as reporter,
    ):
        reporter.start()
        study, stages = prepare(document, STAGES, options)  # raises StudyError with all mistakes
        refuse_another(study, options.results_folder)
        study = study.reporting(folder.name, overrides)
        selecting = [stage for stage in stages if stage.selects]
        with session.lock(study, selects=bool(selecting)):
            adopt_jobs(study, session)  # of `ablate trial`, before anything asks what was trained
            print_limitations(study, selecting, session)
            resolve_other_code(study, session)
            claims, declared = preregister(study, stages, session)  # what comes after results is post hoc
            folder.begin(resolved_text(study, folder.path))
            planned = study
            with session.training(not_before=declared):
                try:
                    study = select_variants(study, selecting, session)
                except IncompleteSelection as stop:
                    return stop.outcome
                plan = plan_trials(study, stages, claims, session)
                records = session.train(plan, wanted=plan.wanted(options), fresh=options.fresh)
            measured = measure(study, stages, session, records)  # on the idle machine; a failure is a warning
            session.announce_report()
            folder.save(collect(plan, session, records, measured), study)
            verdicts = reporter.judge(folder)  # from the folder alone
            folder.save_verdicts(verdicts.tables, verdicts.answer)
            session.print_verdicts()
            page = reporter.draw(folder)
            write_page(folder, page, session.warn)
            return finish(session, planned, plan, records, measured)
