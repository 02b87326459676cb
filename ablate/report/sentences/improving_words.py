"""Words for sides that were still improving when training ended: beside verdicts, in captions and as a limitation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ablate.core.facts import Claim, StudyFacts
from ablate.core.improving_side import ImprovingSide
from ablate.core.rows import list_in
from ablate.report.words import Column, Row, message, text

IMPROVING = "improving"


def improving_column(rows: Sequence[Row], facts: StudyFacts, names: Mapping[str, str]) -> Column:
    """Returns the column of the sides that were still improving, blank where it is said once of all rows.

    rows: those of the table. names: variant → its name for readers.
    """

    def show(row: Row) -> str:
        sides = _sides_of(row)
        if not sides:
            return ""
        if _are_all_improving(row, facts) and len(_variants_of(row, facts)) == 2:
            return message("treatment.both_improving")
        if len(_tasks_of(row, facts)) == 1:
            sides = [replace(side, task="") for side in sides]
        return message("treatment.improving", variants_with_tasks(sides, facts, {**names, **_roles_of(row)}))

    if all_improving(rows, facts):
        return Column(IMPROVING, "Improving", show=lambda row: "")
    are_long = any(len(show(row)) > len(message("treatment.both_improving")) for row in rows)
    return Column(IMPROVING, "Improving", words=are_long, show=show, spare=True)


def _roles_of(row: Row) -> dict[str, str]:
    """Returns variant → its word in a row that compares it, or is its baseline; a claim names its variants itself."""
    if row.get("claim"):
        return {}
    return {
        text(row.get("variant")): message("treatment.variant_side"),
        text(row.get("baseline")): message("treatment.baseline_side"),
    }


def improving_in_caption(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the end of a caption where `all_improving` holds, else ""."""
    return message("treatment.all_improving") if all_improving(rows, facts) else ""


def all_improving(rows: Sequence[Row], facts: StudyFacts) -> bool:
    """Returns whether every side of all rows was still improving, so that it is said once; False for a single row."""
    return len(rows) > 1 and all(_are_all_improving(row, facts) for row in rows)


def _are_all_improving(row: Row, facts: StudyFacts) -> bool:
    """Returns whether every side of a row was still improving, on each task of the row."""
    sides: set[ImprovingSide] = set()
    for task in _tasks_of(row, facts):
        sides |= {ImprovingSide(variant, task) for variant in _variants_of(row, facts)}
    return sides <= {*_sides_of(row)}


def _tasks_of(row: Row, facts: StudyFacts) -> Sequence[str]:
    """Returns the names of the tasks that a row is about; the `task` of a claim is the one that decides it."""
    tasks = [task.name for task in facts.tasks]
    claim = _claim_of(row, facts)
    if claim is None:
        task = text(row["task"])
        return [task] if task in tasks else tasks
    conditions = [claim.condition]
    if claim.less is not None:
        conditions.append(claim.less.condition)
    named = [condition for condition in conditions if condition]
    return [*dict.fromkeys(named)] or tasks


def _claim_of(row: Row, facts: StudyFacts) -> Claim | None:
    """Returns the claim of a row; None of a comparison."""
    for claim in facts.claims:
        if claim.text == row.get("claim"):
            return claim
    return None


def _variants_of(row: Row, facts: StudyFacts) -> Sequence[str]:
    """Returns the variants that a comparison or claim is about; of a main effect, every variant."""
    claim = _claim_of(row, facts)
    if claim is not None:
        return claim.variants
    variants = [variant.name for variant in facts.variants]
    pair = [text(row.get("variant")), text(row.get("baseline"))]
    return pair if {*pair} <= {*variants} else variants


def variants_with_tasks(
    sides: Iterable[ImprovingSide], facts: StudyFacts, names: Mapping[str, str]
) -> list[str]:
    """Returns the variants of sides, each with the tasks on which it was still improving: `GELU (wide, deep)`.

    A variant that was improving on every task of the study has no tasks behind its name, nor has one whose sides name
    no task, as where a row is about a single one. names: variant → its name for readers.
    """
    tasks_by_variant: dict[str, list[str]] = {}
    for side in sides:
        tasks_by_variant.setdefault(side.variant, []).append(side.task)
    words: list[str] = []
    for variant, tasks in tasks_by_variant.items():
        name = names.get(variant, variant)
        is_named = len(tasks) < len(facts.tasks) and tasks != [""]
        words.append(f"{name} ({', '.join(tasks)})" if is_named else name)
    return words


def _sides_of(row: Row) -> list[ImprovingSide]:
    """Returns the sides of a row that were still improving."""
    return list_in(text(row.get(IMPROVING)), ImprovingSide)
