"""The cost of each variant, as a table and in words: parameters by part, FLOPs, and what is matched."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.notes import placebo_words
from ablate.base.wording import MINUS, brief, percent
from ablate.core.facts import BASELINE, Facts, MatchFacts, VariantFacts
from ablate.core.short_names import by_design, short_names
from ablate.core.speed import SpeedFacts
from ablate.report.section import Block, Material, Section, Text
from ablate.report.tables import NOTHING, Column, Table, count, text
from ablate.report.timing import compact

TOTALS = {
    "parameters": "Parameters",
    "flops": "FLOPs",
    "training_flops": "FLOPs with backward",
    "compute": "FLOPs of training",
}
QUANTITIES = {
    "parameters": "parameters",
    "flops": "FLOPs",
    "compute": "FLOPs of training",
}
"""In the middle of a sentence."""
CAPTION = (
    "Trainable parameters, in all and by part, and FLOPs of one example: of a forward pass, and of that with its "
    f"backward pass; differences from the {BASELINE} in parentheses"
)

Costs = dict[str, float | None]


class Compared(Section):
    """One row a variant."""

    place = 1200
    title = "What was compared"
    needs_trials = False
    inside = "parameters and FLOPs of every variant, and what is held equal"

    def blocks(self, material: Material) -> Iterator[Block]:
        if said := differences(material.facts):
            yield Text(said)
        yield cost_table(material.facts)


def cost_table(facts: Facts) -> Table:
    """Parameters, in all and by part, and FLOPs of every variant, with their differences from the baseline.

    FLOPs are those of a forward pass on one example, of that with its backward pass where they are known, and of the
    whole training where variants see different numbers of examples. Where sizes are matched, the value of the setting
    that was changed for it, and by how much the target is missed.

    One row a variant and task, or a variant where its tasks cost the same.
    """
    match, tasks = facts.match, [task.name for task in facts.tasks]
    if all(_costs(v, task) == _costs(v, tasks[0]) for v in facts.variants for task in tasks):
        tasks = tasks[:1]
    parts = list(dict.fromkeys(part for v in facts.variants for t in tasks for part in _parts(v, t)))
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if len(tasks) > 1 else []),
        *([Column("value", text(match.by), True)] if match else []),
        *([Column("residual", "Residual", True)] if match else []),
        *(Column(key, name, True) for key, name in TOTALS.items() if _shown(facts, key)),
        *(Column(f"of {part}", text(part).replace("_", " ").capitalize(), True) for part in parts),
        Column("changes", "Changes", below=True),
        *([Column("beside", "Beside the matrix products", below=True)] if SpeedFacts.of(facts) else []),
    ]
    rows = []
    for variant in facts.variants:
        named = {"variant": text(variant.name), "changes": _changes(variant)}
        for task in tasks:
            mine, base = _costs(variant, task), _costs(facts.variants[0], task)
            of_part = {f"of {p}": against(mine.get(f"of {p}", 0), base.get(f"of {p}", 0)) for p in parts}
            total = {key: against(mine[key], base[key], relative=True) for key in TOTALS}
            named |= {"task": text(task), "beside": _beside(variant, task)}
            rows.append(named | _match_cells(variant, task) | total | of_part)
    return Table(columns, rows, CAPTION, "trials.parquet")


def _match_cells(variant: VariantFacts, task: str) -> dict[str, str]:
    matched = variant.matched.get(task)
    if matched is None:
        return dict.fromkeys(("value", "residual"), NOTHING)
    return {
        "value": brief(matched.value),
        "residual": percent(matched.residual, 2),
    }


def differences(facts: Facts) -> str:
    """By how much the variants' costs differ from the baseline's, in a sentence or two; empty where none is known.

    Where sizes are matched, it says what is held equal, by what, and the largest residual.
    """
    match = facts.match
    keys = ["parameters", "flops", *(["compute"] if _shown(facts, "compute") else [])]
    if match is not None:
        keys = [
            key for key in keys if key != match.quantity and any(share for _, share in _shares(facts, key))
        ]
    rest = "; ".join(filter(None, (_difference(facts, key) for key in keys)))
    if match is None:
        return f"Sizes are not matched: {rest}." if rest else ""
    return _matched(facts, match) + (f" Not matched: {rest}." if rest else "")


def _matched(facts: Facts, match: MatchFacts) -> str:
    name = QUANTITIES[match.quantity]
    target = "the baseline's" if match.target == "baseline" else f"{float(match.target):,.12g}"
    text = f"{name[0].upper()}{name[1:]} are matched to {target} by {match.by}"
    residuals = [(m.residual, v.name) for v in facts.variants for m in v.matched.values()]
    residual, variant = max(residuals, key=lambda pair: abs(pair[0]), default=(0.0, ""))
    if not residual:
        return f"{text}, exactly."
    return f"{text}: the largest residual is {percent(residual, 2)}, of {short_names(facts).get(variant, variant)}."


def _difference(facts: Facts, key: str) -> str:
    """The range of one cost over the variants, and which of them differs most; nothing where it is not known."""
    shares = dict(_shares(facts, key))
    if not shares:
        return ""
    if not any(shares.values()):
        return f"{QUANTITIES[key]} do not differ"
    low, high = percent(min(shares.values())), percent(max(shares.values()))
    most, task = max(shares, key=lambda place: abs(shares[place]))
    on = f" on {task}" if len(facts.tasks) > 1 else ""
    by = (
        low
        if len(shares) == 1 or low == high
        else f"{low} to {high}, most in {short_names(facts).get(most, most)}"
    )
    return f"{QUANTITIES[key]} differ from the baseline's by {by}{on}"


def _shares(facts: Facts, key: str) -> Iterator[tuple[tuple[str, str], float]]:
    """Variant and task → by what share of the baseline's its cost differs."""
    for variant in facts.variants[1:]:
        for task in facts.tasks:
            value, base = _costs(variant, task.name)[key], _costs(facts.variants[0], task.name)[key]
            if value is not None and base:
                yield (variant.name, task.name), value / base - 1


def against(value: float | None, base: float | None, *, relative: bool = False) -> str:
    """A count with its difference from the baseline's, if there is one: `9,280 (+1,088)`."""
    if value is None or not base or value == base:
        return count(value)
    change = value - base
    sign = "+" if change > 0 else MINUS
    return f"{value:,} ({percent(change / base) if relative else f'{sign}{abs(change):,}'})"


def _changes(variant: VariantFacts) -> str:
    """The changes that the name of a variant leaves out."""
    if variant.placebo:
        return placebo_words(variant)
    if by_design(variant):
        return ""
    return text(", ".join(f"{path}: {level}" for path, level in variant.changes.items()))


def _beside(variant: VariantFacts, task: str) -> str:
    """What its parts compute beside the matrix products in a forward pass."""
    counts = {name.replace("_", " "): count for name, count in variant.beside.get(task, {}).items() if count}
    said = ", ".join(f"{name} {compact(count)}" for name, count in counts.items())
    return f"beside the matrix products, on one example: {said}" if said else ""


def _shown(facts: Facts, key: str) -> bool:
    """Whether a cost is known, and says something that the others do not."""
    if key == "compute" and not any(
        len({variant.examples.get(task.name) for variant in facts.variants}) > 1 for task in facts.tasks
    ):
        return False
    return any(_costs(v, task.name)[key] is not None for v in facts.variants for task in facts.tasks)


def _parts(variant: VariantFacts, task: str) -> dict[str, int]:
    return variant.parameters_by_part.get(task, {})


def _costs(variant: VariantFacts, task: str) -> Costs:
    """Every cost of a variant on a task, by the key of its column; and the setting that was matched by."""
    flops, examples = variant.training_flops.get(task), variant.examples.get(task)
    matched = variant.matched.get(task)
    return {
        "parameters": variant.parameters.get(task),
        "flops": variant.flops.get(task),
        "training_flops": flops,
        "compute": None if flops is None or examples is None else flops * examples,
        "value": matched.value if matched else None,
        **{f"of {part}": number for part, number in _parts(variant, task).items()},
    }
