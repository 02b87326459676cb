"""The runs of a study: what whoever ran it wrote, which have no result, and how it was run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ablate.core.facts import Evidence
from ablate.core.feature import features
from ablate.core.record import why
from ablate.core.short_names import in_short_names
from ablate.records.store import whereabouts
from ablate.report.section import Block, Items, Material, Section, Terms, Text
from ablate.report.tables import Column, Row, rows_of, tabulated, text
from ablate.report.verdicts import names_of, variant_column
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


SHORT = 0.75
"Of the longest line: what ends a paragraph."


def prose(words: str) -> list[Block]:
    """Paragraphs and lists: line breaks inside one are joined. A blank line ends it, and so does a sentence that ends
    well before the others do.
    """
    found: list[Block] = []
    wide = max(map(len, words.splitlines()), default=0)
    parted = re.sub(rf"(?m)^(.{{0,{int(SHORT * wide)}}}[.!?])$", r"\1\n", words)
    for part in re.split(r"\n\s*\n", parted.strip()):
        first, *items = re.split(r"(?:^|\n)\s*[-*•]\s+", part)
        found += [Text(" ".join(first.split()))] if first.strip() else []
        found += [Items([" ".join(item.split()) for item in items])] if items else []
    return found


class Incidents(Section):
    """One row a trial."""

    place = 1100
    title = "Runs without a result"
    inside = "which failed, diverged or are missing, and why"

    def blocks(self, material: Material) -> Iterator[Block]:
        names = names_of(material.facts)

        def reason(row: Row) -> str:
            found = say("cost.not_run") if row["status"] == "missing" else why(row["status"], row["reason"])
            found = in_short_names(text(found), names)
            return f"{found} ({whereabouts(row['id'], material.results)})".strip() if row["id"] else found

        columns = [
            variant_column(names),
            Column("task", "Task"),
            Column("seed", "Seed", True),
            Column("status", "What happened"),
            Column("reason", "Why", below=True, show=reason),
        ]
        if rows := [*incidents(material.evidence), *_aside(material.evidence)]:
            yield tabulated(columns, rows, say("cost.incidents"), "trials.parquet")


def _aside(evidence: Evidence) -> Iterator[Row]:
    """The failed trials that features asked for beside those that are judged."""
    for name, frame in evidence.frames.items():
        for row in (
            rows_of(frame[frame["status"] == "failed"]) if {"id", "status", "reason"} <= {*frame} else ()
        ):
            yield row | {"variant": f"{row['variant']} {name}"}


def incidents(evidence: Evidence) -> list[dict[str, Any]]:
    """Trials that did not complete, and planned ones that have not run: variant, task, seed, status, reason, id."""
    facts, place = evidence.facts, ["variant", "task", "seed"]
    trials = evidence.trials.reindex(columns=[*place, "status", "reason", "id"])
    # Under a plan that adds seeds only where they are needed, one that a variant was not asked for is not missing.
    started = set(trials["seed"])
    planned = [
        (variant.name, task.name, seed)
        for variant in facts.variants
        for task in facts.tasks
        for seed in facts.seeds_of(variant.name, task.name)
        if seed in started
    ]
    found = pd.DataFrame(planned, columns=place).merge(trials, "left", place)
    found = found.fillna({"status": "missing", "reason": "", "id": ""})
    return rows_of(found[found["status"] != "completed"])


class Provenance(Section):
    """The last section."""

    place = 1400
    title = "How it was run"
    needs_trials = False
    inside = "command, commit, versions, machine, seeds and test data"

    def blocks(self, material: Material) -> Iterator[Block]:
        yield Terms(provenance(material.evidence))


CITED = re.compile(r" ?\[@[a-z0-9@; ]+\]")
"Papers, which only the methods of a paper cite."


def provenance(evidence: Evidence) -> list[tuple[str, str]]:
    """How the study was run, as pairs of a term and its description; what is not known is left out."""
    facts, known = evidence.facts, dict(evidence.facts.environment)
    commit, dirty = known.pop("commit", None), known.pop("dirty", None)
    versions = known.pop("versions", None) or {}
    statuses = evidence.trials["status"].value_counts().sort_index()
    pairs = {
        "Command": known.pop("command", None),
        "Commit": commit and say("cost.commit", commit, dirty),
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Machine": known.pop("machine", None),
        **{key.replace("_", " ").capitalize(): value for key, value in sorted(known.items())},
        "Differs from the study": "; ".join(facts.differs),
        "Design": facts.design.replace("_", " "),
    }
    if not evidence.only_measured:
        pools = dict.fromkeys(say(f"cost.{task.sampling.pool}") for task in facts.tasks)
        pairs |= {
            "Metric": say("cost.metric", facts.metric, say(f"cost.{facts.at}")),
            "Margin": say("cost.margin", facts.margin),
            "Seeds": say("cost.seeds", facts.seeds),
            "Trials": ", ".join(f"{n} {status}" for status, n in statuses.items()),
            "Test data": "; ".join(pools),
        }
    pairs |= {feature.name.capitalize(): CITED.sub("", feature.account(evidence)) for feature in features()}
    return [(term, text(value)) for term, value in pairs.items() if text(value)]
