"""Words for a comparison whose differences vary by less than the metric's step, which then decides in their place."""

from ablate.report.words import Column, Row, message, number


def resolution_column() -> Column:
    """Returns the column of the steps that count as a standard deviation, each below its row."""
    return Column("resolution", "Resolution", below=True, show=resolution_mark)


def resolution_mark(row: Row) -> str:
    """Returns the step that counts as the standard deviation of a row's differences, in words; "" where none does."""
    step = number(row.get("resolution"))
    return "" if step is None else message("verdicts.resolution", step)
