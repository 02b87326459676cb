"""Tables that pandas has written by columns, as JSON: a list for each column, or names, rows and an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ablate.base.errors import Invalid
from ablate.base.once import put_once
from ablate.report.words import message
from ablate.runs.settings import is_seed


def columns_of(document: Mapping[str, object], baseline: str) -> dict[str, list[object]]:
    """Returns column → cells of a document that pandas has written by columns; empty for any other document.

    Where the document has no list of names, some column must have the baseline as a cell.
    """
    columns: dict[str, list[object]] = {}
    names, rows = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        is_table = all(isinstance(row, list) and len(row) == len(names) for row in rows)
        if is_table:
            for at, name in enumerate(names):
                put_once(columns, str(name), [row[at] for row in rows])
            columns = {**_index_of(document.get("index"), len(rows)), **columns}
        return columns
    for name, cells in document.items():
        if isinstance(cells, dict):
            columns[name] = list(cells.values())
        elif isinstance(cells, list):
            columns[name] = cells
        else:
            return {}
    lengths = {len(cells) for cells in columns.values()}
    indices = {tuple(cells) for cells in document.values() if isinstance(cells, dict)}
    has_baseline = any(baseline in cells for cells in columns.values())
    if len(lengths) > 1 or len(indices) > 1 or not has_baseline:
        return {}
    _refuse_square(columns)
    return columns


def _refuse_square(columns: Mapping[str, Sequence[object]]) -> None:
    """Raises `Invalid` for a square array beside seeds, whose lists may be one a variant, or one a seed."""
    for name, cells in columns.items():
        lengths = {len(cell) if isinstance(cell, list) else 0 for cell in cells}
        seeds = [other for other in columns if is_seed(other) and _are_distinct(columns[other], len(cells))]
        if lengths == {len(cells)} and seeds:
            rule = f"has a square array {name!r}, and does not say whether {seeds[0]} number its rows or its columns"
            hint = 'Write a list for each variant: {"base": {"seeds": [0, 1], "acc": [0.7, 0.8]}, "wide": …}'
            raise Invalid("RUNS", rule, f"{len(cells)} × {len(cells)}", hint=hint)


def _are_distinct(cells: Sequence[object], size: int) -> bool:
    """Returns whether the cells are `size` plain values, no two of which are alike."""
    are_plain = not any(isinstance(cell, list | dict) for cell in cells)
    return are_plain and len({*map(str, cells)}) == len(cells) == size


def _index_of(index: object, num_rows: int) -> dict[str, list[object]]:
    """Returns level → its cells, named as pandas names it; empty for an index that only numbers the rows."""
    if not isinstance(index, list) or len(index) != num_rows or index == [*range(num_rows)]:
        return {}
    levels = {len(label) if isinstance(label, list) else 0 for label in index}
    if levels == {0}:
        return {"index": index}
    if len(levels) > 1:
        return {}
    return {f"level_{level}": [label[level] for label in index] for level in range(levels.pop())}


def _texts(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def notes_on_index(document: Mapping[str, object], columns: Mapping[str, Sequence[object]]) -> list[str]:
    """Returns notes on levels of an index whose numbers repeat, where no column is called seed.

    columns: those of the document, which has its names in a list where it has an index.
    """
    if "data" not in document or any(is_seed(name) for name in columns):
        return []
    no_levels = _texts(document.get("columns"))
    numbering = []
    for name in [name for name in columns if name not in no_levels]:
        cells = columns[name]
        if all(isinstance(cell, int) for cell in cells) and len({*map(str, cells)}) < len(cells):
            numbering.append(name)
    return [message("analyse.index_of_runs", name) for name in numbering]


def rows_of(columns: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Returns a record for each row of the columns."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
