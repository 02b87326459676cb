"""The verdicts, every comparison with all its numbers, and the claims, judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ablate.core.short_names import short_claim
from ablate.report.section import Block, Folded, Material, Section, Terms
from ablate.report.tables import Column, Table, count, is_true, p_value, rows_of, tabulated
from ablate.report.verdicts import (
    Names,
    claim_table,
    difference_column,
    level_of,
    mean_columns,
    names_of,
    planned_rows,
    reason_column,
    variant_column,
    verdict_tables,
)
from ablate.report.words import say

GUIDE = ("better", "worse", "equivalent", "inconclusive")


class Verdicts(Section):
    """The planned comparisons, a table a task and metric, with a guide to them."""

    place = 100
    title = "Verdicts"
    open = True

    def blocks(self, material: Material) -> Iterator[Block]:
        rows, margin = planned_rows(material.comparisons), material.facts.margin
        if not rows:
            return
        yield from verdict_tables(rows, names_of(material.facts), material.facts.rate)
        present = {row["verdict"] for row in rows}
        terms = [
            (verdict, say(f"verdicts.{verdict}", **{"margin": margin} if verdict == "equivalent" else {}))
            for verdict in GUIDE
            if verdict in present
        ]
        terms += [(word.capitalize(), say(f"verdicts.{word}")) for word in ("difference", "detectable")]
        yield Folded(say("verdicts.guide"), [Terms(terms)])


class Comparisons(Section):
    """The other metrics and the placebo included."""

    place = 1300
    title = "Every comparison"
    inside = "all metrics and the placebo, with p"

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.comparisons):
            yield detail_table(material, names_of(material.facts))


def detail_table(material: Material, names: Names) -> Table:
    """A row a comparison."""
    columns = [
        variant_column(names),
        Column("task", "Task", varying=True),
        Column("metric", "Metric", varying=True),
        Column("verdict", "Verdict"),
        difference_column("Difference"),
        *mean_columns(),
        Column("p", "p", True, show=lambda row: p_value(row["p"])),
        Column("n", "Seeds", True, show=lambda row: count(row["n"])),
        Column("settings", "Settings", below=True),
        reason_column(names),
    ]
    return tabulated(columns, rows_of(material.comparisons), say("cost.every"), "comparisons.csv")


class Claims(Section):
    """One row a claim."""

    place = 200
    title = "Claims"
    needs_trials = False
    open = True

    def answers(self, material: Material) -> list[str]:
        """Claims about other metrics than those of the verdicts."""
        facts = material.facts
        found: dict[str, list[str]] = {}
        for row in rows_of(material.claims):
            if row["metric"] != facts.metric and not is_true(row["exploratory"]):
                found.setdefault(row["verdict"], []).append(short_claim(row["claim"], facts))
        said = [
            say("verdicts.claimed", verdict, found[verdict])
            for verdict in ("supported", "refuted")
            if verdict in found
        ]
        return [" ".join(said)] if said else []

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.claims):
            short = partial(short_claim, facts=material.facts)
            level = level_of(planned_rows(material.comparisons))
            yield claim_table(material.claims, short, names_of(material.facts), level)
