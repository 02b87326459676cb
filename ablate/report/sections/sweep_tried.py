"""The settings of a sweep by how they ended, the space, and how it was searched."""

from __future__ import annotations

import pandas as pd

from ablate.base import wording
from ablate.core.search_table import Parameter, SearchTable
from ablate.report import searches
from ablate.report.section import Block, Material, Section, Terms
from ablate.report.tables import NOTHING, Column, Table, count, text

MAX_REASONS = 20
MAX_NUMBERS = 8
"Numbers of settings that a cell names."


class SweepTried(searches.OfSweep, Section):
    """Two tables and a list of terms."""

    place = 580
    title = "What was tried"
    inside = "how every setting ended, the space and the sampler"

    def blocks(self, material: Material) -> list[Block]:
        searched = searches.table(material)
        return [status_table(searched), space_table(searched), Terms(how_searched(searched))]


def status_table(searched: SearchTable) -> Table:
    """How every setting ended: a row per status and reason, so that no point of the space is left out in silence."""
    table = searched.trials
    rows = []
    for status in searches.statuses(table):
        mine = table[table["status"] == status]
        reasons = mine["reason"].fillna("").map(text)
        if status == "pruned":
            reasons = reasons.where(reasons != "", _pruned(mine["pruned_at"]))
        kinds = list(dict.fromkeys(reasons))
        others = f"{len(kinds) - MAX_REASONS} other reasons"
        shown = reasons.where(reasons.isin(kinds[:MAX_REASONS]), others)
        for reason, found in mine.groupby(shown, sort=False)["number"]:
            numbers = ", ".join(str(int(n)) for n in sorted(found)[:MAX_NUMBERS])
            more = f" and {len(found) - MAX_NUMBERS} more" if len(found) > MAX_NUMBERS else ""
            which = "" if status == "completed" else numbers + more
            rows.append(
                {"status": text(status), "n": count(len(found)), "numbers": which, "reason": str(reason)}
            )
    left = searched.facts.trials - len(table)
    if left > 0:
        why = "ablate sweep goes on with them"
        rows.append({"status": "not tried", "n": count(left), "numbers": "", "reason": why})
    columns = [
        Column("status", "How it ended"),
        Column("n", "Settings", True),
        Column("numbers", "Which", words=True),
        Column("reason", "Why", words=True),
    ]
    return Table(columns, rows, "Every setting, by how it ended", "sweep.parquet")


def _pruned(steps: pd.Series) -> str:
    """Where the pruner gave settings up."""
    known = sorted(steps.dropna().astype(float))
    if not known:
        return "given up by the pruner"
    first, last = count(known[0]), count(known[-1])
    return f"given up by the pruner at {f'step {first}' if first == last else f'steps {first} to {last}'}"


def space_table(searched: SearchTable) -> Table:
    """The space as it was searched: a row per path."""
    columns = [
        Column("path", "Path"),
        Column("kind", "Kind"),
        Column("range", "Range", words=True),
        Column("scale", "Scale"),
        Column("when", "Searched when"),
    ]
    rows = [(text(p.path), p.kind, *_range(p), text(p.when) or "always") for p in searched.facts.parameters]
    keys = [column.key for column in columns]
    return Table(columns, [dict(zip(keys, row, strict=True)) for row in rows], "The space")


def _range(parameter: Parameter) -> tuple[str, str]:
    """The values and the scale of a path in words."""
    if parameter.kind == "choice":
        return text(", ".join(parameter.choices)), NOTHING
    step = "" if parameter.step is None else f", step {searches.value(parameter.step)}"
    ends = (searches.value(end) or NOTHING for end in (parameter.low, parameter.high))
    return " to ".join(ends), f"{'log' if parameter.log else 'linear'}{step}"


def how_searched(searched: SearchTable) -> list[tuple[str, str]]:
    """How the search was done, as pairs of a term and its description."""
    facts = searched.facts
    turned = {"max": "more is better", "min": "less is better"}
    objectives = wording.joined([f"{searches.named(o)} ({turned[o.direction]})" for o in facts.objectives])
    shown = ", ".join(map(str, facts.seeds[:5])) + (", …" if len(facts.seeds) > 5 else "")
    seconds = searched.trials["train_seconds"].astype(float).sum()
    pairs = [
        ("Objectives" if len(facts.objectives) > 1 else "Objective", objectives),
        ("Settings", f"{len(searched.trials)} of {facts.trials} asked for, in batches of {facts.batch}"),
        ("Tuning seeds", f"{len(facts.seeds)} ({shown}); no verdict rests on them"),
        ("Sampler", facts.sampler),
        ("Pruner", facts.pruner),
        ("Training time", f"{seconds:,.0f} s in all" if seconds > 0 else ""),
        ("Optuna storage", facts.storage),
    ]
    return [(term, text(description)) for term, description in pairs if text(description)]
