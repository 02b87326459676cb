"""The claims of the study, judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ablate.core.short_names import short_claim
from ablate.report.palette import EXPLORATORY
from ablate.report.reason_words import words_of
from ablate.report.section import Block, Brief, Material, Section
from ablate.report.tables import Column, Row, Table, count, difference, is_true, rows_of, text
from ablate.report.timing import MEASURES

CAPTION = "The study’s claims; exploratory if declared after trials existed"


class Claims(Section):
    """One row a claim."""

    place = 200
    title = "Claims"
    needs_trials = False
    open = True

    def answers(self, material: Material) -> list[str]:
        facts = material.facts
        found = []
        for verdict in ("supported", "refuted"):
            # Of the primary metric the verdicts speak.
            mine = [
                short_claim(row["claim"], facts)
                for row in rows_of(material.claims)
                if row["verdict"] == verdict
                and row["metric"] != facts.metric
                and not is_true(row["exploratory"])
            ]
            if mine:
                found.append(f"{verdict.capitalize()}: {'; '.join(mine)}.")
        return [" ".join(found)] if found else []

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.claims):
            yield claim_table(rows_of(material.claims), CAPTION, partial(short_claim, facts=material.facts))

    def brief(self, read: Brief) -> Iterator[Table]:
        if judged := [row for row in read.claims if text(row["verdict"])]:
            yield claim_table(judged, "claims", read.claim, brief=True)


def claim_table(
    rows: Sequence[Row], caption: str = "", short: Callable[[str], str] = str, *, brief: bool = False
) -> Table:
    """Claims as strings, in the words of `short`; `brief` keeps what fits 80 columns."""
    timed = any(row.get("metric") in MEASURES for row in rows)
    columns = [
        Column("claim", "Claim"),
        Column("verdict", "Verdict"),
        Column("difference", "Difference", True),
        Column("n", "Seeds or processes" if timed else "Seeds", True),
        Column("reason", "Reason", below=True),
    ]
    cells = [
        {
            "claim": text(short(row["claim"])),
            "claim title": text(row["claim"]),
            "verdict": text(row["verdict"])
            + (f" ({EXPLORATORY})" if is_true(row.get("exploratory")) else ""),
            "difference": difference(row.get("diff"), row.get("ci_low"), row.get("ci_high")),
            "n": count(row.get("n")),
            "reason": words_of(row.get("reason")),
        }
        for row in rows
    ]
    return Table([*columns[:3], columns[-1]] if brief else columns, cells, caption, "claims.csv")
