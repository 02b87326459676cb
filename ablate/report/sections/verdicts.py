"""Each variant against the baseline."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.report.section import Block, Folded, Material, Section, Terms
from ablate.report.verdicts import names_of, planned_rows, verdict_tables
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
