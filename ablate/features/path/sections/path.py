"""The steps of a path, judged on the seeds of the study: what each adds, beside the step before and the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ablate.analysis.measures import Measure
from ablate.analysis.paired import mean_of
from ablate.analysis.runs import Runs
from ablate.core.facts import Evidence, Facts, VariantFacts
from ablate.core.short_names import level_name
from ablate.report.section import Block, Material, Section, Text
from ablate.report.words import Column, difference, say, significant, tabulated


class Path(Section):
    """A table of the steps."""

    place = 55
    title = "The path"
    open = True

    def applies(self, material: Material) -> bool:
        return len(path_of(material.facts)) > 1

    def blocks(self, material: Material) -> Iterator[Block]:
        yield Text(say("figures.path_guide"), aside=True)
        columns = [
            Column("step", "Step"),
            Column("adds", "Adds", words=True),
            Column("mean", material.facts.metric, True, show=lambda row: significant(row["mean"])),
            Column(
                "step_diff",
                "From the step before [95 %]",
                True,
                show=lambda row: difference(*row["step_diff"]),
            ),
            Column("total", "From the baseline [95 %]", True, show=lambda row: difference(*row["total"])),
            Column("n", "Seeds", True),
        ]
        yield tabulated(columns, steps(material.evidence), say("cost.path_table", ""), "trials.parquet")


def path_of(facts: Facts) -> list[VariantFacts]:
    """The baseline and the configurations of the path, in their order; none where the study has no path."""
    found = facts.variants[: facts.design == "path"]
    for variant in facts.variants[1:] if found else ():
        one_more = len(variant.changes) == len(found)
        if not (one_more and found[-1].changes.items() <= variant.changes.items()):
            break
        found.append(variant)
    return found


def steps(evidence: Evidence) -> list[dict[str, Any]]:
    """A row a step: differences with their 95 % intervals are oriented, and exploratory."""
    facts, runs, path, task = evidence.facts, Runs(evidence), path_of(evidence.facts), evidence.facts.tasks[0]
    rows: list[dict[str, Any]] = []
    for number, (before, after) in enumerate(pairwise(path), start=1):
        step, total = (
            Measure(facts.metric, "mean", task).contrast(runs, [[after.name], [other.name]])
            for other in (before, path[0])
        )
        ((change, level),) = after.changes.items() - before.changes.items()
        rows.append(
            {
                "step": number,
                "adds": facts.labels.get(f"{change}={level}") or level_name(change, level),
                "mean": mean_of(step.a[0]),
                "step_diff": (step.differences.mean, *step.differences.interval()),
                "total": (total.differences.mean, *total.differences.interval()),
                "n": step.n,
            }
        )
    return rows
