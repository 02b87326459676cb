"""Training: the trials that verdicts rest on."""

from __future__ import annotations

from collections.abc import Mapping

from ablate.core.record import Record
from ablate.route.expect import seconds_each
from ablate.route.judge import Work
from ablate.route.running import Run


def train(run: Run, work: Work) -> tuple[Work, Mapping[str, Record]]:
    """What was trained of it, less where everything was settled before the last seed; and the records by trial id."""
    run.folder.roster.add(work.cells)
    wanted = work.wanted(run.options)
    places = [
        (cell.variant, cell.task)
        for cell in {cell.id: cell for cell in work.cells if wanted(cell)}.values()
        if run.options.fresh or not run.store.has(cell.id)
    ]
    run.listeners.display.expected = seconds_each(run.experiment.cells(), places, run.store)
    plan = work.plan()
    records = run.drive(plan, wanted, fresh=run.options.fresh)
    return work.after(plan), records
