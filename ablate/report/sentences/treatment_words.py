"""Words for unequal treatment of variants: a mark in each row, and columns of relative sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from ablate.base.wording import times
from ablate.core.facts import StudyFacts, VariantFacts
from ablate.core.treatment import Treatment
from ablate.report.words import NOTHING, Column, Row, Table, message, text

TREATMENT = "treatment"
Size = Callable[[VariantFacts, str], float | None]
"""The size of a variant on a task."""


def treatment_mark(row: Row) -> str:
    """Returns the difference in treatment of the sides of a row, in words; "" where they were treated alike."""
    treatment = Treatment.parse(text(row.get(TREATMENT)))
    if treatment is None:
        return ""
    return treatment_in_words(treatment)


def treatment_in_words(treatment: Treatment) -> str:
    """Returns a difference in treatment in words."""
    path = treatment.path
    variant = treatment.variant
    baseline = treatment.baseline
    match treatment.kind:
        case "budget" if path == "examples":
            return message("treatment.examples", variant, baseline)
        case "steps" | "budget":
            return message("treatment.steps", path, variant, baseline)
        case "settings":
            return message("treatment.settings", int(variant), baseline)
        case "untuned":
            return message("treatment.tuned_alone" if variant else "treatment.not_tuned")
        case "rate":
            return message("treatment.rate", variant, baseline)
        case "edge":
            code = "treatment.edge" if variant else "treatment.edge_of_baseline"
            return message(code, path, variant or baseline)
        case "compute":
            return message("treatment.compute", float(variant) / float(baseline))
        case _:
            assert_never(treatment.kind)


def treatment_in_caption(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the end of a caption that states the mark that all rows share; "" where they share none."""
    if not are_treated_alike(rows, facts):
        return ""
    judged = without_placebos(rows, facts)
    code = "treatment.all_but_placebo" if len(judged) < len(rows) else "treatment.all"
    return message(code, treatment_mark(judged[0]))


def treatment_column(*, shown: bool = True) -> Column:
    """Returns the column of marks, each below its row.

    shown: false where the caption states the mark for all rows.
    """
    return Column(TREATMENT, "Treatment", below=True, show=lambda row: treatment_mark(row) if shown else "")


def are_treated_alike(rows: Sequence[Row], facts: StudyFacts) -> bool:
    """Returns whether all rows but placebos, two or more, share one mark, so that the caption says it once."""
    judged = without_placebos(rows, facts)
    marks = {treatment_mark(row) for row in judged}
    return len(judged) > 1 and len(marks) == 1 and "" not in marks


def without_placebos(rows: Sequence[Row], facts: StudyFacts) -> list[Row]:
    """Returns the rows of variants that differ from the baseline."""
    placebos = facts.placebos
    return [row for row in rows if row["variant"] not in placebos]


def marks_of(table: Table) -> list[str]:
    """Returns `wide: steps 900 against 300 …` for each row of a table that has a mark."""
    name = table.columns[0].key
    return [f"{row[name]}: {row[TREATMENT]}" for row in table.rows if row.get(TREATMENT)]


def size_column(rows: Sequence[Row], facts: StudyFacts) -> Column | None:
    """Returns the column of relative parameters and FLOPs of the whole training; None where all are the same.

    A size in which all rows are the same is left out of it.
    """
    variants = {variant.name: variant for variant in facts.variants}

    def ratio(row: Row, size: Size) -> str:
        sides = [variants.get(text(row[side])) for side in ("variant", "baseline")]
        return _ratio(*sides, task=text(row["task"]), size=size)

    shown: dict[str, Size] = {}
    for heading, size in (("Parameters", _parameters), ("FLOPs", _compute)):
        if {ratio(row, size) for row in rows} - {NOTHING, times(1.0)}:
            shown[heading] = size
    if not shown:
        return None

    def show(row: Row) -> str:
        ratios = [ratio(row, size) for size in shown.values()]
        return NOTHING if set(ratios) <= {NOTHING} else " · ".join(ratios)

    return Column("size", " · ".join(shown), numeric=True, show=show, spare=True)


def _ratio(
    variant: VariantFacts | None,
    baseline: VariantFacts | None,
    *,
    task: str,
    size: Size,
) -> str:
    """Returns the size of a variant relative to what it is compared with, in words."""
    if variant is None or baseline is None:
        return NOTHING
    of_variant = size(variant, task)
    of_baseline = size(baseline, task)
    return NOTHING if of_variant is None or not of_baseline else times(of_variant / of_baseline)


def _parameters(variant: VariantFacts, task: str) -> float | None:
    """Returns the trainable parameters of a variant on a task; None where they are not known."""
    return variant.parameters.get(task)


def _compute(variant: VariantFacts, task: str) -> float | None:
    """Returns the FLOPs of the whole training of a variant on a task; None where they are not known."""
    return variant.compute(task)
