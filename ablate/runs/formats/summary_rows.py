"""Rows that summarise other rows of a table, and are no runs: means, deviations, totals, DVC's workspace.

A row is one where its format says so, where a word stands among the numbers of seeds, or where a word names a
statistic and the numbers of the row are that statistic of the rows of its group: a variant that is called `mean` stays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from ablate.report.words import message
from ablate.runs.cells import is_number
from ablate.runs.formats.tables import ReadTable
from ablate.runs.settings import is_fold, is_index, is_seed
from ablate.runs.summary_words import (
    MEAN,
    Agreement,
    WrittenNumber,
    agreement_with,
    chance_of_mean,
    is_summary_label,
    names_a_spread,
    statistic_word,
    word_at_end,
)

Candidates = Mapping[str, tuple[str, str]]
"""Text of a cell → the text that the rows of its group have there, empty for any other, and the word of a statistic."""
_RUN_TYPE, _AGGREGATE = "run_type", "aggregate"
"""The column and the value by which google-benchmark says that a row is no run."""
_WORKSPACE = "workspace"
_NUMBER_AT_END = re.compile(
    r"[\s_/.:|,(\[-]+(?:seed|run|rep|fold|trial|s|r)?[\s_=-]*\d+[)\]]?$", re.IGNORECASE
)
_NO_SEED = re.compile(r"-1(?:\.0)?|99+(?:\.0)?")
"""The numbers that stand for a summary where others number seeds; each may be a seed, too."""
_CHANCE = 0.05
"""The probability of as many means by chance, below which a number like these is no seed."""
_FEWEST_OF_A_MEAN = 2
_COLUMN = "column"
"""The name of what holds the names of columns, where a table is turned."""
_OF_DVC = ("experiment", "rev")
_ABOUT_DVC = (*_OF_DVC, "typ", "created", "parent", "state", "executor")
"""The columns, in small letters, with which DVC says what a row is."""


def without_summaries(read: ReadTable) -> ReadTable:
    """Returns a table without rows that summarise others, or repeat one, and names them in a note."""
    table = read.table
    left_out: dict[int, str] = {}
    table = table.reset_index(drop=True)
    left_out |= _by_format(table)
    for name in sorted(table, key=lambda name: not _is_index(str(name))):
        rest = table.drop(index=[*left_out])
        if rest.empty:
            break
        found = _among_numbers(rest[name]) if _is_index(str(name)) else {}
        found = found or (_by_odd_number(rest, str(name)) if _is_index(str(name)) else {})
        left_out |= found or _by_arithmetic(rest, str(name))
    if not left_out:
        return read
    names = [*dict.fromkeys(left_out[place] for place in sorted(left_out))]
    note = message("analyse.summary_rows", len(left_out), names)
    kept = [place for place in range(len(table)) if place not in left_out]
    return replace(read, table=read.table.iloc[kept], notes=[*read.notes, note])


def _is_index(name: str) -> bool:
    """Returns whether the name of a column says that it numbers runs: seeds, folds, repeats."""
    return is_seed(name) or is_fold(name) or is_index(name)


def _by_format(table: pd.DataFrame) -> dict[int, str]:
    """Returns place → name of the rows that their format says are no runs."""
    found: dict[int, str] = {}
    by_name = {str(name).lower(): name for name in table}
    if _RUN_TYPE in by_name:
        is_aggregate = table[by_name[_RUN_TYPE]] == _AGGREGATE
        label = by_name.get("name", by_name[_RUN_TYPE])
        found |= table.loc[is_aggregate, label].to_dict()
    is_workspace = pd.Series(False, table.index)
    for column in _OF_DVC:
        if column in by_name:
            is_workspace |= table[by_name[column]] == _WORKSPACE
    if is_workspace.any():
        results = table[[name for lower, name in by_name.items() if lower not in _ABOUT_DVC]]
        rows = results.agg(tuple, axis=1)
        repeats = is_workspace & rows.isin(rows[~is_workspace])
        found |= dict.fromkeys(table.index[repeats], _WORKSPACE)
    return found


def _among_numbers(cells: pd.Series) -> dict[int, str]:
    """Returns place → name of the rows that have a word for a statistic where all others have the number of a run."""
    words = cells[is_summary_label(cells)]
    return {place: f"{cells.name} {text}" for place, text in words.items()}


def _by_odd_number(table: pd.DataFrame, column: str) -> dict[int, str]:
    """Returns place → name of the rows that have -1, 99 or 999 for a seed and the means of the other rows' numbers.

    There are such rows only where all rows with that number are such means, and chance does not explain it.
    """
    found: dict[int, str] = {}
    for label in table[column].unique():
        if _NO_SEED.fullmatch(label.strip()) is None:
            continue
        rows = table[table[column] == label]
        runs = table[table[column] != label]
        chances = [_chance_of_mean(rows.loc[place], runs, column) for place in rows.index]
        if chances and math.prod(chances) < _CHANCE:
            found |= dict.fromkeys(rows.index, f"{column} {label}")
    return found


def _chance_of_mean(row: pd.Series, runs: pd.DataFrame, column: str) -> float:
    """Returns how likely the numbers of a run would lie as near to the means of its group as those of a row do.

    Of several numbers the least likely counts alone, since the metrics of a run depend on one another. `inf`, so that
    no product is small, where a number is no such mean, or the group has one row.
    """
    answer, group = _agreement(row, runs, column, MEAN)
    if answer == "is not" or len(group) < _FEWEST_OF_A_MEAN:
        return math.inf
    return min((chance_of_mean(group[name], row[name]) for name in group if name != column), default=1.0)


def _by_arithmetic(table: pd.DataFrame, column: str) -> dict[int, str]:
    """Returns place → name of the rows whose numbers are those of the statistic that a column names."""
    candidates = _candidates(table[column])
    if not candidates:
        return {}
    places: dict[str, list[int]] = {}
    for place, text in table[column].items():
        if text in candidates:
            places.setdefault(candidates[text][1], []).append(place)
    runs = table[~table[column].isin([*candidates])]
    confirmed = {
        word for word, rows in places.items() if _are_summaries(table.loc[rows], runs, column, candidates)
    }
    if confirmed:
        confirmed |= {word for word in places if names_a_spread(word)}
    found: dict[int, str] = {}
    for word in confirmed:
        found |= {place: table.loc[place, column] for place in places[word]}
    return found


def _candidates(cells: pd.Series) -> Candidates:
    """Returns the texts of a column that name a statistic, of all others or of those with another text."""
    texts = [text for text in cells.unique() if text and not is_number(text)]
    found: dict[str, tuple[str, str]] = {}
    for text in texts:
        word, parts = statistic_word(text), word_at_end(text)
        if word:
            found[text] = ("", word)
        elif parts is not None and any(parts[0] in (other, _without_number(other)) for other in texts):
            found[text] = parts
    return found


def _without_number(text: str) -> str:
    """Returns the name of a run without its number, as `base` of `base-3` and `base_s3`."""
    return _NUMBER_AT_END.sub("", text)


def _are_summaries(rows: pd.DataFrame, runs: pd.DataFrame, column: str, candidates: Candidates) -> bool:
    """Returns whether all rows with one word may be what it says of their groups, and one of them surely is."""
    is_sure = False
    for place in rows.index:
        row = rows.loc[place]
        of_label, word = candidates[row[column]]
        is_of_label = (runs[column] == of_label) | (runs[column].map(_without_number) == of_label)
        group = runs[is_of_label] if of_label else runs
        match _agreement(row, group, column, word)[0]:
            case "is not":
                return False
            case "is":
                is_sure = True
            case "may be":
                pass
    return is_sure


def _agreement(row: pd.Series, group: pd.DataFrame, column: str, word: str) -> tuple[Agreement, pd.DataFrame]:
    """Returns whether all numbers of a row are a statistic of those of its group, and the rows of that group.

    Its group has the same texts, where others have them too, and the same numbers where they are no such statistic.
    """
    numbers: dict[str, WrittenNumber] = {}
    for name, text in row.items():
        if name == column or text == "":
            continue
        number = WrittenNumber.of(text)
        if number is not None:
            numbers[str(name)] = number
        elif (group[name] == text).any():
            group = group[group[name] == text]
    while True:
        answers = {name: _of_column(number, group[name], word) for name, number in numbers.items()}
        if "is not" not in answers.values():
            break
        varying = [name for name, answer in answers.items() if answer != "is" and group[name].nunique() > 1]
        shared = [name for name in varying if _is_number(group[name], numbers[name].value).any()]
        if not shared:
            return "is not", group
        # A setting has fewer values than what was measured.
        setting = min(shared, key=lambda name: group[name].nunique())
        group = group[_is_number(group[setting], numbers.pop(setting).value)]
    return ("is" if "is" in answers.values() else "may be"), group


def summary_columns(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Returns those of some columns of numbers that are a statistic of the others in each row, by name and numbers."""
    words = {name: statistic_word(name) for name in columns if statistic_word(name)}
    others = [name for name in columns if name not in words]
    if not words or not others:
        return []
    turned = table[[*others, *words]].T.reset_index(names=_COLUMN)
    return [*_by_arithmetic(turned.set_axis(turned.columns.map(str), axis=1), _COLUMN).values()]


def _of_column(number: WrittenNumber, cells: pd.Series, word: str) -> Agreement:
    """Returns whether a number is a statistic of the numbers of a column, or how many there are."""
    written: Sequence[WrittenNumber | None] = [WrittenNumber.of(text) for text in cells]
    values = [each for each in written if each is not None]
    if not values:
        return "may be"
    found = agreement_with(word, values, number)
    return "may be" if found == "is not" and number.value == len(cells) > 1 else found


def _is_number(cells: pd.Series, value: float) -> pd.Series:
    """Returns whether each cell is one number."""
    written = {text: WrittenNumber.of(text) for text in cells.unique()}
    equal = [text for text, number in written.items() if number is not None and number.value == value]
    return cells.isin(equal)
