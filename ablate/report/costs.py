"""What each variant costs, as a table and in words: parameters by part, and FLOPs of one example."""

from __future__ import annotations

from ablate.records.evidence import Facts, VariantFacts
from ablate.report.tables import MINUS, Column, Table, count, text

TOTALS = {
    "parameters": "Parameters",
    "flops": "FLOPs",
    "training_flops": "FLOPs with backward",
}

Costs = dict[str, int | None]


def cost_table(facts: Facts) -> Table:
    """Parameters, in all and by part, and FLOPs of every variant, with their differences from the baseline.

    FLOPs are those of a forward pass on one example, and of that with its backward pass where they are known.

    One row a variant and task, or a variant where its tasks cost the same.
    """
    tasks = [task.name for task in facts.tasks]
    if all(_costs(v, task) == _costs(v, tasks[0]) for v in facts.variants for task in tasks):
        tasks = tasks[:1]
    parts = list(dict.fromkeys(part for v in facts.variants for t in tasks for part in _parts(v, t)))
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len(tasks) > 1 else []),
        *(Column(key, name, True) for key, name in TOTALS.items() if _known(facts, key)),
        *(Column(f"of {part}", text(part).replace("_", " ").capitalize(), True) for part in parts),
        Column("changes", "Changes"),
    ]
    rows = []
    for variant in facts.variants:
        named = {"variant": text(variant.name), "changes": _changes(variant)}
        for task in tasks:
            mine, base = _costs(variant, task), _costs(facts.variants[0], task)
            of_part = {f"of {p}": against(mine.get(f"of {p}", 0), base.get(f"of {p}", 0)) for p in parts}
            total = {key: against(mine[key], base[key], percent=True) for key in TOTALS}
            rows.append(named | {"task": text(task)} | total | of_part)
    return Table(columns, rows)


def differences(facts: Facts) -> str:
    """By how much the variants' costs differ from the baseline's, in a sentence; empty where none is known."""
    found = []
    for key, name in (("parameters", "parameters"), ("flops", "FLOPs")):
        shares = []
        for variant in facts.variants[1:]:
            for task in facts.tasks:
                value, base = _costs(variant, task.name)[key], _costs(facts.variants[0], task.name)[key]
                if value is not None and base:
                    shares.append(value / base - 1)
        if shares and any(shares):
            found.append(
                f"{name} differ from the baseline's by {_percent(min(shares))} to {_percent(max(shares))}"
            )
        elif shares:
            found.append(f"{name} do not differ")
    return f"Sizes are as they come, not matched: {'; '.join(found)}." if found else ""


def against(value: int | None, base: int | None, *, percent: bool = False) -> str:
    """A count with its difference from the baseline's, if there is one: `9,280 (+1,088)`."""
    if value is None or not base or value == base:
        return count(value)
    change = value - base
    return f"{value:,} ({_percent(change / base) if percent else _signed(change)})"


def _signed(change: int) -> str:
    return f"{'+' if change > 0 else MINUS}{abs(change):,}"


def _percent(share: float) -> str:
    shown = f"{abs(100 * share):.1f}"
    return "0 %" if shown == "0.0" else f"{'+' if share > 0 else MINUS}{shown} %"


def _changes(variant: VariantFacts) -> str:
    """What the name of a variant does not say already."""
    if variant.placebo:
        return "the baseline with other random streams"
    if variant.name == ",".join(f"{path}={level}" for path, level in variant.changes.items()):
        return ""
    return text(", ".join(f"{path}: {level}" for path, level in variant.changes.items()))


def _known(facts: Facts, key: str) -> bool:
    return any(_costs(v, task.name)[key] is not None for v in facts.variants for task in facts.tasks)


def _parts(variant: VariantFacts, task: str) -> dict[str, int]:
    return variant.parameters_by_part.get(task, {})


def _costs(variant: VariantFacts, task: str) -> Costs:
    total: Costs = {key: getattr(variant, key).get(task) for key in TOTALS}
    return total | {f"of {part}": number for part, number in _parts(variant, task).items()}
