"""The claims of the study, judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from ablate.core.short_names import in_short_names, short_claim, short_names
from ablate.report.palette import EXPLORATORY
from ablate.report.section import Block, Brief, Material, Section
from ablate.report.tables import Column, Row, Table, count, difference, is_true, p_value, rows_of, text
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
            # Of the other metrics the verdicts speak.
            mine = [
                short_claim(row["claim"], facts)
                for row in rows_of(material.claims)
                if row["verdict"] == verdict
                and row["metric"] not in facts.judged
                and not is_true(row["exploratory"])
            ]
            if mine:
                found.append(f"{verdict.capitalize()}: {'; '.join(mine)}.")
        return [" ".join(found)] if found else []

    def blocks(self, material: Material) -> Iterator[Block]:
        if len(material.claims):
            short = partial(short_claim, facts=material.facts)
            yield claim_table(rows_of(material.claims), CAPTION, short, short_names(material.facts))

    def brief(self, read: Brief) -> Iterator[Table]:
        if judged := [row for row in read.claims if text(row["verdict"])]:
            yield claim_table(judged, "claims", read.claim, read.names, brief=True)


def claim_table(
    rows: Sequence[Row],
    caption: str = "",
    short: Callable[[str], str] = str,
    names: Mapping[str, str] = MappingProxyType({}),
    *,
    brief: bool = False,
) -> Table:
    """Claims as strings, in the words of `short`, with `names` of variants; `brief` keeps what fits 80 columns."""
    timed = any(row.get("metric") in MEASURES for row in rows)
    columns = [
        Column("claim", "Claim"),
        Column("verdict", "Verdict"),
        Column("difference", "Difference [95 %]", True),
        Column("p_holm", "p (Holm)", True),
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
            "p_holm": p_value(row.get("p_holm")),
            "n": count(row.get("n")),
            "reason": in_short_names(text(row.get("reason")), names),
        }
        for row in rows
    ]
    return Table([*columns[:3], columns[-1]] if brief else columns, cells, caption, "claims.csv")
