"""Second runs of the baseline under its first seeds, whole ones: whether seeds matter is read from them afterwards.

Only on tasks on which a short run does not repeat exactly. Where it does, and another seed gives other numbers, the
seed has been shown to reach the code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ablate.base.text import printable
from ablate.core.facts import BASELINE, TRIAL_COLUMNS, frame_of
from ablate.core.repeats import NUM_REPEATED, REPEATS
from ablate.core.trial import AGAIN, Cell

if TYPE_CHECKING:
    import pandas as pd

    from ablate.session.stage import Records
    from ablate.study.study import Study


def repeats_of(study: Study, judged: Sequence[Cell], tasks: Collection[str]) -> Iterator[Cell]:
    """Yields the judged cells of the baseline under the first seeds a second time, on these tasks."""
    seeds = study.config.seeds.values[:NUM_REPEATED]
    for cell in judged:
        if cell.variant != BASELINE or cell.task not in tasks or cell.seed not in seeds:
            continue
        trial = study.trial(dict(cell.trial.config), cell.seed, AGAIN)
        yield replace(cell, trial=replace(trial, checkpoint="none"), name=f"{cell.name} again", role=REPEATS)


def frame_of_repeats(cells: Sequence[Cell], records: Records) -> pd.DataFrame:
    """Returns a row for each second run that has ended, with the columns of `Evidence.trials` but for factors."""
    rows: list[dict[str, object]] = []
    for cell in cells:
        record = records.get(cell.id)
        if cell.role != REPEATS or record is None:
            continue
        place = {"id": cell.id, "variant": cell.variant, "task": cell.task, "seed": cell.seed}
        ended = {"status": record.status, "reason": printable(record.reason), "name": cell.name}
        rows.append({**record.metrics, **place, **ended})
    return frame_of(rows, None if rows else TRIAL_COLUMNS)
