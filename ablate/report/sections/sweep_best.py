"""The best settings of a sweep by what the search saw."""

from __future__ import annotations

from ablate.core.searched import Searched
from ablate.report import searches
from ablate.report.searches import OfSweep
from ablate.report.section import Block, Material, Section
from ablate.report.tables import NOTHING, Column, Table, count, decimals, fixed, number, text

TOP = 10
MAX_FRONT = 20


class SweepBest(OfSweep, Section):
    """The Pareto front of several objectives, or the top ten for one."""

    place = 510
    title = "The best settings"

    def blocks(self, material: Material) -> list[Block]:
        table = best_table(searches.table(material))
        return [table] if table else []


def best_table(searched: Searched) -> Table | None:
    """None where no setting has a value."""
    first, *others = searched.facts.objectives
    found = searches.judged(searched, first.name)
    if others:
        found = found[found["front"].astype(bool)]
    found = found.sort_values(first.name, ascending=first.direction == "min", kind="stable")
    found = found.head(MAX_FRONT if others else TOP)
    if not len(found):
        return None
    objectives = [o for o in searched.facts.objectives if o.name not in searches.COSTS]
    measured = next((o for o in objectives if o.source in searches.MEASURED), None)
    names = {o.name: searches.named(o) for o in objectives}
    short = searches.short(searched.paths)
    columns = [
        Column("number", "Setting"),
        *(Column(f"objective {name}", words[0].upper() + words[1:], True) for name, words in names.items()),
        *(Column(cost, words, True) for cost, words in searches.COSTS.items() if found[cost].notna().any()),
        *(Column(f"path {p.path}", short[p.path], p.kind != "choice") for p in searched.facts.parameters),
        # What is alike in every row is said of the search.
        *([Column("seeds", "Seeds", True)] if found["seeds"].nunique() > 1 else []),
        *([Column("status", "Status")] if (found["status"] != "completed").any() else []),
    ]
    rows = []
    for row in found.to_dict("records"):
        name = f", {text(row['chosen'])}" if text(row["chosen"]) else ""
        cells = {"number": f"{int(row['number'])}{name}", "status": text(row["status"])}
        cells |= {key: count(row[key]) for key in ("seeds", *searches.COSTS)}
        cells |= {f"path {path}": searches.value(row[path]) or NOTHING for path in searched.paths}
        for objective in objectives:
            spread = number(row["spread"]) if objective is measured else None
            places = decimals(None if spread is None else -spread, spread)
            shown = fixed(row[objective.name], places)
            cells[f"objective {objective.name}"] = (
                shown if spread is None else f"{shown} ± {fixed(spread, places)}"
            )
        rows.append(cells)
    which = "The Pareto front" if others else "The best settings by what the search saw"
    return Table(columns, rows, f"{which}; mean ± standard deviation over tuning seeds")
