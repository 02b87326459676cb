"""The cost of each variant, as a table and in words: parameters by part, FLOPs, and what is matched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ablate.base.wording import MINUS, brief, percent
from ablate.core.facts import Facts, VariantFacts
from ablate.core.short_names import by_design
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import NOTHING, Column, Row, Table, count, tabulated, text
from ablate.report.verdicts import names_of, variant_column
from ablate.report.words import say

TOTALS = {
    "parameters": "Parameters",
    "flops": "FLOPs",
    "training_flops": "FLOPs with backward",
    "compute": "FLOPs of training",
}


class Compared(Section):
    """One row a variant."""

    place = 1200
    title = "What was compared"
    needs_trials = False
    inside = "parameters and FLOPs of every variant, and what is held equal"

    def blocks(self, material: Material) -> Iterator[Block]:
        yield from (Text(said) for said in equality(material.facts))
        table = cost_table(material.facts)
        if len(table.columns) > 1:
            yield table


def cost_table(facts: Facts) -> Table:
    """Parameters, in all and by part, and FLOPs of every variant, with their differences from the baseline.

    Where sizes are matched, the value of the setting that was changed for it, and by how much the target is missed.
    One row a variant and task, or a variant where its tasks cost the same.
    """
    tasks, first = [task.name for task in facts.tasks], facts.variants[0]
    every = [[(costs(v, task), v.matched.get(task)) for v in facts.variants] for task in tasks]
    tasks = tasks[:1] if all(found == every[0] for found in every) else tasks
    rows: list[dict[str, Any]] = [
        {"variant": v.name, "task": task, "changes": _changes(v), "matched": v.matched.get(task)}
        | {"costs": costs(v, task), "base": costs(first, task)}
        for v in facts.variants
        for task in tasks
    ]
    shown_costs = {cost: 0 for row in rows for cost in row["costs"]}
    if not any(len({v.examples.get(task) for v in facts.variants}) > 1 for task in tasks):
        shown_costs.pop("compute", None)  # which says nothing that FLOPs do not
    columns = [
        variant_column(names_of(facts)),
        Column("task", "Task", varying=True),
        Column("value", facts.match.by if facts.match else "", True, show=_value),
        Column("residual", "Residual", True, show=_residual),
        *map(_column, shown_costs),
        Column("changes", "Changes", below=True),
    ]
    return tabulated(columns, rows, say("cost.caption"), "trials.parquet")


def _value(row: Row) -> str:
    return brief(row["matched"].value) if row["matched"] else NOTHING


def _residual(row: Row) -> str:
    return percent(row["matched"].residual, 2) if row["matched"] else NOTHING


def _column(cost: str) -> Column:
    heading = TOTALS.get(cost, cost.replace("_", " ").capitalize())

    def show(row: Row) -> str:
        return against(row["costs"].get(cost), row["base"].get(cost), cost in TOTALS)

    return Column(cost, heading, True, show=show)


def costs(variant: VariantFacts, task: str) -> dict[str, float]:
    """Those of a variant on a task that are known: in all, and parameters by part."""
    flops, examples = variant.training_flops.get(task), variant.examples.get(task)
    found = {
        "parameters": variant.parameters.get(task),
        "flops": variant.flops.get(task),
        "training_flops": flops,
        "compute": None if flops is None or examples is None else flops * examples,
        **variant.parameters_by_part.get(task, {}),
    }
    return {name: value for name, value in found.items() if value is not None}


def equality(facts: Facts) -> Iterator[str]:
    """What is held equal and how well, and by how much the other costs differ."""
    match, ranges = facts.match, []
    if match is not None:
        residuals = [m.residual for v in facts.variants for m in v.matched.values()]
        quantity = TOTALS.get(match.quantity, match.quantity.capitalize())
        yield say("cost.matched", quantity, match.target, match.by, max(residuals, key=abs, default=0.0))
    for cost in ("parameters", "flops"):
        bases = {task.name: costs(facts.variants[0], task.name).get(cost) for task in facts.tasks}
        own = [(costs(v, task).get(cost), base) for v in facts.variants for task, base in bases.items()]
        shares = [value / base - 1 for value, base in own if value and base]
        if any(shares) and (match is None or match.quantity != cost):
            ranges.append((TOTALS[cost], percent(min(shares)), percent(max(shares))))
    if ranges:
        yield say("cost.not_matched", ranges)


def against(value: float | None, base: float | None, relative: bool = False) -> str:
    """A count with its difference from the baseline's, if there is one: `9,280 (+1,088)`."""
    if value is None or not base or value == base:
        return count(value)
    change = value - base
    sign = "+" if change > 0 else MINUS
    return f"{value:,} ({percent(change / base) if relative else f'{sign}{abs(change):,}'})"


def _changes(variant: VariantFacts) -> str:
    """The changes that the name of a variant leaves out."""
    if variant.placebo:
        return say("cost.placebo", bool(variant.tuned))
    if by_design(variant):
        return ""
    return text(", ".join(f"{path}: {level}" for path, level in variant.changes.items()))
