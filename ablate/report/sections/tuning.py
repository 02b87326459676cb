"""What each variant of a tuned study was given, the setting that was chosen, what it changed, whether it sufficed."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis import tuning
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.core.search_table import SearchFacts, SearchTable
from ablate.core.short_names import short_names
from ablate.report import searches
from ablate.report.draw.marks import padded, references
from ablate.report.draw.panels import Look, lines, multiples
from ablate.report.entries import Entry, panels
from ablate.report.section import Block, Material, Picture, Section, Text, by_task
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
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

LOST = {"diverged": "Diverged", "pruned": "Pruned", "failed": "Failed", "invalid": "Not built"}
"Trainings and settings that may have been lost: a column each where any was."
GUIDE = (
    "No verdict rests on the tuning seeds. The last number is what the chosen setting reached on them: as the best of "
    "many, it is too good on average."
)
MOVED = (
    "“Moved by” is the tuned difference less that of the variants as the study gives them, seed by seed; verdicts are "
    "those of the tuned variants alone."
)
EXPECTED = (
    "The {} that the best of n random settings is expected to have (Tang et al. 2020, without bias). Band: one "
    "standard deviation of the best of n from one search to the next (Dodge et al. 2019), within the values found. A "
    "setting that found nothing counts as the worst."
)
SO_FAR = "The best {} among the first n settings, in the order in which they were tried."
RISING = " A line that still rises at the end says that the budget was small for that variant."
MAX_NAMES = 8
"As many variants a sentence names; the table has all."


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
        yield from (budget_table(searched, spent), Text(GUIDE, aside=True), searches.space_table(searched))
        if len(changed := _changes(material)):
            yield from (change_table(changed, material.facts.metric), Text(MOVED, aside=True))
        if not tuning.exhaustive(searched):
            yield from _curves(material, searched)

    def findings(self, material: Material) -> list[str]:
        searched, spent = searches.table(material), budgets(material)
        if not len(spent):
            return []
        found = [parity(searched.facts, spent)]
        rising = spent[spent["rising"].astype(bool)]
        missing = spent[spent["best"].isna() & (spent["settings"] > 0)]
        for words, rows in (
            ("Judged as the study gives it, for no setting that was tried has a value", missing),
            ("The budget may be too small, the best still rose by more than the margin at its end", rising),
        ):
            if len(rows):
                found.append(f"{words}: {listed(searches.places(rows, spent), MAX_NAMES)}.")
        edges: dict[tuple[str, str], list[str]] = {}
        for name, row in zip(searches.places(spent, spent), rows_of(spent), strict=True):
            for path, side in row["edges"].items():
                edges.setdefault((path, side), []).append(f"{name} ({searches.value(row[path])})")
        found += [
            f"The best {path} lies at the {side} edge of the space, which may be too narrow: "
            f"{listed(names, MAX_NAMES)}."
            for (path, side), names in edges.items()
        ]
        changed = _changes(material)
        moved = changed[(changed["shift_low"] > 0) | (changed["shift_high"] < 0)]
        if len(moved):
            of = f"the difference of {wording.share(len(moved), len(changed))} comparisons"
            found.append(f"Tuning moved {of}: {listed(searches.places(moved, changed), MAX_NAMES)}.")
        elif len(changed):
            found.append("Tuning moved no difference by an amount that its seeds tell from none.")
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
        {"variant": text(row["variant"]), "task": text(row["task"]), "note": _note(row)}
        | {key: count(row[key]) for key in ("settings", "seeds", "trainings", "seconds", *LOST)}
        | {f"of {path}": searches.value(row[path]) or NOTHING for path in searched.paths}
        | {"best": (significant if abs(number(row["best"]) or 0) >= 1000 else _three)(row["best"])}
        for row in rows_of(spent)
    ]
    caption = f"Budget and chosen setting of each variant, tuned for {of}"
    return Table(columns, cells, caption, "tuning.parquet")


def _three(value: object) -> str:
    return fixed(value, 3)


def _note(row: Row) -> str:
    none = "no setting has a value: judged as it was given"
    rising = "the best still rose by more than the margin at the end of the budget"
    edges = [f"{path} lies at the {side} edge of the space" for path, side in row["edges"].items()]
    words = [none if number(row["best"]) is None else "", *edges, rising if is_true(row["rising"]) else ""]
    return "; ".join(filter(None, words))


def parity(search: SearchFacts, spent: pd.DataFrame) -> str:
    """Whether every variant was given the same."""
    tasks = spent["task"].nunique()
    where = f" on each of {tasks} tasks" if tasks > 1 else ""
    pruner = "" if search.pruner == "none" else f", pruner {search.pruner}"
    planned = (
        f"{wording.counted(search.trials, 'setting')} × {wording.counted(len(search.seeds), 'tuning seed')}{where} "
        f"over {wording.joined([p.path for p in search.parameters])} (sampler {search.sampler}{pruner})"
    )
    lost = [
        f"{wording.counted(int(spent[key].sum()), 'training' if key == 'diverged' else 'setting')} {words}"
        for key, words in (
            ("diverged", "diverged"),
            ("pruned", "pruned"),
            ("failed", "failed"),
            ("invalid", "could not be built"),
        )
        if spent[key].sum()
    ]
    ended = f"{wording.counted(int(spent['trainings'].sum()), 'training')} in all"
    ended += f", of which {wording.joined(lost)}" if lost else ""
    if spent["settings"].nunique() > 1:
        groups = {int(n): listed(dict.fromkeys(rows["variant"])) for n, rows in spent.groupby("settings")}
        found = "; ".join(f"{wording.counted(n, 'setting')} for {names}" for n, names in groups.items())
        return f"Not every variant was tuned with the same budget: {found}, of {planned}; {ended}."
    if spent["trainings"].nunique() > 1:
        few, many = spent["trainings"].min(), spent["trainings"].max()
        return f"Every variant was tuned with as many settings, in {few} to {many} trainings: {planned}; {ended}."
    return f"Every variant was tuned with the same budget: {planned}; {ended}."


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
    caption = (
        f"Difference of each variant from the {BASELINE} on {metric}, as the study gives it and once tuned"
    )
    return Table(columns, cells, caption, "untuned/comparisons.csv")


def _curves(material: Material, searched: SearchTable) -> Iterator[Picture]:
    """The best setting of each variant against the number of settings tried."""
    facts, label = material.facts, searches.named(searched.facts.objectives[0])
    caption = (EXPECTED if tuning.independent(searched) else SO_FAR).format(label) + RISING
    curves = tuning.budget_curves(searched, facts)
    for task, end, of in by_task(facts):
        data = curves[curves["task"] == task.name]
        if data.empty:
            continue
        variants = set(data["variant"])
        # A level keeps the colour that it has in the learning curves.
        of_panels = panels(facts, material.comparisons).items()
        shown = {title: rows for title, rows in of_panels if {e.variant for e in rows} & variants}
        alt = f"The best {label} against the number of settings tried{of}, of {len(variants)} variants."
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
