"""The route of a run, from its lock to its exit code: date claims, choose, train, measure, judge, publish."""

from collections.abc import Mapping
from dataclasses import replace

from ablate.base.errors import AblateError
from ablate.core.feature import Measured, features
from ablate.core.record import Record
from ablate.report.terminal import print_verdicts
from ablate.route.cautions import cautions
from ablate.route.choose import settling
from ablate.route.claims import date_claims, read_before
from ablate.route.options import Outcome
from ablate.route.place import remember
from ablate.route.publish import print_places
from ablate.route.running import Run, Unfinished
from ablate.route.trials import Trials
from ablate.study.prepare import resolved_text


def follow(run: Run) -> Outcome:
    """Chooses, trains, measures and reports what is missing of a study; the caller holds its lock."""
    given, chooses = run.experiment, settling(run.experiment, run.options)
    for caution in cautions(given):
        run.say(f"note: {caution}.")
    planned = [] if chooses else Trials(given).cells
    late = {metric for feature in features() if feature.begun(run) for metric in feature.metrics()}
    if any(feature.begun(run) for feature in chooses):
        late |= {claim.metric for claim in given.claims}
    claims = date_claims(run.folder, given.claims, late)
    run.folder.begin(resolved_text(given, run.folder.path), planned)
    with run.tracker as tracker:
        try:
            with run.training():
                for feature in chooses:
                    run = replace(run, experiment=feature.settle(run))
                run = replace(run, experiment=run.experiment.settling())
                claims = read_before(claims, run.experiment.cells(), run.store)
                trials = Trials(run.experiment, claims, run.folder.trial_list.add)
                records = run.drive(trials, trials.wanted(run.options), fresh=run.options.fresh)
        except Unfinished as unfinished:
            return unfinished.outcome
        measured = _measure(run, records)
        tracker.prepare()
        if run.display.done:
            run.say("Comparing, and writing the report …")
            # Beside it; what is left for the end is the report.
            tracker.tell("RUNNING")
        trials.save_evidence(run, records, measured)
        run.publisher.publish(run.folder, run.warn, lambda: print_verdicts(run.folder, run.display.console))
        print_places(run.folder, run.display.console, run.options.tracking_uri)
        # The study keeps the variants that it gives.
        keep = run.folder.trial_list.add if run.options.partial else run.folder.trial_list.keep_only
        keep([*trials.cells, *given.cells()])
        tracked = tracker.finish()
    return _ended(run, trials, records, measured if tracked else None)


def _measure(run: Run, records: Mapping[str, Record]) -> dict[str, Measured]:
    """What features measure on the machine that nothing trains on; what fails is a warning."""
    stopped = run.options.fail_fast and any(record.status == "failed" for record in records.values())
    found: dict[str, Measured] = {}
    for feature in features():
        try:
            known = feature.measure(run, not (run.options.partial or stopped))
            found |= {feature.name: known} if known is not None else {}
        except AblateError as error:
            run.warn(str(error))
    return found


def _ended(
    run: Run, trials: Trials, records: Mapping[str, Record], measured: Mapping[str, Measured] | None
) -> Outcome:
    """How it ended; notes what the report was made from, where nothing is missing.

    `measured`: by features; None where MLflow lacks something.
    """
    used = trials.used
    found = {cell.id: records[cell.id] for cell in used if cell.id in records}
    asked = [cell for cell in used if cell.judged]
    missing = sum(cell.id not in found or found[cell.id].status == "pruned" for cell in asked)
    lost = run.failed(used, found)
    inputs = None if measured is None else [known.files for known in measured.values()]
    whole = all(cell.id in found for cell in used) and not (missing or lost or run.options.partial)
    if whole and inputs is not None and None not in inputs:
        data = {file for cell in used for file in cell.trial.files}
        remember(run, list(found), [*data, *(str(path) for paths in inputs for path in paths or ())])
    if missing:
        run.say(f"{missing} of {len(asked)} trials have not been run.")
    return Outcome(run.folder.path, lost, run.display.done, missing)
