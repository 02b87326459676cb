"""How differently variants were treated, in words: a mark a row, and sizes beside those of the baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ablate.base.wording import times
from ablate.core.facts import StudyFacts, VariantFacts
from ablate.core.treatment import Treatment
from ablate.report.words import NOTHING, Column, Row, Table, message, text

TREATMENT = "treatment"


def treatment_mark(row: Row) -> str:
    """Returns how differently the sides of a row were treated; nothing where they were treated alike."""
    found = Treatment.parse(text(row.get(TREATMENT)))
    if found is None:
        return ""
    return message(f"treatment.{found.kind}", found.path, found.variant, found.baseline)


def treatment_in_caption(rows: Sequence[Row], facts: StudyFacts) -> str:
    """Returns the end of a caption: the mark that all rows share, where they do."""
    if not are_treated_alike(rows, facts):
        return ""
    judged = without_placebos(rows, facts)
    return message("treatment.all", treatment_mark(judged[0]), len(judged) < len(rows))


def treatment_column(*, shown: bool = True) -> Column:
    """Returns the column of marks, which stand below their rows; shown: whether the caption leaves them to the rows."""
    return Column(TREATMENT, "Treatment", below=True, show=lambda row: treatment_mark(row) if shown else "")


def are_treated_alike(rows: Sequence[Row], facts: StudyFacts) -> bool:
    """Returns whether several rows share one mark, all but the placebos, so that it is said once."""
    judged = without_placebos(rows, facts)
    marks = {treatment_mark(row) for row in judged}
    return len(judged) > 1 and len(marks) == 1 and "" not in marks


def without_placebos(rows: Sequence[Row], facts: StudyFacts) -> list[Row]:
    """Returns the rows of variants that differ from the baseline."""
    placebos = {variant.name for variant in facts.variants if variant.placebo}
    return [row for row in rows if row["variant"] not in placebos]


def marks_of(table: Table) -> list[str]:
    """Returns `wide: steps 900 against 300 …` of each row of a table that has a mark."""
    name = table.columns[0].key
    return [f"{row[name]}: {row[TREATMENT]}" for row in table.rows if row.get(TREATMENT)]


def size_columns(rows: Sequence[Row], facts: StudyFacts) -> list[Column]:
    """Returns parameters, and FLOPs of the whole training, as factors of the other side's; none where all agree."""
    variants = {variant.name: variant for variant in facts.variants}
    columns: list[Column] = []
    for key, heading, size in (("parameters", "Parameters", _parameters), ("compute", "FLOPs", _compute)):

        def show(row: Row, size: Callable[[VariantFacts, str], float | None] = size) -> str:
            sides = [variants.get(text(row[side])) for side in ("variant", "baseline")]
            return _ratio(*sides, task=text(row["task"]), size=size)

        cells = {show(row) for row in rows}
        if cells - {NOTHING, times(1.0)}:
            columns.append(Column(key, heading, numeric=True, show=show))
    return columns


def _ratio(
    variant: VariantFacts | None,
    baseline: VariantFacts | None,
    *,
    task: str,
    size: Callable[[VariantFacts, str], float | None],
) -> str:
    if variant is None or baseline is None:
        return NOTHING
    of_variant = size(variant, task)
    of_baseline = size(baseline, task)
    return NOTHING if of_variant is None or not of_baseline else times(of_variant / of_baseline)


def _parameters(variant: VariantFacts, task: str) -> float | None:
    return variant.parameters.get(task)


def _compute(variant: VariantFacts, task: str) -> float | None:
    return variant.compute(task)
