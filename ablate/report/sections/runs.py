"""The runs of a study: what whoever ran it wrote, which have no result, and how it was run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ablate.base import wording
from ablate.core.evidence import Evidence
from ablate.core.feature import features
from ablate.core.record import why
from ablate.records.store import whereabouts
from ablate.report.section import Block, Items, Material, Section, Terms, Text
from ablate.report.tables import Column, Row, Table, rows_of, text
from ablate.report.words import say


class Notes(Section):
    """What whoever ran the study wrote about it."""

    place = 250
    title = "Notes"
    needs_trials = False
    inside = "what whoever ran the study wrote about it"

    def applies(self, material: Material) -> bool:
        return bool(material.facts.notes.strip())

    def blocks(self, material: Material) -> list[Block]:
        return prose(material.facts.notes)


MARK = re.compile(r"\s*(?:[-*•]|(\d+)[.)])\s+")
"Begins an item of a list."
SHORT = 0.75
"Of the longest line: what ends a paragraph."


def prose(words: str) -> list[Block]:
    """Paragraphs and lists: line breaks inside one are joined. A blank line ends it, and so does a sentence that ends
    well before the others do.
    """
    found: list[Block] = []
    wide = max(map(len, words.splitlines()), default=0)
    ended = "\n".join(
        f"{line}\n" if len(line) < SHORT * wide and line.rstrip().endswith((".", "!", "?")) else line
        for line in words.splitlines()
    )
    for part in re.split(r"\n\s*\n", ended.strip()):
        paragraph: list[str] = []
        items: list[str] = []
        numbered = False
        for line in part.splitlines():
            mark = MARK.match(line)
            # A line of a paragraph may happen to begin with "15. "; a numbered list begins with 1.
            if mark and (items or mark[1] in (None, "1")):
                numbered = numbered if items else mark[1] is not None
                items.append(line[mark.end() :].strip())
            elif items:
                items[-1] += f" {line.strip()}"
            else:
                paragraph.append(line.strip())
        found += [Text(" ".join(paragraph))] if paragraph else []
        found += [Items(items, "ol" if numbered else "ul")] if items else []
    return found


KEYS = ["variant", "task", "seed", "status", "reason", "id"]
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
            for row in [*rows_of(incidents(material.evidence)), *_beside(material.evidence)]
        ]
        return [Table(COLUMNS, rows, say("cost.incidents"), "trials.parquet")] if rows else []


def _located(row: Row, material: Material) -> str:
    """The reason, with the record of the trial."""
    found = "; ".join(whereabouts(i, material.results) for i in str(row["id"]).split())
    return f"{row['reason']} ({found})" if found else str(row["reason"])


def _beside(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """The failed trials that features asked for beside those that are judged."""
    for name, frame in evidence.frames.items():
        if {*KEYS} <= {*frame.columns}:
            for row in frame.loc[frame["status"] == "failed", KEYS].to_dict("records"):
                yield row | {"variant": f"{row['variant']} {name}"}


def incidents(evidence: Evidence) -> pd.DataFrame:
    """Trials that did not complete, and planned ones that have not run.

    Columns: variant, task, seed, status, reason, id.
    """
    facts, trials = evidence.facts, evidence.trials
    bad = trials[trials["status"] != "completed"]
    rows = bad.assign(reason=bad["reason"].fillna("") if "reason" in bad else "")[KEYS].to_dict("records")
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
    return pd.DataFrame(rows, columns=KEYS)


class Provenance(Section):
    """The last section."""

    place = 1400
    title = "How it was run"
    needs_trials = False
    inside = "command, commit, versions, machine, seeds and test data"

    def blocks(self, material: Material) -> Iterator[Block]:
        yield Terms(provenance(material.evidence))


def provenance(evidence: Evidence) -> list[tuple[str, str]]:
    """How the study was run, as pairs of a term and its description; what is not known is left out."""
    facts, known = evidence.facts, dict(evidence.facts.environment)
    commit, dirty = known.pop("commit", None), known.pop("dirty", None)
    versions = known.pop("versions", None) or {}
    statuses = evidence.trials["status"].value_counts().sort_index()
    seeds = f" ({', '.join(map(str, facts.seeds))})" if len(facts.seeds) <= 20 else ""
    training = [
        ("Metric", say("cost.metric", facts.metric, say(f"cost.{facts.at}"))),
        ("Margin", say("cost.no_margin") if facts.margin is None else f"±{wording.exact(facts.margin)}"),
        ("Seeds", f"{len(facts.seeds)}{seeds}"),
        ("Trials", ", ".join(f"{n} {status}" for status, n in statuses.items())),
        ("Test data", "; ".join(dict.fromkeys(say(f"cost.{task.sampling.pool}") for task in facts.tasks))),
    ]
    pairs = [
        ("Command", known.pop("command", None)),
        ("Commit", commit and say("cost.commit", commit, dirty)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Machine", known.pop("machine", None)),
        *((key.replace("_", " ").capitalize(), value) for key, value in sorted(known.items())),
        ("Differs from the study", "; ".join(facts.differs)),
        ("Design", facts.design.replace("_", " ")),
        *([] if evidence.only_measured else training),
        *((feature.name.capitalize(), feature.account(evidence)) for feature in features()),
    ]
    return [(term, text(value)) for term, value in pairs if text(value)]
