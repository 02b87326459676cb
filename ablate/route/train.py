"""Training: what chooses the variants, and then the trials that verdicts rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ablate.core.facts import Claim
from ablate.core.record import Record
from ablate.route.expect import seconds_each
from ablate.route.judge import Work
from ablate.route.running import Run
from ablate.route.search import SearchStage
from ablate.route.walk import Walk


def choose_variants(run: Run, search: SearchStage | None, claims: Sequence[Claim]) -> Work:
    """The trials of a study whose variants a search or a path has chosen, where it has one; or `Unfinished`."""
    if search is not None:
        return search.chosen(run, claims)
    if not run.experiment.walks:
        return Work.of(run.experiment, claims)
    walk = Walk(run.experiment)
    records = run.drive(walk, later=walk.later, fresh=run.options.fresh)
    run.folder.roster.add(walk.cells)
    if not walk.over:
        raise run.unfinished("path", walk.cells, records)
    work = Work.of(walk.walked, claims)
    return replace(work, cells=[*work.cells, *walk.cells])


def train(run: Run, work: Work) -> tuple[Work, Mapping[str, Record]]:
    """What was trained of it, less where everything was settled before the last seed; and the records by trial id."""
    run.folder.roster.add(work.cells)
    wanted = work.wanted(run.options)
    places = [
        (cell.variant, cell.task)
        for cell in {cell.id: cell for cell in work.cells if wanted(cell)}.values()
        if run.options.fresh or not run.store.has(cell.id)
    ]
    if work.experiment.tune is None:
        run.listeners.display.expected = seconds_each(run.experiment.cells(), places, run.store)
    plan = work.plan()
    records = run.drive(plan, wanted, fresh=run.options.fresh)
    return work.after(plan), records
