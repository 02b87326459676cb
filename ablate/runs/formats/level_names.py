"""Names under which values of a document stand: those of seeds, steps, folds, parts of the data, and of levels."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ablate.base.once import put_once
from ablate.core.data_parts import RANKS
from ablate.runs.summary_words import ERRORS, MEANS, SPREADS, statistic_word

SEED = re.compile(r"(?:(?:seed|s|run|rep|trial)[ _=-]?)?(\d+)", re.IGNORECASE)
"""A name of a seed: `0`, `seed 0`, `run_0`."""
STEP, FOLD, _SPLIT, _CHECKPOINT = "step", "fold", "split", "checkpoint"
_NUMBERED = {
    STEP: re.compile(r"(?:step|epoch|iter|iteration|update|checkpoint|ckpt)[ _=-]?(\d+)", re.IGNORECASE),
    FOLD: re.compile(r"(?:fold|split|cv)[ _=-]?(\d+)", re.IGNORECASE),
}
"""Column → a name that has its number."""
_OF_NUMBERS = {
    STEP: ("steps", "epochs", "iters", "iterations", "updates", "checkpoints", "ckpts"),
    FOLD: ("folds", "splits", "cv"),
}
"""Column → the names, in small letters, under which its numbers stand."""
_CHECKPOINTS = ("best", "last", "final")
LEVEL = "level "
"""What the names of levels that are neither variants, seeds nor metrics begin with."""
Keys = tuple[tuple[str, str], ...]
"""Column → value, of the names under which a record stands."""


def seeds_in(values: object) -> dict[str, object]:
    """Returns seed → value, of an object whose names are all those of seeds; else nothing.

    Raises `TwiceError` for one seed under two names, as `s0` and `seed_0` are.
    """
    if not isinstance(values, dict) or not are_seeds(values):
        return {}
    of_seeds: dict[str, object] = {}
    for name, value in values.items():
        match = SEED.fullmatch(name)
        put_once(of_seeds, match[1] if match else name, value, said=name)
    return of_seeds


def are_seeds(values: object) -> bool:
    """Returns whether a value is an object whose names are all those of seeds."""
    return isinstance(values, dict) and len(values) > 0 and all(SEED.fullmatch(name) for name in values)


def are_statistics(values: Mapping[str, object]) -> bool:
    """Returns whether the names of an object are all those of statistics: a mean, or a spread, with others beside."""
    words = [statistic_word(name) for name in values]
    has_telling = any(word in (*MEANS, *SPREADS, *ERRORS, "median", "min", "max") for word in words)
    return len(words) > 1 and all(words) and has_telling


def numbers_of_names(values: Mapping[str, object], keys: Keys) -> tuple[str, dict[str, str]] | None:
    """Returns `step` or `fold`, and number → name, where the names of an object number steps or folds; else None.

    `best`, `last` and `final` may stand beside several numbers, and are left out. Raises `TwiceError`.
    """
    column_above, above = keys[-1] if keys else ("", "")
    for column, pattern in _NUMBERED.items():
        has_own_name = column_above.startswith(LEVEL) and above.lower() in _OF_NUMBERS[column]
        numbers: dict[str, str] = {}
        for name in values:
            match = pattern.fullmatch(name)
            number = match[1] if match else name
            if match or (has_own_name and name.isdecimal()):
                put_once(numbers, number, name, said=name)
        others = {name.lower() for name in values if name not in numbers.values()}
        if numbers and (not others or (len(numbers) > 1 and others <= {*_CHECKPOINTS})):
            return column, numbers
    return None


def column_of_words(values: Mapping[str, object]) -> str:
    """Returns the column of names of parts of data, or of the best and the last checkpoint; empty for other names."""
    names = {name.lower() for name in values}
    for column, words in ((_SPLIT, RANKS), (_CHECKPOINT, _CHECKPOINTS)):
        if len(names) > 1 and names <= {*words}:
            return column
    return ""


def names_of_tasks(records: Collection[Keys]) -> dict[str, str]:
    """Returns level → its column: `task`, then `task_2`; an empty name of a column where all records have one name."""
    values: dict[str, set[str]] = {}
    for keys in records:
        for column, name in keys:
            if column.startswith(LEVEL):
                values.setdefault(column, set()).add(name)
    columns = dict.fromkeys(values, "")
    varying = [level for level, names in values.items() if len(names) > 1]
    for number, level in enumerate(varying, start=1):
        columns[level] = "task" if number == 1 else f"task_{number}"
    return columns


def singular(name: str) -> str:
    """Returns the last part of a dotted name, in lower case and without the s of a plural."""
    return name.lower().rpartition(".")[2].removesuffix("s")
