"""The cost of each variant, as a table and in words: parameters by part, FLOPs, and what is matched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ablate.base.wording import MINUS, brief, percent
from ablate.core.facts import Facts, VariantFacts
from ablate.core.short_names import by_design
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import Column, Row, Table, compact, count, shown, tabulated, text
from ablate.report.verdicts import names_of
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
    tasks, match, first = [task.name for task in facts.tasks], facts.match, facts.variants[0]
    every = [[(costs(v, task), v.matched.get(task)) for v in facts.variants] for task in tasks]
    tasks = tasks[:1] if all(of == every[0] for of in every) else tasks
    rows: list[dict[str, Any]] = [
        {"variant": v.name, "task": task, "changes": _changes(v), "beside": _beside(v, task)}
        | {"costs": costs(v, task), "base": costs(first, task), "matched": v.matched.get(task)}
        for v in facts.variants
        for task in tasks
    ]
    shown_costs = {cost: 0 for row in rows for cost in row["costs"]}
    if not any(len({v.examples.get(task) for v in facts.variants}) > 1 for task in tasks):
        shown_costs.pop("compute", None)  # which says nothing that FLOPs do not
    names = names_of(facts)
    columns = [
        Column("variant", "Variant", show=lambda row: text(names[row["variant"]])),
        Column("task", "Task", varying=True),
        *([Column("by", text(match.by), True, show=lambda row: _matched(row, "value"))] if match else []),
        *(
            [Column("residual", "Residual", True, show=lambda row: _matched(row, "residual"))]
            if match
            else []
        ),
        *(_column(cost) for cost in shown_costs),
        Column("changes", "Changes", below=True),
        *([Column("beside", "Besides", below=True)] if facts.features else []),
    ]
    return tabulated(columns, rows, say("cost.caption"), "trials.parquet", title="variant")


def _column(cost: str) -> Column:
    heading = TOTALS.get(cost, cost.replace("_", " ").capitalize())

    def show(row: Row) -> str:
        return against(row["costs"].get(cost), row["base"].get(cost), cost in TOTALS)

    return Column(cost, heading, True, show=show)


def _matched(row: Row, what: str) -> str:
    found = row["matched"]
    if what == "value":
        return shown(found and found.value, brief)
    return shown(found and found.residual, lambda residual: percent(residual, 2))


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
        target = say("cost.the_baseline") if match.target == "baseline" else f"{float(match.target):,.12g}"
        worst = percent(max(residuals, key=abs, default=0.0), 2)
        quantity = TOTALS.get(match.quantity, match.quantity.capitalize())
        yield say("cost.matched", quantity, target, match.by, worst, match.quantity == "seconds")
    for cost in ("parameters", "flops"):
        pairs = [
            (costs(v, t.name), costs(facts.variants[0], t.name))
            for v in facts.variants[1:]
            for t in facts.tasks
        ]
        shares = [mine[cost] / base[cost] - 1 for mine, base in pairs if mine.get(cost) and base.get(cost)]
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


def _beside(variant: VariantFacts, task: str) -> str:
    """What its parts compute beside the matrix products in a forward pass."""
    counts = {name.replace("_", " "): count for name, count in variant.beside.get(task, {}).items() if count}
    return (
        say("cost.beside", [f"{compact(count)} {name}" for name, count in counts.items()]) if counts else ""
    )
