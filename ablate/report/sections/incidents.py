"""Trials without a result, and why."""

from __future__ import annotations

import pandas as pd

from ablate.core.evidence import Evidence
from ablate.core.record import why
from ablate.report.section import Block, Material, Section
from ablate.report.tables import Column, Table, rows_of, text

CAPTION = "A run that diverged is an outcome; one that failed is run again the next time"
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
            {key: text(value) for key, value in row.items()}
            | {"reason": text(f"{row['reason']} (ablate show {row['id']})" if row["id"] else row["reason"])}
            for row in rows_of(incidents(material.evidence))
        ]
        return [Table(COLUMNS, rows, CAPTION, "trials.parquet")] if rows else []


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
    # Under a plan that adds seeds only where they are needed, a seed that no variant has had is not missing.
    started = set(trials["seed"])
    rows += [
        {"variant": v.name, "task": t.name, "seed": s, "status": "missing", "reason": "has not run", "id": ""}
        for v in facts.variants
        for t in facts.tasks
        for s in facts.seeds
        if (v.name, t.name, s) not in known and s in started
    ]
    order = {v.name: i for i, v in enumerate(facts.variants)}
    rows.sort(key=lambda r: (order.get(str(r["variant"]), len(order)), str(r["task"]), r["seed"]))
    return pd.DataFrame(rows, columns=columns)
