"""What each variant of a tuned study was given, the setting that was chosen, what it changed, whether it sufficed."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis import tuning
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.core.search_table import SearchFacts, SearchTable
from ablate.core.short_names import short_names
from ablate.report import searches
from ablate.report.draw.marks import padded, references
from ablate.report.draw.panels import Entry, Look, lines, multiples, panels
from ablate.report.section import Block, Material, Picture, Section, Text, by_task
from ablate.report.tables import (
    NOTHING,
    Column,
    Table,
    count,
    difference,
    fixed,
    is_true,
    number,
    rows_of,
    short,
    significant,
    text,
)
from ablate.report.words import say

LOST = {"diverged": "Diverged", "pruned": "Pruned", "failed": "Failed", "invalid": "Not built"}
"Trainings and settings that may have been lost: a column each where any was."


class Tuning(searches.OfSearch, Section):
    """Tables of the budgets, of the space and of what tuning changed, and a figure for each task."""

    kind = "tuning"
    place = 400
    title = "How the variants were tuned"
    inside = "the budget, the space and the chosen setting of each variant, and what tuning changed"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched, spent = searches.table(material), budgets(material)
        if not len(spent):
            return
        yield from (
            budget_table(searched, spent),
            Text(say("search.budget_guide"), aside=True),
            searches.space_table(searched),
        )
        if len(changed := _changes(material)):
            yield from (change_table(changed, material.facts.metric), Text(say("search.moved"), aside=True))
        if not tuning.exhaustive(searched):
            yield from _curves(material, searched)

    def findings(self, material: Material) -> list[str]:
        searched, spent = searches.table(material), budgets(material)
        if not len(spent):
            return []
        found = [parity(searched.facts, spent)]
        rising = spent[spent["rising"].astype(bool)]
        missing = spent[spent["best"].isna() & (spent["settings"] > 0)]
        for code, rows in (("search.no_value", missing), ("search.rising", rising)):
            found += [say(code, searches.places(rows, spent))] if len(rows) else []
        edges: dict[tuple[str, str], list[str]] = {}
        for name, row in zip(searches.places(spent, spent), rows_of(spent), strict=True):
            for path, side in row["edges"].items():
                edges.setdefault((path, side), []).append(f"{name} ({searches.value(row[path])})")
        found += [say("search.edge", path, side, names) for (path, side), names in edges.items()]
        changed = _changes(material)
        moved = changed[(changed["shift_low"] > 0) | (changed["shift_high"] < 0)]
        if len(changed):
            found.append(say("search.changed", len(moved), len(changed), searches.places(moved, changed)))
        return found


def budgets(material: Material) -> pd.DataFrame:
    """See `analysis.tuning.budgets`; variants by their names for readers."""
    searched, facts = searches.table(material), material.facts
    spent = tuning.budgets(searched, facts, tuning.budget_curves(searched, facts))
    return spent.assign(variant=spent["variant"].map(short_names(facts)))


def _changes(material: Material) -> pd.DataFrame:
    """See `analysis.tuning.changes`; variants by their names for readers."""
    found = tuning.changes(
        material.evidence, material.comparisons, material.untuned, material.untuned_comparisons
    )
    return found.assign(variant=found["variant"].map(short_names(material.facts)))


def budget_table(searched: SearchTable, spent: pd.DataFrame) -> Table:
    """`spent` is `analysis.tuning.budgets`."""
    target, *_ = searched.facts.objectives
    of = f"{target.name} on validation data" if target.source == "validation" else target.name
    ends = short(searched.paths)
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if spent["task"].nunique() > 1 else []),
        Column("settings", "Settings", True),
        Column("seeds", "Tuning seeds", True),
        Column("trainings", "Trainings", True),
        *(Column(key, name, True) for key, name in LOST.items() if spent[key].any()),
        Column("seconds", "Training seconds", True),
        *(Column(f"of {path}", ends[path], True) for path in searched.paths),
        Column("best", f"{target.name.replace('_', ' ').capitalize()}, tuning seeds", True),
        Column("note", "Note", below=True),
    ]
    cells = [
        {
            "variant": text(row["variant"]),
            "task": text(row["task"]),
            "note": say(
                "search.note", number(row["best"]) is None, list(row["edges"].items()), is_true(row["rising"])
            ),
        }
        | {key: count(row[key]) for key in ("settings", "seeds", "trainings", "seconds", *LOST)}
        | {f"of {path}": searches.value(row[path]) or NOTHING for path in searched.paths}
        | {
            "best": significant(row["best"])
            if abs(number(row["best"]) or 0) >= 1000
            else fixed(row["best"], 3)
        }
        for row in rows_of(spent)
    ]
    caption = say("search.budgets", of)
    return Table(columns, cells, caption, "tuning.parquet")


def parity(search: SearchFacts, spent: pd.DataFrame) -> str:
    """Whether every variant was given the same."""
    groups = [(int(n), list(dict.fromkeys(rows["variant"]))) for n, rows in spent.groupby("settings")]
    return say(
        "search.parity",
        settings=search.trials,
        seeds=len(search.seeds),
        tasks=spent["task"].nunique(),
        paths=[parameter.path for parameter in search.parameters],
        sampler=search.sampler,
        pruner="" if search.pruner == "none" else search.pruner,
        trainings=int(spent["trainings"].sum()),
        least=int(spent["trainings"].min()),
        most=int(spent["trainings"].max()),
        lost=[(status, int(spent[status].sum())) for status in LOST if spent[status].sum()],
        groups=groups if len(groups) > 1 else [],
    )


def change_table(changed: pd.DataFrame, metric: str) -> Table:
    """`changed` is `analysis.tuning.changes`."""
    columns = [
        Column("variant", "Variant"),
        *([Column("task", "Task")] if changed["task"].nunique() > 1 else []),
        Column("untuned", "As given [95 %]", True),
        Column("tuned", "Tuned [95 %]", True),
        Column("shift", "Moved by [95 %]", True),
    ]
    cells = [
        {
            "variant": text(row["variant"]),
            "task": text(row["task"]),
            "untuned": difference(row["untuned_diff"], row["untuned_low"], row["untuned_high"]),
            "tuned": difference(row["diff"], row["ci_low"], row["ci_high"]),
            "shift": difference(row["shift"], row["shift_low"], row["shift_high"]),
        }
        for row in rows_of(changed)
    ]
    caption = say("search.changes", metric)
    return Table(columns, cells, caption, "untuned/comparisons.csv")


def _curves(material: Material, searched: SearchTable) -> Iterator[Picture]:
    """The best setting of each variant against the number of settings tried."""
    facts, label = material.facts, searches.named(searched.facts.objectives[0])
    caption = say("search.expected" if tuning.independent(searched) else "search.so_far", label)
    curves = tuning.budget_curves(searched, facts)
    for task, end, of in by_task(facts):
        data = curves[curves["task"] == task.name]
        if data.empty:
            continue
        variants = set(data["variant"])
        # A level keeps the colour that it has in the learning curves.
        of_panels = panels(facts, material.comparisons).items()
        shown = {title: rows for title, rows in of_panels if {e.variant for e in rows} & variants}
        alt = say("search.budget_alt", label, of, len(variants))
        options = shown or {BASELINE: []}, label, task.metrics.get(searched.facts.objectives[0].name)
        yield Picture(f"budget{end}", f"Best against budget{of}", caption, alt, data, draw_budget, options)


def draw_budget(
    data: pd.DataFrame, shown: dict[str, list[Entry]], label: str, known: Metric | None = None
) -> Figure:
    """In each panel the baseline and the levels of one factor. `data` is `analysis.tuning.budget_curves` of a task."""
    limits = padded(data[["best", "low"]].min(axis=None), data[["best", "high"]].max(axis=None), known=known)

    def draw(ax: Axes, of: dict[str, Look]) -> None:
        lines(ax, data, of, "n", "best", drawstyle="steps-post" if data["low"].isna().all() else "default")
        ax.set(ylim=limits)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if known:
            references(ax, known, "y")

    return multiples(shown, set(data["variant"]), draw, "settings tried", label)
