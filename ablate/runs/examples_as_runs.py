"""Columns that number the examples of a test set: rows of two models on one example are no runs of either."""

from __future__ import annotations

import itertools
import shlex

import pandas as pd

from ablate.base.errors import Invalid
from ablate.runs.roles import RunColumns, joined_column
from ablate.runs.settings import has_id, is_index, is_remark, is_seed

_FEWEST_TEXTS = 8
"""The fewest names of a variant that may be of examples: fewer may be of machines or folds."""
_FEWEST_NUMBERS = 30
"""The fewest numbers of a variant that may be of examples: fewer may number its runs."""
_SHARED = 0.5
"""The least share of a variant's names that other variants have too, if they are of examples."""


def refuse_examples_as_runs(columns: RunColumns) -> None:
    """Raises `Invalid` where a column looks like ids of examples: all variants share them, and no ids of runs.

    No column does where the call or the names of columns say what seeds, examples or steps are, or with `--replicates`.
    """
    roles, options = columns.roles, columns.options
    if options.replicates or not {"seed", "example", "step"}.isdisjoint(roles):
        return
    table = columns.table
    taken = {*itertools.chain(*roles.values()), *options.metrics()}
    variants = joined_column(table, roles["variant"])
    for name in table:
        if name not in taken and _may_name_examples(str(name)) and _are_shared(table[name], variants):
            column = shlex.quote(str(name))
            raise Invalid(
                "RUNS",
                f"has the same {name} under several variants, so that rows may be examples of one run",
                [*table[name].unique()[:3]],
                hint=f"Say what it is: --column example {column}, or --seed {column} where it numbers runs that are "
                "pairs; --replicates states that rows are runs, which nothing pairs",
            )


def _may_name_examples(name: str) -> bool:
    """Returns whether a column may name examples: one with an id may, another remark and a seed may not."""
    return not is_seed(name) and (has_id(name) or is_index(name) or not is_remark(name))


def _are_shared(names: pd.Series, variants: pd.Series) -> bool:
    """Returns whether at least `_SHARED` of the names of each variant occur in other variants too.

    Not where some are blank, twice in a variant, too few, or measured numbers.
    """
    names = names.astype(str)
    pairs = pd.DataFrame({"variant": variants, "name": names})
    if (names == "").any() or pairs.duplicated().any():
        return False
    are_numbers = bool(pd.to_numeric(names, errors="coerce").notna().all())
    are_measured = are_numbers and not names.str.fullmatch(r"\d+").all()
    fewest = pairs.groupby("variant").size().min()
    if are_measured or fewest < (_FEWEST_NUMBERS if are_numbers else _FEWEST_TEXTS):
        return False
    num_variants = names.map(names.value_counts())
    return bool((num_variants > 1).groupby(variants).mean().min() >= _SHARED)
