"""The tables of a paper: means and differences of each variant, hyperparameters, verdicts, speed and claims."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ablate.base.text import word
from ablate.core.facts import StudyFacts
from ablate.core.spelling import as_sentence, spelled
from ablate.report.export.paper_results import means_by_condition, result_tables
from ablate.report.section import ReportData
from ablate.report.sections.verdicts import descriptions_of
from ablate.report.sentences.levels import level_of_claims
from ablate.report.sentences.terms import with_terms
from ablate.report.tables.claim_tables import claim_table
from ablate.report.tables.over_conditions import judged_tables
from ablate.report.tables.speed_tables import brief_tables
from ablate.report.tables.verdicts import names_of, planned_rows
from ablate.report.words import (
    Column,
    Table,
    message,
    rows_of,
    tabulated,
)

HYPERPARAMETERS = "hyperparameters"


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    name: str
    """The stem of its file."""
    table: Table
    bold: Mapping[str, str] = field(default_factory=dict)
    """The first cell of a row → the column of the cell in bold."""


def paper_tables(
    report_data: ReportData, settings: Mapping[str, Any], *, percent: bool
) -> Iterator[PaperTable]:
    """Yields results and comparisons, numbered from the second task on, hyperparameters, speed and claims.

    settings: the resolved sections of the baseline; empty where they are not known. percent: whether the shares of
    `results` are in percent.
    """
    facts = report_data.facts
    rows = planned_rows(report_data.comparisons)
    judged_tasks = [task for task in facts.tasks if any(row["task"] == task.name for row in rows)]
    for i, task in enumerate(judged_tasks, start=1):
        for name, table, bold in result_tables(report_data, task, percent=percent):
            yield PaperTable(_numbered(name, i), with_terms(table, facts), bold)
    if facts.over.joins_conditions and rows:
        yield PaperTable("results", means_by_condition(report_data, percent=percent))
    verdicts = judged_tables(
        report_data.comparisons,
        facts,
        interactions=report_data.table("interactions"),
        conditions=report_data.table("conditions"),
        trends=report_data.table("trends"),
        descriptions=descriptions_of(report_data),
    )
    for i, table in enumerate(verdicts, start=1):
        yield PaperTable(_numbered("comparisons", i), with_terms(table, facts))
    if settings:
        yield PaperTable(HYPERPARAMETERS, _hyperparameters(facts, settings))
    for i, table in enumerate(brief_tables(rows_of(report_data.table("speed")), names_of(facts)), start=1):
        yield PaperTable(_numbered("speed", i), table)
    if len(report_data.claims):
        yield PaperTable("claims", claim_table(report_data.claims, facts, level_of_claims(rows, facts)))


def _numbered(name: str, number_of_table: int) -> str:
    """Returns the name of a table, with its number from the second on."""
    return name if number_of_table == 1 else f"{name}-{number_of_table}"


# Hyperparameters


def _hyperparameters(facts: StudyFacts, settings: Mapping[str, Any]) -> Table:
    """Returns a row for each setting of the baseline, and what variants have in its place."""
    values = dict(_leaves(settings))
    tuned: dict[str, str] = {}
    for task_settings in facts.variants[0].tuned.values():
        tuned |= task_settings
    names = names_of(facts)
    rows = []
    for path, value in (values | tuned).items():
        others = _others(facts, path, names)
        rows.append(
            {
                "setting": _setting(path),
                "value": value if isinstance(value, str) else word(value),
                "tuned": "yes" if path in tuned else "",
                "variants": others,
            }
        )
    columns = [
        Column("setting", "Setting"),
        Column("value", "Baseline", True),
        Column("tuned", "Tuned"),
        Column("variants", "Variants", words=True),
    ]
    caption = message("paper.tuned_hyperparameters" if tuned else "paper.hyperparameters", facts.study)
    return tabulated(columns, rows, caption)


def _setting(path: str) -> str:
    """Returns a path in words: its last name, and the one before where that is no section."""
    section, *names = path.split(".")
    return as_sentence(" ".join(spelled(name) for name in names[-2:] or [section]))


def _leaves(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the path and the value of each setting; a part counts by its name, and what is not given not at all."""
    for key, value in settings.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, Mapping):
            if "name" in value:
                yield path, value["name"]
            yield from _leaves({name: of for name, of in value.items() if name != "name"}, path)
        elif value is not None and value != []:
            yield path, value


def _others(facts: StudyFacts, path: str, names: Mapping[str, str]) -> str:
    """Returns `none: 0.003` for each variant with another value: a level of the study, or one that was tuned."""
    told = []
    baseline = facts.variants[0].tuned
    for variant in facts.variants[1:]:
        if variant.placebo:
            continue
        label = variant.changes.get(path)
        for task, task_settings in variant.tuned.items():
            if task_settings.get(path) != baseline.get(task, {}).get(path):
                label = task_settings.get(path)
        if label is not None:
            told.append(f"{names.get(variant.name, variant.name)}: {label}")
    return "; ".join(told)
