"""Trials without a result, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ablate.core.evidence import Evidence
from ablate.core.record import why
from ablate.core.search_table import setting_name
from ablate.records.store import whereabouts
from ablate.report.section import Block, Material, Section
from ablate.report.tables import Column, Row, Table, rows_of, text
from ablate.report.words import say

COLUMNS = [
    Column("variant", "Variant"),
    Column("task", "Task"),
    Column("seed", "Seed", True),
    Column("status", "What happened"),
    Column("reason", "Why", below=True),
]


class Incidents(Section):
    """One row a trial."""

    place = 1100
    title = "Runs without a result"
    inside = "which failed, diverged or are missing, and why"

    def heading(self, material: Material) -> str:
        return f"{self.title} ({len(incidents(material.evidence))})"

    def blocks(self, material: Material) -> list[Block]:
        rows = [
            {key: text(value) for key, value in row.items()} | {"reason": text(_located(row, material))}
            for row in [*rows_of(incidents(material.evidence)), *_beside(material)]
        ]
        return [Table(COLUMNS, rows, say("cost.incidents"), "trials.parquet")] if rows else []


def _located(row: Row, material: Material) -> str:
    """The reason, with the record of the trial."""
    found = "; ".join(whereabouts(i, material.results) for i in str(row["id"]).split())
    return f"{row['reason']} ({found})" if found else str(row["reason"])


def _beside(material: Material) -> Iterator[dict[str, Any]]:
    """The failed trials that no verdict is of: untuned variants, and settings of a search with all of their seeds."""
    if material.untuned is not None:
        untuned = incidents(material.untuned)
        for row in untuned[untuned["status"] == "failed"].to_dict("records"):
            yield row | {"variant": say("cost.untuned", row["variant"])}
    if material.searched is not None:
        facts, trials = material.searched.facts, material.searched.trials
        for row in trials[trials["status"] == "failed"].to_dict("records"):
            yield {
                "variant": setting_name(row["variant"], row["number"], material.facts.searched == "sweep"),
                "task": row["task"],
                "seed": ", ".join(str(seed) for seed, _ in zip(facts.seeds, row["ids"], strict=False)),
                "status": row["status"],
                "reason": row["reason"],
                "id": " ".join(row["ids"]),
            }


def incidents(evidence: Evidence) -> pd.DataFrame:
    """Trials that did not complete, and planned ones that have not run.

    Columns: variant, task, seed, status, reason, id.
    """
    facts, trials = evidence.facts, evidence.trials
    columns = ["variant", "task", "seed", "status", "reason", "id"]
    bad = trials[trials["status"] != "completed"]
    rows = bad.assign(reason=bad["reason"].fillna("") if "reason" in bad else "")[columns].to_dict("records")
    rows = [row | {"reason": why(row["status"], str(row["reason"]))} for row in rows]
    known = set(zip(trials["variant"], trials["task"], trials["seed"], strict=True))
    # Under a plan that adds seeds only where they are needed, one that a variant was not asked for is not missing.
    started = set(trials["seed"])
    rows += [
        {
            "variant": v.name,
            "task": t.name,
            "seed": s,
            "status": "missing",
            "reason": say("cost.not_run"),
            "id": "",
        }
        for v in facts.variants
        for t in facts.tasks
        for s in facts.seeds_of(v.name, t.name)
        if (v.name, t.name, s) not in known and s in started
    ]
    order = {v.name: i for i, v in enumerate(facts.variants)}
    rows.sort(key=lambda r: (order.get(str(r["variant"]), len(order)), str(r["task"]), r["seed"]))
    return pd.DataFrame(rows, columns=columns)
