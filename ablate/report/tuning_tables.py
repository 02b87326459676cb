"""What each variant was given to be tuned, and what tuning changed, as tables."""

from __future__ import annotations

from typing import Any

from ablate.analysis.tuning import Tuning
from ablate.base import wording
from ablate.report.tables import (
    MARKS,
    NOTHING,
    Column,
    Row,
    Table,
    count,
    difference,
    is_true,
    number,
    rows_of,
    significant,
    text,
)

STATUSES = {"diverged": "Diverged", "pruned": "Pruned", "failed": "Failed", "invalid": "Not built"}


def content(tuning: Tuning | None) -> dict[str, Any] | None:
    """What the template of the section needs."""
    if tuning is None or tuning.budgets.empty:
        return None
    target = tuning.search.objectives[0]
    return {
        "budgets": budget_table(tuning),
        "changes": change_table(tuning) if len(tuning.changes) else None,
        "objective": f"{target.name} on validation data" if target.source == "validation" else target.name,
        "space": space(tuning),
    }


def budget_table(tuning: Tuning) -> Table:
    """One row a variant and task: what it was given, what became of that, and the setting that was chosen.

    Numbers of settings or trainings that were lost have a column where there are any.
    """
    rows = rows_of(tuning.budgets)
    target = tuning.search.objectives[0]
    paths = [parameter.path for parameter in tuning.search.parameters]
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("settings", "Settings", True),
        Column("seeds", "Tuning seeds", True),
        Column("trainings", "Trainings", True),
        *(Column(key, name, True) for key, name in STATUSES.items() if any(row[key] for row in rows)),
        Column("seconds", "Training seconds", True),
        *(Column(f"of {path}", path, True) for path in paths),
        Column("best", f"{target.name.replace('_', ' ').capitalize()}, tuning seeds", True),
        Column("note", "Note"),
    ]
    cells = []
    for row in rows:
        keys = ("settings", "seeds", "trainings", "seconds", *STATUSES)
        cells.append(
            {"variant": text(row["variant"]), "task": text(row["task"])}
            | {key: count(row[key]) for key in keys}
            | {f"of {path}": value(row[path]) for path in paths}
            | {"best": _fixed(row["best"]), "note": _note(row)}
        )
    return Table(columns, cells)


def change_table(tuning: Tuning) -> Table:
    """One row a comparison: untuned, which is exploratory, beside tuned."""
    rows = rows_of(tuning.changes)
    several = len({row["task"] for row in rows}) > 1
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if several else []),
        Column("untuned", "Untuned (exploratory)"),
        Column("untuned_difference", "Difference [95 %]", True),
        Column("verdict", "Tuned"),
        Column("difference", "Difference [95 %]", True),
        Column("shift", "Moved by [95 %]", True),
        Column("note", "Note"),
    ]
    cells = []
    for row in rows:
        cells.append(
            {
                "variant": text(row["variant"]),
                "task": text(row["task"]),
                "untuned": f"{MARKS[row['untuned_verdict']]} {row['untuned_verdict']}",
                "untuned_difference": difference(
                    row["untuned_diff"], row["untuned_low"], row["untuned_high"]
                ),
                "verdict": text(row["verdict"]),
                "difference": difference(row["diff"], row["ci_low"], row["ci_high"]),
                "shift": difference(row["shift"], row["shift_low"], row["shift_high"]),
                "note": _changed(row),
            }
        )
    return Table(columns, cells)


def _changed(row: Row) -> str:
    """Of a verdict that changed, whether its difference has; and whether both rest on as many seeds."""
    words = []
    low, high = number(row["shift_low"]), number(row["shift_high"])
    if is_true(row["changed"]):
        words.append("the verdict changed")
        if low is not None and high is not None:
            moved = not low <= 0 <= high
            words[0] += ", and so did its difference" if moved else ", its difference not demonstrably"
    if row["untuned_n"] != row["n"]:
        words.append(f"untuned on {wording.counted(row['untuned_n'], 'pair')}, tuned on {row['n']}")
    return "; ".join(words)


def space(tuning: Tuning) -> str:
    """What was searched, in a sentence: `training.lr from .0001 to .01 on a log scale`."""
    found = []
    for parameter in tuning.search.parameters:
        if parameter.kind == "choice":
            words = f"among {', '.join(parameter.choices)}"
        else:
            words = f"from {value(parameter.low)} to {value(parameter.high)}"
            words += " on a log scale" if parameter.log else ""
            words += f" in steps of {value(parameter.step)}" if parameter.step else ""
        found.append(f"{parameter.path} {words}{f' where {parameter.when}' if parameter.when else ''}")
    return wording.joined(found)


def value(given: Any) -> str:
    """A value of a searched path: a number to three significant digits, or a label."""
    if isinstance(given, str | bool):
        return text(given)
    found = number(given)
    return NOTHING if found is None else wording.exact(float(f"{found:.3g}"))


def _fixed(best: Any) -> str:
    found = number(best)
    return NOTHING if found is None else wording.number(found, 3) if abs(found) < 1000 else significant(found)


def _note(row: Row) -> str:
    words = ["no setting has a value: judged as it was given"] if number(row["best"]) is None else []
    words += [f"{path} lies at the {side} edge of the space" for path, side in row["edges"].items()]
    if row["rising"]:
        words.append("the best was still rising by more than the margin when the budget ended")
    return "; ".join(words)
