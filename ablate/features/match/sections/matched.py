"""What is held equal, and by which values of the path that is changed for it: the facts that a report keeps, and their
table, which `plan` shows too.
"""

from collections.abc import Mapping
from typing import Any

from ablate.base.wording import brief, percent
from ablate.core.spelling import as_sentence, spelled
from ablate.report.section import Block, Material, Section
from ablate.report.verdicts import names_of, variant_column
from ablate.report.words import Column, Table, say, tabulated
from ablate.study.experiment import Experiment


class Matched(
    Section,
    place=1150,
    title="What was matched",
    needs_trials=False,
    inside="the value that gives every variant the same size, and how nearly",
):
    """One row a variant."""

    def applies(self, material: Material) -> bool:
        return "match" in material.facts.features

    def blocks(self, material: Material) -> list[Block]:
        return [table(material.facts.features["match"], names_of(material.facts))]

    def findings(self, material: Material) -> list[str]:
        return [said(material.facts.features["match"])]


def facts(experiment: Experiment) -> Mapping[str, Any]:
    """The section, and a row a variant and task: its value at the path, and by which share it misses the target."""
    matcher, section = experiment.read.get("match"), experiment.study.section("match")
    if matcher is None:
        return {}
    return {
        "quantity": section.quantity,
        "by": section.by,
        "target": section.target if section.target == "baseline" else f"{section.target:.12g}",
        "within": section.within,
        "rows": [
            {"variant": variant.name, "task": task, **matcher.given(config, index)}
            for variant in experiment.variants
            for index, (task, config) in enumerate(zip(experiment.tasks, variant.configs, strict=True))
        ],
    }


def said(found: Mapping[str, Any]) -> str:
    """What is equal, how nearly, and by which path."""
    return say("limits.matched", found, max(abs(row["residual"]) for row in found["rows"]))


def table(found: Mapping[str, Any], names: Mapping[str, str]) -> Table:
    """The values and residuals of the facts; `names` for readers."""
    return tabulated(
        [
            variant_column(names),
            Column("task", "Task", varying=True),
            Column("value", as_sentence(spelled(found["by"])), True, show=lambda row: brief(row["value"])),
            Column("residual", "Residual", True, show=lambda row: percent(row["residual"], 2)),
        ],
        found["rows"],
        said(found).removesuffix("."),
        "trials.parquet",
    )


def plan(experiment: Experiment, store: object) -> tuple[list[Table], None]:
    """The table."""
    found = facts(experiment)
    return [table(found, {})] if found else [], None
