"""The trials that can be paired with their baseline: on the same data and kind of machine."""

from collections.abc import Callable, Mapping, Sequence

from ablate.base.errors import listed
from ablate.core.facts import BASELINE
from ablate.core.record import FILE, Record
from ablate.core.trial import Cell
from ablate.execution.opened_files import UNDECLARED
from ablate.pipeline.evidence.own_inputs import changed_variables, limitations_of_inputs

OTHER_DATA = "other data"
OTHER_MACHINE = "another kind of machine"
# Why a trial is left out → what to do.
REMEDIES = {
    OTHER_DATA: "Declare the files that the task reads, and train both again with --fresh",
    OTHER_MACHINE: "Train both again with --fresh, on one kind; `resources:` names it",
}


def comparable(
    cells: Sequence[Cell], records: Mapping[str, Record], warn: Callable[[str], None]
) -> dict[str, Record]:
    """Returns the records without those of trials that cannot be paired with their baseline.

    Warns of each trial that is left out, and of files that trials read without declaring them.
    """
    _warn_of_undeclared(records, warn)
    baselines = {(cell.task, cell.seed): cell for cell in cells if cell.variant == BASELINE and cell.judged}
    kept = dict(records)
    left_out: dict[str, list[str]] = {}
    for cell in cells:
        baseline = baselines.get((cell.task, cell.seed))
        # Cells may share a trial, which is left out once.
        if cell.id not in kept or baseline is None or baseline.id not in records:
            continue
        obstacle = _obstacle(cell, baseline, records)
        if obstacle is not None:
            del kept[cell.id]
            left_out.setdefault(obstacle, []).append(cell.name)
    for obstacle, names in left_out.items():
        warn(
            f"{listed(names, 3)}: left out, because trained on {obstacle} than the baseline with the same seed. "
            f"{REMEDIES[obstacle]}"
        )
    return kept


def _warn_of_undeclared(records: Mapping[str, Record], warn: Callable[[str], None]) -> None:
    """Warns of what trials have read and their ids do not tell: undeclared files, added data, changed variables."""
    undeclared: list[str] = []
    for record in records.values():
        undeclared += record.environment.get(UNDECLARED, ())
    if undeclared:
        warn(
            f"the task reads {listed(dict.fromkeys(undeclared), 3)} without declaring it, so that an edit would go "
            "unnoticed. Make its path a DataFile in the config, or name it in `data_files` of the class"
        )
    for limitation in limitations_of_inputs(records):
        warn(limitation)
    changed = changed_variables(records)
    if changed:
        warn(
            f"trials read {listed(changed, 3)} from the environment, where it has another value now; their results "
            "are for the earlier value. Train for this one with --fresh, or make it a key of `config:`"
        )


def _obstacle(cell: Cell, baseline: Cell, records: Mapping[str, Record]) -> str | None:
    """Returns why a trial cannot be paired with its baseline; None where it can."""
    record = records[cell.id]
    baseline_record = records[baseline.id]
    task = cell.trial.config.get("task")
    has_same_task = task is not None and task == baseline.trial.config.get("task")
    if has_same_task and _has_other_data(record, baseline_record):
        return OTHER_DATA

    kind = record.environment.get("kind")
    baseline_kind = baseline_record.environment.get("kind")
    # A record that is older than kinds names none.
    if kind is not None and baseline_kind is not None and kind != baseline_kind:
        return OTHER_MACHINE
    return None


def _has_other_data(record: Record, baseline: Record) -> bool:
    """Returns whether two completed trials differ in the data that their task gave them.

    A file that a part declares is its own: only what is not declared has changed without notice.
    """
    if record.status != "completed" or baseline.status != "completed":
        return False
    declared = {FILE + file for file in record.files}
    shared = (record.data.keys() & baseline.data.keys()) - declared
    return any(record.data[name] != baseline.data[name] for name in shared)
