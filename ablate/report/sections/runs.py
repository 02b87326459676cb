"""The runs of a study: what whoever ran it wrote, which have no result, what each variant cost, and how it was run."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pandas as pd

from ablate.base.wording import MINUS, percent
from ablate.core.facts import Evidence, StudyFacts, VariantFacts
from ablate.core.record import why
from ablate.core.short_names import by_design, in_short_names
from ablate.core.spelling import as_sentence, spelled
from ablate.records.store import whereabouts
from ablate.report.data_words import pool_words, split_words, stated_of, step_words
from ablate.report.methods import METHODS
from ablate.report.section import Block, Items, ReportData, Section, Terms, Text
from ablate.report.verdicts import names_of, variant_column
from ablate.report.words import Column, Row, Table, count, message, rows_of, tabulated, text


class Notes(
    Section, title="Notes", brief=True, needs_trials=False, inside="what whoever ran the study wrote about it"
):
    """What whoever ran the study wrote about it."""

    def blocks(self, report_data: ReportData) -> list[Block]:
        return prose(report_data.facts.notes)


SHORT = 0.75  # Of the longest line: what ends a paragraph.


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


class Incidents(
    Section,
    title="Runs without a result",
    inside="which failed, diverged or are missing, and why",
):
    """One row a trial."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        names = names_of(report_data.facts)

        def reason(row: Row) -> str:
            found = (
                message("cost.not_run") if row["status"] == "missing" else why(row["status"], row["reason"])
            )
            found = in_short_names(text(found), names)
            return (
                f"{found} ({whereabouts(row['id'], report_data.results)})".strip()
                if row["id"] and not report_data.facts.given
                else found
            )

        has_seeds = report_data.facts.has_seeds
        columns = [
            variant_column(names),
            Column("task", "Task"),
            Column("seed", "Seed", True) if has_seeds else Column("id", "Run"),
            Column("status", "What happened"),
            Column("reason", "Why", below=True, show=reason),
        ]
        rows = incidents(report_data.evidence)
        for name, frame in report_data.evidence.frames.items():
            # Trials that a feature asked for beside those that are judged.
            if {"id", "status", "reason"} <= {*frame}:
                failed = rows_of(frame[frame["status"] == "failed"])
                rows += [row | {"variant": f"{row['variant']} {name}"} for row in failed]
        if rows:
            yield tabulated(
                columns, rows, message("cost.incidents", report_data.facts.given), "trials.parquet"
            )


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
    planned += [(run.variant, run.task, run.seed) for run in facts.lost]
    found = pd.DataFrame(planned, columns=place).merge(trials, "left", place)
    found = found.fillna({"status": "missing", "reason": "", "id": ""})
    return rows_of(found[found["status"] != "completed"])


class Provenance(
    Section,
    title="How it was run",
    brief=True,
    needs_trials=False,
    inside="command, commit, versions, machine, seeds and test data",
):
    """The last section."""

    def inside_of(self, report_data: ReportData) -> str:
        """What is known of runs that only were read: what the file and the call say."""
        given = report_data.facts.given
        return message("cost.inside_of_given") if given else super().inside_of(report_data)

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        yield Terms(provenance(report_data.evidence))


CITED = re.compile(r" ?\[@[a-z0-9@; ]+\]")  # Papers, which only the methods of a paper cite.


def provenance(evidence: Evidence) -> list[tuple[str, str]]:
    """How the study was run, as pairs of a term and its description; what is not known is left out."""
    facts, known = evidence.facts, dict(evidence.facts.environment)
    commit, dirty = known.pop("commit", None), known.pop("dirty", None)
    ablate_commit = known.pop("ablate_commit", None)
    ablate_dirty = known.pop("ablate_dirty", None)
    versions = known.pop("versions", None) or {}
    pairs = {
        "Command": known.pop("command", None),
        "Commit": commit and message("cost.commit", commit, dirty),
        "Commit of ablate": ablate_commit and message("cost.commit", ablate_commit, ablate_dirty),
        _versions_term(facts): ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Machine": known.pop("machine", None),
        **{as_sentence(spelled(key)): value for key, value in sorted(known.items())},
        "Differs from the study": "; ".join(facts.differs),
        "Design": facts.design.replace("_", " "),
    }
    if not evidence.only_measured:
        statuses = evidence.trials["status"].value_counts().sort_index()
        pairs |= {
            "Metric": message("cost.metric", spelled(facts.metric), step_words(facts)),
            "Margin": message("cost.margin", facts.margin),
            "Seeds": message("cost.seeds", facts.seeds) if facts.has_seeds else None,
            "Runs" if facts.given else "Trials": message("cost.statuses", facts.given, [*statuses.items()]),
            "Test data": pool_words(facts),
            "Split": split_words(facts),
            "Training": message("cost.not_stated") if facts.given else None,
        }
    pairs |= {term: CITED.sub("", methods_of(evidence)) for term, methods_of in METHODS.items()}
    return [(term, text(value)) for term, value in pairs.items() if text(value)]


def _versions_term(facts: StudyFacts) -> str:
    """Returns what versions are of: code that is not ours may have run with others than ablate."""
    if facts.given:
        return "Analysed with"
    return "Versions" if stated_of(facts) is None else "Ablate ran with"


TOTALS = {
    "parameters": "Parameters",
    "flops": "FLOPs",
    "training_flops": "FLOPs with backward",
    "compute": "FLOPs of training",
}


class Compared(
    Section,
    title="What was compared",
    needs_trials=False,
    inside="parameters and FLOPs of every variant",
):
    """One row a variant."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        table = cost_table(report_data.facts)
        if len(table.columns) > 1:
            yield table


def cost_table(facts: StudyFacts) -> Table:
    """Parameters, in all and by part, and FLOPs of every variant, with their differences from the baseline.

    One row a variant and task, or a variant where its tasks cost the same.
    """
    tasks, first = [task.name for task in facts.tasks], facts.variants[0]
    every = [[costs(v, task) for v in facts.variants] for task in tasks]
    tasks = tasks[:1] if all(found == every[0] for found in every) else tasks
    shown = list(dict.fromkeys(cost for of_task in every for found in of_task for cost in found))
    if "compute" in shown and all(len({v.examples.get(task) for v in facts.variants}) == 1 for task in tasks):
        shown.remove("compute")  # which says nothing that FLOPs do not
    rows = [
        {"variant": v.name, "task": task, "changes": _changes(v)}
        | {
            cost: against(costs(v, task).get(cost), costs(first, task).get(cost), cost in TOTALS)
            for cost in shown
        }
        for v, task in product(facts.variants, tasks)
    ]
    columns = [
        variant_column(names_of(facts)),
        Column("task", "Task", varying=True),
        *(Column(cost, TOTALS.get(cost, as_sentence(spelled(cost))), True) for cost in shown),
        Column("changes", "Changes", below=True),
    ]
    return tabulated(columns, rows, message("cost.caption"), "trials.parquet")


def costs(variant: VariantFacts, task: str) -> dict[str, float]:
    """Those of a variant on a task that are known: in all, and parameters by part."""
    found = {
        "parameters": variant.parameters.get(task),
        "flops": variant.flops.get(task),
        "training_flops": variant.training_flops.get(task),
        "compute": variant.compute(task),
        **variant.parameters_by_part.get(task, {}),
    }
    return {name: value for name, value in found.items() if value is not None}


def against(value: float | None, base: float | None, relative: bool = False) -> str:
    """A count with its difference from the baseline's, if there is one: `9,280 (+1,088)`."""
    if value is None or not base or value == base:
        return count(value)
    change = value - base
    sign = "+" if change > 0 else MINUS
    return f"{value:,} ({percent(change / base) if relative else f'{sign}{abs(change):,}'})"


def _changes(variant: VariantFacts) -> str:
    """The changes that the name of a variant leaves out."""
    if variant.placebo:
        return message("cost.placebo", bool(variant.tuned))
    shown = {} if by_design(variant) else variant.changes
    return text(", ".join(f"{path}: {level}" for path, level in shown.items()))
