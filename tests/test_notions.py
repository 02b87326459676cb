"""Every notion that a user meets has a line in `notions.csv`: who needs it, and a file that shows it."""

import csv
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

import ablate.report.figures
from ablate.analysis.claims import ClaimRow
from ablate.analysis.comparison_row import ComparisonRow
from ablate.analysis.conditions_tables import ConditionsRow, TrendRow
from ablate.analysis.interactions import InteractionRow
from ablate.analysis.search_table import SettingRow
from ablate.analysis.speed_tables import SlopeRow, SpeedRow
from ablate.analysis.stability import StabilityRow
from ablate.cli import main
from ablate.core.facts import EXAMPLE_COLUMNS, TRIAL_COLUMNS
from ablate.core.speed_facts import SpeedFacts
from ablate.core.stress_facts import StressFacts
from ablate.external.options import CommandOptions, DataSection, FunctionOptions, OwnMetric, ScriptOptions
from ablate.models.section import ModelSection
from ablate.records.evaluated import COLUMNS as EVALUATION_COLUMNS
from ablate.report.atlas.registry import RegistryRow
from ablate.report.sections import SECTIONS
from ablate.stages import CONFIGS
from ablate.study.schema import StudyConfig
from ablate.training.section import TrainingSection

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).parent / "notions.csv"
COLUMNS = {
    "comparisons.csv": [field.name for field in fields(ComparisonRow)],
    "claims.csv": [field.name for field in fields(ClaimRow)],
    "atlas/claims.csv": [field.name for field in fields(RegistryRow)],
    "stability.csv": [field.name for field in fields(StabilityRow)],
    "conditions.csv": [field.name for field in fields(ConditionsRow)],
    "trends.csv": [field.name for field in fields(TrendRow)],
    "interactions.csv": [field.name for field in fields(InteractionRow)],
    "speed.csv": [field.name for field in fields(SpeedRow)],
    "scaling.csv": [field.name for field in fields(SlopeRow)],
    "evaluation.csv": EVALUATION_COLUMNS,
    "trials.parquet": TRIAL_COLUMNS,
    "examples.parquet": EXAMPLE_COLUMNS,
    "search.parquet": [field.name for field in fields(SettingRow)],
    "speed.parquet": SpeedFacts.columns,
    "stress.parquet": StressFacts.columns,
}
WORKLOADS = {
    "task": (),
    "tasks": (),
    "model": (ModelSection,),
    "training": (TrainingSection,),
    "workload": (FunctionOptions, CommandOptions, ScriptOptions),
    "config": (),
    "metrics": (OwnMetric,),
    "data": (DataSection,),
}
"""The sections of a study that its workload reads."""


def sections_in(kind: Any) -> list[type[BaseModel]]:
    """Returns the sections that a type has, at any depth."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    sections: list[type[BaseModel]] = []
    for inner in get_args(kind):
        sections += sections_in(inner)
    return sections


def keys_in(section: type[BaseModel], above: str = "") -> Iterator[str]:
    """Yields the keys of a section and of the sections in it, as paths."""
    for name, field in section.model_fields.items():
        key = above + (field.alias or name)
        yield key
        sections = sections_in(field.annotation)
        for mark in field.metadata:
            sections += sections_in(getattr(mark, "json_schema_input_type", None))
        for inner in sections:
            yield from keys_in(inner, f"{key}.")


def keys() -> Iterator[str]:
    for section in (StudyConfig, *CONFIGS):
        yield from keys_in(section)
    for name, sections in WORKLOADS.items():
        yield name
        for section in sections:
            yield from keys_in(section, f"{name}.")


def figures() -> Iterator[str]:
    """Yields the modules with a function from frames, `data` or in `panels`, to a figure."""
    (folder,) = ablate.report.figures.__path__
    for path in sorted(Path(folder).glob("[a-z]*.py")):
        module = importlib.import_module(f"ablate.report.figures.{path.stem}")
        for _, function in inspect.getmembers(module, inspect.isfunction):
            arguments = inspect.signature(function)
            takes_frames = {"data", "panels"} & {*arguments.parameters}
            draws = arguments.return_annotation == "Figure" and takes_frames
            if draws and function.__module__ == module.__name__:
                yield path.stem


def notions() -> set[tuple[str, str]]:
    """Returns the kind and the name of every notion, from the code."""
    found = {("section", section.title) for section in SECTIONS}
    for name, command in main.commands.items():
        found.add(("command", name))
        flags = [flag for parameter in command.params for flag in parameter.opts if flag.startswith("-")]
        found |= {("option", f"{name} {flag}") for flag in flags}
    found |= {("key", key) for key in keys()}
    found |= {("figure", figure) for figure in figures()}
    for table, columns in COLUMNS.items():
        found |= {("column", f"{table} {column}") for column in columns}
    return found


def word_of(kind: str, name: str) -> str:
    """Returns what a file must say that shows a notion."""
    match kind:
        case "command":
            return f"ablate {name}"
        case "option" | "column":
            return name.partition(" ")[2]
        case "key":
            return name.rpartition(".")[2]
        case _:
            return name


def lines() -> list[dict[str, str]]:
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_notion_has_a_line_and_every_line_is_of_a_notion():
    named = [(line["kind"], line["name"]) for line in lines()]
    assert len(named) == len(set(named))
    assert sorted(set(named) - notions()) == [], "are no notions any more"
    assert sorted(notions() - set(named)) == [], "lack a line in notions.csv: who needs it, and what shows it"


@pytest.mark.parametrize("kind", ["command", "option", "key", "section", "figure", "column"])
def test_every_notion_is_needed_and_shown(kind):
    texts: dict[str, str] = {}
    for line in lines():
        if line["kind"] != kind:
            continue
        path = line["shown_by"]
        text = texts.setdefault(path, (ROOT / path).read_text())
        assert line["needed_by"], line
        assert re.search(rf"(?<![\w-]){re.escape(word_of(kind, line['name']))}(?![\w-])", text), line
