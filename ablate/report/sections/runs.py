"""The runs of a study: what its author wrote, which have no result, what each variant cost, and how it was run."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pandas as pd

from ablate.base.wording import MINUS, percent
from ablate.core.facts import Evidence, StudyFacts, VariantFacts
from ablate.core.record import why
from ablate.core.replication import Replication
from ablate.core.short_names import by_design, in_short_names
from ablate.core.spelling import as_sentence, spelled
from ablate.records.store import whereabouts
from ablate.report.section import Block, Items, ReportData, Section, Terms, Text
from ablate.report.sentences.data_words import pool_words, split_words, step_words
from ablate.report.sentences.methods import METHODS
from ablate.report.sentences.provenance_words import provenance_words
from ablate.report.sentences.replication_words import replication_words
from ablate.report.tables.verdicts import names_of, variant_column
from ablate.report.words import CONDITION_COLUMN, Column, Row, Table, count, message, rows_of, tabulated, text


class Notes(
    Section, title="Notes", brief=True, needs_trials=False, inside="what the author of the study wrote"
):
    """The notes of the study's author."""

    def blocks(self, report_data: ReportData) -> list[Block]:
        return prose(report_data.facts.notes)


SHORT = 0.75
"""The share of the longest line below which a line that ends a sentence ends its paragraph."""


def prose(words: str) -> list[Block]:
    """Returns words as paragraphs and lists: line breaks inside one are joined."""
    blocks: list[Block] = []
    for part in paragraphs(words):
        first, *items = re.split(r"(?:^|\n)\s*[-*•]\s+", part)
        if first.strip():
            blocks.append(Text(one_line(first)))
        if items:
            blocks.append(Items([one_line(item) for item in items]))
    return blocks


def paragraphs(words: str) -> list[str]:
    """Returns the paragraphs of a text, each with its line breaks and lists; none of an empty one.

    A blank line ends a paragraph, and so does a line that ends a sentence and is at most `SHORT` as long as the longest
    one, but for a line before an item of a list.
    """
    longest = max(map(len, words.splitlines()), default=0)
    parted = re.sub(rf"(?m)^(.{{0,{int(SHORT * longest)}}}[.!?])$(?!\n\s*[-*•]\s)", r"\1\n", words)
    return [part for part in re.split(r"\n\s*\n", parted.strip()) if part]


def one_line(words: str) -> str:
    """Returns words with their line breaks and repeated blanks as single blanks."""
    return " ".join(words.split())


class Incidents(
    Section,
    title="Runs without a result",
    inside="which failed, diverged or are missing, and why",
):
    """One row a trial."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        names = names_of(facts)

        def reason(row: Row) -> str:
            if facts.is_given:
                return text(row["reason"]).partition(": ")[2]
            is_missing = row["status"] == "missing"
            words = message("cost.not_run") if is_missing else why(row["status"], row["reason"])
            words = in_short_names(text(words), names)
            if not row["id"]:
                return words
            return f"{words} ({whereabouts(row['id'], report_data.results)})".strip()

        columns = [
            variant_column(names),
            Column("task", "Condition"),
            _number_column(facts.replication),
            Column("status", "What happened", show=lambda row: _end_of(row, facts)),
            Column("reason", "Why", below=True, show=reason),
        ]
        rows = incidents(report_data.evidence) + _failed_companions(report_data.evidence)
        if rows:
            caption = message(replication_words(facts.replication).incidents)
            yield tabulated(columns, rows, caption, "trials.parquet")


def _number_column(replication: Replication) -> Column:
    """Returns the column that names a run: by its seed or fold, or by its id where its number says nothing."""
    if replication.has_numbers:
        return Column("seed", as_sentence(replication.run_name), True)
    return Column("id", "Run")


def _failed_companions(evidence: Evidence) -> list[dict[str, Any]]:
    """Returns the failed trials that a stage asked for beside those that are judged."""
    rows: list[dict[str, Any]] = []
    for name, frame in evidence.frames.items():
        if {"id", "status", "reason"} <= {*frame}:
            for row in rows_of(frame[frame["status"] == "failed"]):
                rows.append(row | {"variant": f"{row['variant']} {name}"})
    return rows


def incidents(evidence: Evidence) -> list[dict[str, Any]]:
    """Returns trials that did not complete, and planned ones that have not run.

    Columns: variant, task, seed, status, reason, id.
    """
    facts = evidence.facts
    if not facts.replication.has_runs:
        return []
    place = ["variant", "task", "seed"]
    trials = evidence.trials.reindex(columns=[*place, "status", "reason", "id"])
    # Under a plan that adds seeds only where they are needed, one that a variant was not asked for is not missing.
    started = set(trials["seed"])
    planned = []
    for variant, task in product(facts.variants, facts.tasks):
        seeds = facts.seeds_of(variant.name, task.name)
        planned += [(variant.name, task.name, seed) for seed in seeds if seed in started]
    planned += [(run.variant, run.task, run.seed) for run in facts.lost]
    runs = pd.DataFrame(planned, columns=place).merge(trials, "left", place)
    runs = runs.fillna({"status": "missing", "reason": "", "id": ""})
    return rows_of(runs[runs["status"] != "completed"])


class Provenance(
    Section,
    title="How it was run",
    brief=True,
    needs_trials=False,
    inside="command, commit, versions, machine, seeds and test data",
):
    """The last section."""

    def inside_of(self, report_data: ReportData) -> str:
        """Returns what is known of runs that only were read: what the file and the call say."""
        is_given = report_data.facts.is_given
        return message("cost.inside_of_given") if is_given else super().inside_of(report_data)

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        yield Terms(provenance(report_data.evidence))


CITED = re.compile(r" ?\[@[a-z0-9@; ]+\]")
"""Papers, which only the methods of a paper cite."""
MAX_SEEDS = 20
"""The seeds that are listed; of more only their number is said."""


def provenance(evidence: Evidence) -> list[tuple[str, str]]:
    """Returns how the study was run, as pairs of a term and its description; what is not known is left out."""
    facts = evidence.facts
    environment = dict(facts.environment)
    versions = environment.pop("versions", None) or {}
    pairs = {
        "Command": environment.pop("command", None),
        "Commit": _commit(environment.pop("commit", None), environment.pop("dirty", None)),
        "Commit of ablate": _commit(
            environment.pop("ablate_commit", None), environment.pop("ablate_dirty", None)
        ),
        provenance_words(facts).versions: ", ".join(
            f"{name} {version}" for name, version in versions.items()
        ),
        "Machine": environment.pop("machine", None),
    }
    for key, value in sorted(environment.items()):
        pairs[as_sentence(spelled(key))] = value
    pairs["Differs from the study"] = "; ".join(facts.plan.differs)
    if facts.plan.searched != "sweep":
        pairs["Design"] = facts.design.replace("_", " ")
    if not evidence.only_measured:
        pairs |= _judged_runs(evidence)
    for term, methods_of in METHODS.items():
        pairs[term] = CITED.sub("", methods_of(evidence))
    return [(term, text(value)) for term, value in pairs.items() if text(value)]


def _judged_runs(evidence: Evidence) -> dict[str, str]:
    """Returns what is judged, over which seeds, and on which data, as terms with their descriptions."""
    facts = evidence.facts
    pairs = {
        "Metric": message("cost.metric", spelled(facts.metric), step_words(facts)),
        "Margin": message("cost.no_margin") if facts.margin is None else message("cost.margin", facts.margin),
    }
    if facts.replication.has_numbers:
        listed = ", ".join(map(str, facts.seeds)) if len(facts.seeds) <= MAX_SEEDS else ""
        pairs[as_sentence(f"{facts.replication.run_name}s")] = message("cost.seeds", len(facts.seeds), listed)
    pairs[replication_words(facts.replication).statuses] = _statuses(evidence)
    pairs["Test data"] = pool_words(facts)
    pairs["Split"] = split_words(facts)
    if facts.is_given:
        pairs["Training"] = message("cost.not_stated")
    return pairs


def _statuses(evidence: Evidence) -> str:
    """Returns `40 completed, 2 diverged`, or of given runs `38 with a result, 4 crashed`."""
    with_result = message("cost.with_a_result")
    counts = Counter(_end_of(row, evidence.facts) for row in rows_of(evidence.trials))
    ends = sorted(counts, key=lambda end: (end != with_result, end))
    return ", ".join(f"{counts[end]} {end}" for end in ends)


def _end_of(row: Row, facts: StudyFacts) -> str:
    """Returns what happened to a run: of a given one how it ended, as `was killed`, else its status."""
    if not facts.is_given:
        return text(row["status"])
    if row["status"] == "completed":
        return message("cost.with_a_result")
    return text(row["reason"]).partition(":")[0] or text(row["status"])


def _commit(commit: str | None, dirty: bool | None) -> str:
    """Returns a commit with what is known of changes to its files; "" where it is not known."""
    if not commit:
        return ""
    return message("cost.changed_commit", commit) if dirty else commit


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
    inside="what each variant changes and costs",
):
    """One row a variant."""

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        table = cost_table(facts)
        has_costs = any(column.numeric for column in table.columns)
        if has_costs or any(_changes(variant) for variant in facts.variants if not variant.placebo):
            yield table


def cost_table(facts: StudyFacts) -> Table:
    """Returns parameters, in all and by part, and FLOPs of every variant, with their differences from the baseline.

    One row a variant and task, or a variant where its tasks cost the same.
    """
    tasks = [task.name for task in facts.tasks]
    costs_by_task = [[costs(variant, task) for variant in facts.variants] for task in tasks]
    if all(of_task == costs_by_task[0] for of_task in costs_by_task):
        tasks = tasks[:1]
    names = _shown_costs(facts, tasks)
    rows = []
    for variant, task in product(facts.variants, tasks):
        of_variant = costs(variant, task)
        of_baseline = costs(facts.variants[0], task)
        row = {"variant": variant.name, "task": task, "changes": _changes(variant)}
        for name in names:
            row[name] = against(of_variant.get(name), of_baseline.get(name), relative=name in TOTALS)
        rows.append(row)
    columns = [
        variant_column(names_of(facts)),
        CONDITION_COLUMN,
        *(Column(name, TOTALS.get(name, as_sentence(spelled(name))), True) for name in names),
        Column("changes", "Changes", below=True),
    ]
    caption = message("cost.caption" if names else "cost.changes_caption")
    return tabulated(columns, rows, caption, "trials.parquet")


def _shown_costs(facts: StudyFacts, tasks: Sequence[str]) -> list[str]:
    """Returns the costs that some variant has; without those of a whole training where FLOPs say the same."""
    names: dict[str, None] = {}
    for task in facts.tasks:
        for variant in facts.variants:
            names |= dict.fromkeys(costs(variant, task.name))
    if all(len({variant.examples.get(task) for variant in facts.variants}) == 1 for task in tasks):
        names.pop("compute", None)
    return list(names)


def costs(variant: VariantFacts, task: str) -> dict[str, float]:
    """Returns the costs of a variant on a task that are known: in all, and parameters by part."""
    values = {
        "parameters": variant.parameters.get(task),
        "flops": variant.flops.get(task),
        "training_flops": variant.training_flops.get(task),
        "compute": variant.compute(task),
        **variant.parameters_by_part.get(task, {}),
    }
    return {name: value for name, value in values.items() if value is not None}


def against(value: float | None, base: float | None, *, relative: bool = False) -> str:
    """Returns a count with its difference from the baseline's, if there is one: `9,280 (+1,088)`."""
    if value is None or not base or value == base:
        return count(value)
    change = value - base
    if relative:
        return f"{value:,} ({percent(change / base)})"
    sign = "+" if change > 0 else MINUS
    return f"{value:,} ({sign}{abs(change):,})"


def _changes(variant: VariantFacts) -> str:
    """Returns the changes that the name of a variant leaves out."""
    if variant.placebo:
        return message("cost.tuned_placebo" if variant.tuned else "cost.placebo")
    changes = {} if by_design(variant) else variant.changes
    return text(", ".join(f"{path}: {level}" for path, level in changes.items()))
