"""What each variant of a tuned study was given, the setting that was chosen, and whether that sufficed.

Before that, what the sections of searches share: objectives, settings and values in words, and the space.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import pandas as pd

from ablate.analysis import budgets
from ablate.analysis.search_table import Objective, SearchTable, table_of
from ablate.base.wording import exact
from ablate.core.facts import RUNNER_UPS
from ablate.core.short_names import in_short_names, short_names
from ablate.core.spelling import as_sentence, spelled, spelled_paths
from ablate.report.data_words import measured_on_judged
from ablate.report.figures.facets import Facets
from ablate.report.figures.settings import validation_by_setting
from ablate.report.section import Block, Picture, ReportData, Section, Text, by_task
from ablate.report.words import (
    NOTHING,
    Column,
    Row,
    Table,
    count,
    fixed,
    message,
    number,
    rows_of,
    tabulated,
    text,
)

FILE = "search.parquet"


class OfSearch:
    """A section of a study that was searched, by `kind`."""

    kind: str

    def applies(self, report_data: ReportData) -> bool:
        """Whether the study has the table of such a search."""
        found = table_of(report_data.evidence)
        return report_data.facts.searched == self.kind and found is not None and len(found.trials) > 0


def table(report_data: ReportData) -> SearchTable:
    """The settings that were tried, of a section that applies."""
    return cast(SearchTable, table_of(report_data.evidence))


def named(objective: Objective) -> str:
    """An objective in words: `validation accuracy`."""
    words = spelled(objective.name)
    return f"validation {words}" if objective.source == "validation" else words


def value(found: Any) -> str:
    """A value of a searched path, or nothing."""
    if isinstance(found, str):
        return text(found)
    return "" if number(found) is None else exact(float(found))


def places(rows: pd.DataFrame, whole: pd.DataFrame) -> list[str]:
    """The variants of the rows of a frame, with their tasks where the whole frame has several."""
    several = whole["task"].nunique() > 1
    return [f"{row['variant']} on {row['task']}" if several else row["variant"] for row in rows_of(rows)]


def space_table(searched: SearchTable) -> Table:
    """The space as it was searched: a row per path."""

    def values(row: Row) -> str:
        step = f", step {value(row['step'])}" if row["step"] else ""
        ends = (value(row[end]) or NOTHING for end in ("low", "high"))
        return text(", ".join(row["choices"])) or f"{' to '.join(ends)}{step}"

    return tabulated(
        [
            Column("path", "Path"),
            Column("kind", "Kind"),
            Column("values", "Values", words=True, show=values),
            Column("log", "Scale", show=lambda row: "log" if row["log"] else NOTHING),
            Column("when", "Searched when", show=lambda row: text(row["when"]) or "always"),
        ],
        [vars(parameter) for parameter in searched.facts.parameters],
        "The space",
    )


# Trainings and settings that may have been lost: a column each where any was.
LOST = {"diverged": "Diverged", "pruned": "Pruned", "failed": "Failed", "invalid": "Not built"}


class Tuning(
    OfSearch,
    Section,
    title="How the variants were tuned",
    inside="the budget, the space and the chosen setting of each variant",
):
    """Tables of the budgets and of the space, and a figure for each task."""

    kind = "tuning"

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        searched = table(report_data)
        yield budget_table(searched, spent(report_data))
        yield Text(message("search.budget_guide"), aside=True)
        yield space_table(searched)
        facts, target = report_data.facts, searched.facts.objectives[0]
        label, path = named(target), spelled(searched.paths[0])
        trained = {*report_data.evidence.frame(RUNNER_UPS, ("variant",))["variant"]}
        every = budgets.setting_curves(searched, trained)
        facets = Facets.of(facts)
        for task, end, of in by_task(facts):
            data = every[every["task"] == task.name]
            if data.empty:
                continue
            yield Picture(
                f"settings{end}",
                f"{'Tuning' if measured_on_judged(searched) else 'Validation'} by {path}{of}",
                message("search.settings_caption", label),
                message("search.settings_alt", label, of, data["variant"].nunique()),
                data,
                validation_by_setting,
                (facets, (path, label), task.metrics.get(target.name)),
            )

    def warnings(self, report_data: ReportData) -> list[str]:
        budgets_of_variants = spent(report_data)
        names = places(budgets_of_variants, budgets_of_variants)
        warnings = []
        for code, is_concerned in (
            ("no_value", budgets_of_variants["best"].isna()),
            ("rising", budgets_of_variants["rising"]),
        ):
            concerned = budgets_of_variants[is_concerned]
            if len(concerned):
                warnings.append(message(f"search.{code}", places(concerned, budgets_of_variants)))
        edges: dict[tuple[str, str], list[str]] = {}
        for name, row in zip(names, rows_of(budgets_of_variants), strict=True):
            for path, side in row["edges"].items():
                edges.setdefault((path, side), []).append(f"{name} ({value(row[path])})")
        warnings += [message("search.edge", path, side, variants) for (path, side), variants in edges.items()]
        return warnings

    def findings(self, report_data: ReportData) -> list[str]:
        given, search = spent(report_data), table(report_data).facts
        found = [
            message(
                "search.parity",
                settings=search.trials,
                seeds=len(search.seeds),
                tasks=given["task"].nunique(),
                paths=[parameter.path for parameter in search.parameters],
                sampler=search.sampler,
                pruner="" if search.pruner == "none" else search.pruner,
                trainings=int(given["trainings"].sum()),
                least=int(given["trainings"].min()),
                most=int(given["trainings"].max()),
                lost=[(status, int(given[status].sum())) for status in LOST if given[status].sum()],
            )
        ]
        if len(runner_ups := report_data.evidence.frame(RUNNER_UPS, ("variant", "status"))):
            lost = runner_ups.loc[runner_ups["status"] == "diverged", "variant"].value_counts().items()
            told = message("search.rivals", [*runner_ups["variant"].unique()], len(runner_ups), [*lost])
            found.append(in_short_names(told, short_names(report_data.facts)))
        return found


@lru_cache(maxsize=1)
def spent(report_data: ReportData) -> pd.DataFrame:
    """See `budgets.budgets`; variants by their names for readers."""
    found = budgets.budgets(table(report_data), report_data.facts)
    return found.assign(variant=found["variant"].map(short_names(report_data.facts)))


def budget_table(searched: SearchTable, given: pd.DataFrame) -> Table:
    """`given` is `budgets.budgets`."""
    target, ends = searched.facts.objectives[0], spelled_paths(searched.paths)
    counts = {"settings": "Settings", "seeds": "Tuning seeds", "trainings": "Trainings"}
    counts |= {key: name for key, name in LOST.items() if given[key].any()} | {"seconds": "Training seconds"}
    columns = [
        Column("variant", "Variant"),
        Column("task", "Task", varying=True),
        *(Column(key, name, True) for key, name in counts.items()),
        *(Column(path, as_sentence(ends[path]), True) for path in searched.paths),
        Column("best", f"{as_sentence(spelled(target.name))}, tuning seeds", True),
    ]
    rows = [
        row
        | {key: count(row[key]) for key in counts}
        | {path: value(row[path]) or NOTHING for path in searched.paths}
        | {"best": fixed(row["best"], 3)}
        for row in rows_of(given)
    ]
    return tabulated(columns, rows, message("search.budgets", named(target)), FILE)
