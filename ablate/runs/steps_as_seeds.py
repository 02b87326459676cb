"""Columns that are named as seeds and hold the steps of runs: one run, counted as many."""

from __future__ import annotations

import itertools
import re

import pandas as pd

from ablate.base.errors import Invalid
from ablate.runs.roles import RunColumns
from ablate.runs.settings import is_seed

_STEPS = {"epoch", "epochs", "step", "steps", "checkpoint", "ckpt"}
"""Words in the names of columns that number steps, whatever they hold."""
_PERHAPS_STEPS = {"iteration", "iterations", "iter", "iters"}
"""Words in the names of columns that number steps, or else repetitions."""
_RUN_IDS = {"run_id", "run_uuid", "uuid", "trial_id"}
"""Names of columns that tell runs apart, in small letters."""
_STEP_IN_PATTERN = re.compile(r"(?:epoch|step|iter|iteration|checkpoint|ckpt)s?[^a-zA-Z()]*\(", re.IGNORECASE)
"""A pattern of `--seed` whose number follows the name of a step."""


def refuse_steps_as_seeds(columns: RunColumns) -> None:
    """Raises `Invalid` where what is named as the seed is a step: its values are steps of the same runs."""
    pattern = columns.options.seed
    if pattern and pattern not in columns.table and _STEP_IN_PATTERN.search(pattern):
        raise _refusal("--seed", pattern)
    for name in columns.roles.get("seed", ()):
        if not is_seed(name) and (_names_steps(name) or _differs_within_runs(columns, name)):
            raise _refusal("--column seed", name)


def _names_steps(name: str) -> bool:
    """Returns whether the name of a column says that it numbers steps."""
    words = _words_of(name)
    return bool(words & _STEPS) or {"training", "iteration"} <= words


def _words_of(name: str) -> set[str]:
    return {*re.split(r"[^a-z]+", name.lower())}


def _differs_within_runs(columns: RunColumns, name: str) -> bool:
    """Returns whether a column has several values within one run: by its id, or by the seed that another column has."""
    table = columns.table
    taken = {*itertools.chain(*columns.roles.values())}
    ids = [str(column) for column in table if str(column).lower() in _RUN_IDS]
    if _words_of(name) & _PERHAPS_STEPS:
        ids += [str(column) for column in table if is_seed(str(column)) and column not in taken]
    place = [column for role in ("variant", "task") for column in columns.roles.get(role, ())]
    return any(_has_several(table, [*dict.fromkeys([*place, run])], name) for run in ids)


def _has_several(table: pd.DataFrame, run: list[str], name: str) -> bool:
    return bool((table.groupby(run, sort=False)[name].nunique() > 1).any())


def _refusal(place: str, given: str) -> Invalid:
    """Returns the error for a seed that is a step."""
    return Invalid(
        place,
        "numbers the steps of runs: rows of one run are not replicates",
        given,
        hint="Name the column that tells runs of one variant apart, or leave it out; --at says which step counts",
    )
