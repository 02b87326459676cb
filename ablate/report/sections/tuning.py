"""What each variant of a tuned study was given, the setting that was chosen, and whether that sufficed.

Before that, what the sections of searches share: objectives, settings and values in words, and the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

import pandas as pd

from ablate.analysis import budgets
from ablate.analysis.search_table import Objective, SearchFacts, SearchTable, search_table_of
from ablate.analysis.widening import GridSide
from ablate.base.wording import exact
from ablate.core.facts import RUNNER_UPS
from ablate.core.short_names import runner_up_name, short_names
from ablate.core.spelling import as_sentence, spelled, spelled_paths
from ablate.report.figures.facets import Facets
from ablate.report.figures.settings import validation_by_setting
from ablate.report.section import Block, Picture, ReportData, Section, Text, by_task
from ablate.report.sentences.data_words import measured_on_judged
from ablate.report.sentences.widening_words import added_words, edge_words, rounds_of
from ablate.report.words import (
    CONDITION_COLUMN,
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

FILE = f"{SearchFacts.key}.parquet"


class OfSearch:
    """A section of a study that was searched, by `kind`."""

    kind: str

    def applies(self, report_data: ReportData) -> bool:
        """Returns whether the study has the table of such a search."""
        searched = search_table_of(report_data.evidence)
        return (
            report_data.facts.plan.searched == self.kind and searched is not None and len(searched.trials) > 0
        )


def table(report_data: ReportData) -> SearchTable:
    """Returns the settings that were tried, of a section that applies."""
    return cast(SearchTable, search_table_of(report_data.evidence))


def named(objective: Objective) -> str:
    """Returns an objective in words: `validation accuracy`."""
    words = spelled(objective.name)
    return f"validation {words}" if objective.source == "validation" else words


def value(setting: Any) -> str:
    """Returns a value of a searched path, or nothing."""
    if isinstance(setting, str):
        return text(setting)
    return "" if number(setting) is None else exact(float(setting))


def places(rows: pd.DataFrame, whole: pd.DataFrame) -> list[str]:
    """Returns the variants of the rows of a frame, with their tasks where the whole frame has several."""
    if whole["task"].nunique() == 1:
        return [row["variant"] for row in rows_of(rows)]
    return [f"{row['variant']} on {row['task']}" for row in rows_of(rows)]


def space_table(searched: SearchTable) -> Table:
    """Returns the space as it was searched: a row per path."""

    def values(row: Row) -> str:
        if row["choices"]:
            return text(", ".join(row["choices"]))
        step = f", step {value(row['step'])}" if row["step"] else ""
        return f"{value(row['low']) or NOTHING} to {value(row['high']) or NOTHING}{step}"

    added = searched.facts.added
    rows = [vars(parameter) for parameter in searched.facts.parameters]
    if added:
        rows = [row | {"added": rounds_of(added, row["path"]) or NOTHING} for row in rows]
    return tabulated(
        [
            Column("path", "Path"),
            Column("kind", "Kind"),
            Column("values", "Values", words=True, show=values),
            Column("log", "Scale", show=lambda row: "log" if row["log"] else NOTHING),
            Column("when", "Searched when", show=lambda row: text(row["when"]) or "always"),
            *([Column("added", "Added after round", words=True)] if added else []),
        ],
        rows,
        "The space",
    )


LOST = {"diverged": "Diverged", "pruned": "Pruned", "failed": "Failed", "invalid": "Not built"}
"""Trainings and settings that may have been lost → the heading of their column, which is shown where any was."""


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
        facts = report_data.facts
        own = searched.facts.chooses_each_seed(facts.seeds)
        yield Text(message("search.budget_guide_of_each_seed" if own else "search.budget_guide"), aside=True)
        yield space_table(searched)
        target = searched.facts.objectives[0]
        label = named(target)
        path = spelled(searched.paths[0])
        trained = {*report_data.evidence.other_trials(RUNNER_UPS, ("variant",))["variant"]}
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
        untuned = budgets_of_variants[budgets_of_variants["best"].isna()]
        if len(untuned):
            warnings.append(message("search.no_value", places(untuned, budgets_of_variants)))
        rising = budgets_of_variants[budgets_of_variants["rising"]]
        if len(rising):
            warnings.append(message("search.rising", places(rising, budgets_of_variants)))
        edges: dict[tuple[str, GridSide], list[str]] = {}
        for name, row in zip(names, rows_of(budgets_of_variants), strict=True):
            for place, chosen in row["edges"].items():
                edges.setdefault(place, []).append(f"{name} ({value(chosen)})")
        search = table(report_data).facts
        warnings += [edge_words(search, path, side, variants) for (path, side), variants in edges.items()]
        return warnings

    def findings(self, report_data: ReportData) -> list[str]:
        search = table(report_data).facts
        sentences = [_parity(spent(report_data), search)]
        if search.at:
            sentences.append(message("search.tuned_at", search.at))
        if search.added is not None:
            sentences.append(added_words(search.added))
        runner_ups = report_data.evidence.other_trials(RUNNER_UPS, ("variant", "status"))
        if len(runner_ups):
            sentences.append(_runner_ups(runner_ups, short_names(report_data.facts)))
        return sentences


def _parity(given: pd.DataFrame, search: SearchFacts) -> str:
    """Returns the budget that every variant was given, and the trainings that were lost."""
    trainings = given["trainings"]
    if trainings.min() == trainings.max():
        budget = message("search.same_budget")
    else:
        budget = message("search.same_settings", int(trainings.min()), int(trainings.max()))
    num_tasks = given["task"].nunique()
    searched = message(
        "search.searched",
        search.trials,
        len(search.seeds),
        num_tasks if num_tasks > 1 else 0,
        [parameter.path for parameter in search.parameters],
        message("search.sampler", search.sampler, "" if search.pruner == "none" else search.pruner),
    )
    lost = [ended_words(status, int(given[status].sum())) for status in LOST if given[status].sum()]
    return message("search.parity", budget, searched, int(trainings.sum()), ", ".join(lost))


def ended_words(status: str, count_of_status: int) -> str:
    """Returns `3 pruned`: how many settings ended in one way."""
    if status == "invalid":
        return message("search.not_built", count_of_status)
    return f"{count_of_status} {status}"


def _runner_ups(runs: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Returns at which runner-up settings verdicts were judged too, and which of their runs diverged.

    names: variant → its name for readers.
    """
    runs = runs.assign(variant=[runner_up_name(runner_up, names) for runner_up in runs["variant"]])
    diverged = runs.loc[runs["status"] == "diverged", "variant"].value_counts()
    lost = [message("search.runs_of", n, variant) for variant, n in diverged.items()]
    return message("search.rivals", [*runs["variant"].unique()], len(runs), ", ".join(lost))


@lru_cache(maxsize=1)
def spent(report_data: ReportData) -> pd.DataFrame:
    """Returns `budgets.budgets`, with variants by their names for readers."""
    budgets_of_variants = budgets.budgets(table(report_data), report_data.facts)
    names = short_names(report_data.facts)
    return budgets_of_variants.assign(variant=budgets_of_variants["variant"].map(names))


def budget_table(searched: SearchTable, given: pd.DataFrame) -> Table:
    """Returns the budget and the chosen setting of each variant; `given` is `budgets.budgets`."""
    target = searched.facts.objectives[0]
    path_names = spelled_paths(searched.paths)
    counts = {"settings": "Settings", "seeds": "Tuning seeds", "trainings": "Trainings"}
    for status, heading in LOST.items():
        if given[status].any():
            counts[status] = heading
    counts["seconds"] = "Training seconds"
    columns = [
        Column("variant", "Variant"),
        CONDITION_COLUMN,
        *(Column(key, heading, True) for key, heading in counts.items()),
        *(Column(path, as_sentence(path_names[path]), True) for path in searched.paths),
        Column("best", f"{as_sentence(spelled(target.name))}, tuning seeds", True),
    ]
    rows = []
    for row in rows_of(given):
        cells = dict(row)
        cells |= {key: count(row[key]) for key in counts}
        cells |= {path: value(row[path]) or NOTHING for path in searched.paths}
        cells["best"] = fixed(row["best"], 3)
        rows.append(cells)
    return tabulated(columns, rows, message("search.budgets", named(target)), FILE)
