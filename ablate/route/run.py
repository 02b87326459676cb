"""The route of a run, from its lock to its exit code: date claims, choose, train, measure, judge, publish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.base.errors import AblateError, StoreError
from ablate.core.facts import Claim
from ablate.core.feature import Measured, features
from ablate.core.record import Record
from ablate.core.trial import Cell
from ablate.route.cautions import cautions
from ablate.route.claims import date_claims
from ablate.route.gather import comparable
from ablate.route.judge import Work
from ablate.route.options import Outcome
from ablate.route.place import remember
from ablate.route.publish import print_places, print_table, publish
from ablate.route.running import Run, Unfinished
from ablate.route.search import SearchStage, searching
from ablate.route.walk import Walk
from ablate.study.given import resolved_text


def follow(run: Run) -> Outcome:
    """Searches, trains, measures and reports what is missing of a study; the caller holds its lock."""
    given = run.experiment
    run, search = searching(run)
    for caution in cautions(run.experiment):
        run.say(f"note: {caution}.")
    planned = [] if search is not None else Work.of(run.experiment, ()).cells
    ran = {cell.variant for cell in planned if run.store.has(cell.id)}
    late = {metric for feature in features() if feature.begun(run) for metric in feature.metrics()}
    claims = date_claims(run.folder, given.claims, ran, late, begun=search is not None and search.begun)
    run.folder.begin(resolved_text(run.experiment, run.folder.path), planned)
    with run.listeners.tracker as tracker:
        try:
            with run.training():
                work = choose_variants(run, search, claims)
                run = replace(run, experiment=work.experiment)
                run.folder.trial_list.add(work.cells)
                plan = work.plan()
                records = run.drive(plan, work.wanted(run.options), fresh=run.options.fresh)
                trained = work.after(plan)
        except Unfinished as unfinished:
            return unfinished.outcome
        measured = _measure(run, records)
        tracker.prepare()
        if run.listeners.display.done:
            run.say("Comparing, and writing the report …")
        if search is not None:
            search.keep()
        else:
            _forget_searches(run)
        trained.save_evidence(run, comparable(trained.cells, records, run.warn), measured)
        publish(run.folder, run.warn, lambda: print_table(run.folder, run.listeners.console))
        print_places(run.folder, run.listeners.console, run.options.tracking_uri)
        # The study keeps its own variants after a sweep.
        _keep_only(run, [*work.cells, *given.cells()])
        tracked = tracker.finish()
    return _ended(run, trained, records, measured, tracked=tracked)


def choose_variants(run: Run, search: SearchStage | None, claims: Sequence[Claim]) -> Work:
    """The trials of a study whose variants a search or a path has chosen, where it has one; or `Unfinished`."""
    if search is not None:
        return search.chosen(run, claims)
    if not run.experiment.walks:
        return Work.of(run.experiment, claims)
    walk = Walk(run.experiment)
    records = run.drive(walk, later=walk.later, fresh=run.options.fresh)
    run.folder.trial_list.add(walk.cells)
    if not walk.over:
        raise run.unfinished("path", walk.cells, records)
    work = Work.of(walk.walked, claims)
    return replace(work, cells=[*work.cells, *walk.cells])


def _forget_searches(run: Run) -> None:
    """Removes the tables of searches that the study no longer has, or does not use."""
    run.folder.forget_search("tuning")
    if run.experiment.search is None:
        run.folder.forget_search("sweep")


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


def _keep_only(run: Run, cells: Sequence[Cell]) -> None:
    try:
        if run.options.partial:
            run.folder.trial_list.add(cells)
        else:
            run.folder.trial_list.keep_only(cells)
    except StoreError as error:
        run.warn(f"{error}. The list of its trials keeps what it had, and no trial is lost")


def _ended(
    run: Run, work: Work, records: Mapping[str, Record], measured: Mapping[str, Measured], *, tracked: bool
) -> Outcome:
    """How it ended; notes what the report was made from, where nothing is missing."""
    found = {cell.id: records[cell.id] for cell in work.cells if cell.id in records}
    asked = [cell for cell in work.cells if cell.role not in ("tried", "untuned")]
    missing = sum(cell.id not in found or found[cell.id].status == "pruned" for cell in asked)
    failures = any(record.status == "failed" for record in found.values())
    inputs = [known.files for known in measured.values()]
    whole = None not in inputs and all(cell.id in found for cell in work.cells)
    if tracked and whole and not (missing or failures or run.options.partial):
        data = {file for cell in work.cells for file in cell.trial.files}
        remember(run, list(found), [*data, *(str(path) for paths in inputs for path in paths or ())])
    lost = run.failed(work.cells, found)
    if missing:
        run.say(f"{missing} of {len(asked)} trials have not been run.")
    return Outcome(run.folder.path, lost, run.listeners.display.done, missing)
