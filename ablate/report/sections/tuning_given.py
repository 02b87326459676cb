"""The budget of each variant of a tuned study, and the setting that was chosen."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ablate.analysis import tuning
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.search_table import SearchFacts, SearchTable
from ablate.core.short_names import short_names
from ablate.report import searches
from ablate.report.section import Block, Material, Section, Text
from ablate.report.sections.sweep_tried import space_table
from ablate.report.tables import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
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
MAX_NAMES = 8
"As many variants a sentence names; the table has all."


class TuningGiven(searches.OfTuning, Section):
    """One row per variant and task that was searched for."""

    place = 400
    title = "What each variant was given"
    inside = "the budget, the space and the chosen setting of each variant"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched, spent = searches.table(material), budgets(material)
        if len(spent):
            yield from (budget_table(searched, spent), Text(GUIDE, aside=True), space_table(searched))

    def findings(self, material: Material) -> list[str]:
        searched, spent = searches.table(material), budgets(material)
        return [parity(searched.facts, spent), *_as_given(spent), *_edges(spent)] if len(spent) else []


def budgets(material: Material) -> pd.DataFrame:
    """See `analysis.tuning.budgets`; variants by their names for readers."""
    searched, facts = searches.table(material), material.facts
    spent = tuning.budgets(searched, facts, tuning.budget_curves(searched, facts))
    return spent.assign(variant=spent["variant"].map(short_names(facts)))


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
    numbers = ("settings", "seeds", "trainings", "seconds", *LOST)
    cells = [
        {"variant": text(row["variant"]), "task": text(row["task"]), "note": _note(row)}
        | {key: count(row[key]) for key in numbers}
        | {f"of {path}": searches.value(row[path]) or NOTHING for path in searched.paths}
        | {
            "best": significant(row["best"])
            if abs(number(row["best"]) or 0) >= 1000
            else fixed(row["best"], 3)
        }
        for row in rows_of(spent)
    ]
    return Table(
        columns, cells, f"Budget and chosen setting of each variant, tuned for {of}", "tuning.parquet"
    )


def _note(row: Row) -> str:
    none = "no setting has a value: judged as it was given"
    rising = "the best was still rising by more than the margin when the budget ended"
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
    ended = f"{wording.counted(int(spent['trainings'].sum()), 'training')} in all{_lost(spent)}"
    if spent["settings"].nunique() > 1:
        groups = {int(n): listed(dict.fromkeys(rows["variant"])) for n, rows in spent.groupby("settings")}
        found = "; ".join(f"{wording.counted(n, 'setting')} for {names}" for n, names in groups.items())
        return f"Not every variant was tuned with the same budget: {found}, of {planned}; {ended}."
    settings = int(spent["settings"].iloc[0])
    planned += "" if settings == search.trials else f", of which {settings} were tried"
    few, many = spent["trainings"].min(), spent["trainings"].max()
    if few < many:
        return (
            f"Every variant was tuned with as many settings, not with as many trainings: {planned}; from {few} to "
            f"{many} trainings of a variant, {ended}."
        )
    return f"Every variant was tuned with the same budget: {planned}; {ended}."


def _lost(spent: pd.DataFrame) -> str:
    """`, of which 3 diverged; 2 settings failed (a, b)`."""
    diverged, pruned = int(spent["diverged"].sum()), int(spent["pruned"].sum())
    words = f", of which {diverged} diverged" if diverged else ""
    if pruned:
        words += f"; {wording.counted(pruned, 'setting')} {'was' if pruned == 1 else 'were'} pruned"
    for status, verb in (("failed", "failed"), ("invalid", "could not be built")):
        if lost := int(spent[status].sum()):
            names = listed(dict.fromkeys(spent.loc[spent[status] > 0, "variant"]))
            words += f"; {wording.counted(lost, 'setting')} {verb} ({names})"
    return words


def _as_given(spent: pd.DataFrame) -> list[str]:
    """The variants of which settings were tried and none could be chosen."""
    rows = spent[spent["best"].isna() & (spent["settings"] > 0)]
    why = "Judged as the study gives it, for no setting that was tried has a value"
    return [f"{why}: {listed(searches.places(rows, spent), MAX_NAMES)}."] if len(rows) else []


def _edges(spent: pd.DataFrame) -> list[str]:
    """The chosen values that lie at an edge of the space."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, row in zip(searches.places(spent, spent), rows_of(spent), strict=True):
        for path, side in row["edges"].items():
            found.setdefault((path, side), []).append(f"{name} ({searches.value(row[path])})")
    return [
        f"The best {path} lies at the {side} edge of the space, which may be too narrow: {listed(names, MAX_NAMES)}."
        for (path, side), names in found.items()
    ]
