"""How soon each variant learns: steps, seconds and FLOPs until the metric first holds the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ablate.base import wording
from ablate.core.facts import BASELINE
from ablate.core.short_names import short_names
from ablate.report.palette import EXPLORATORY
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    difference,
    number,
    p_value,
    rows_of,
    shown,
    text,
)
from ablate.report.timing import WORDS, own_notes, shared_notes

SAID = (
    "The step of the first evaluation on validation data that reaches the target, as a mean over seeds. A run that "
    "never reaches it counts with all of its steps, and is noted: the mean is then a lower bound. Seconds are these "
    "steps at the measured time of a step, not read off training; FLOPs are those of the matrix products."
)


class TimeToTarget(Section):
    """A row a variant and task."""

    place = 170
    title = "Time to target"
    inside = "steps, seconds and FLOPs until the metric first holds the target"

    def applies(self, material: Material) -> bool:
        return len(material.targets) > 0

    def blocks(self, material: Material) -> Iterator[Block]:
        yield target_table(rows_of(material.targets), short_names(material.facts))
        yield Text(SAID, aside=True)


def target_table(rows: Sequence[Row], names: Mapping[str, str]) -> Table:
    """Rows of `analysis.target` as strings; the task where it varies."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len({row["task"] for row in rows}) > 1 else []),
        Column("reached", "Runs that got there", True),
        Column("steps", "Steps [95 %]", True),
        Column("seconds", "Seconds", True),
        Column("flops", "FLOPs", True),
        Column("difference", "Steps saved [95 %]", True),
        Column("p", "p", True),
        Column("verdict", "Verdict", words=True),
        Column("note", "Note", below=True),
    ]
    shared = shared_notes(rows)
    cells = [
        {
            "variant": text(row["variant"]),
            "task": text(row["task"]),
            "reached": _reached(row),
            "steps": _steps(row),
            "seconds": shown(row["seconds"], wording.seconds),
            "flops": shown(row["flops"], lambda flops: wording.compact(flops, 3)),
            "difference": difference(row["diff"], row["ci_low"], row["ci_high"]),
            "p": p_value(row["p"]),
            "verdict": _verdict(row),
            "note": "; ".join(own_notes(row, shared, names)),
        }
        for row in rows
    ]
    first = rows[0]
    target = f"{text(first['metric'])} {wording.exact(float(first['target']))}"
    caption = f"Until {target} on validation data, each variant against the {BASELINE}"
    caption = "; ".join([caption, EXPLORATORY, *shared])
    return Table(columns, cells, caption, "target.csv")


def _reached(row: Row) -> str:
    reached, n = number(row["reached"]), number(row["n"])
    return NOTHING if reached is None or not n else wording.share(round(reached), round(n))


def _steps(row: Row) -> str:
    low, high = number(row["steps_low"]), number(row["steps_high"])
    # No run has fewer steps than none, though an interval over a few seeds may.
    among = "" if low is None or high is None or low == high else f" [{max(low, 0):,.0f}, {high:,.0f}]"
    return shown(row["steps"], lambda steps: f"{steps:,.0f}{among}")


def _verdict(row: Row) -> str:
    found = text(row["verdict"])
    return f"{WORDS.get(found, found)} ({EXPLORATORY})" if found else NOTHING
