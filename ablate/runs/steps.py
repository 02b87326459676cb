"""The row of each run that counts, where a table has a row for each step: the last, the best, or one step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.base.errors import Invalid, listed, nearest
from ablate.core.directions import usual_direction
from ablate.core.metric import Direction
from ablate.report.words import message
from ablate.runs.cells import number_in

LAST = "last"
STEP = "step"
"""What the lengths of runs are counted in of which a format tells only the last step."""
ROW = "row"
"""The column that numbers the rows of a run, where they have no step."""
_AT = re.compile(r"last|(?P<kind>best|step)\s+(?P<what>\S.*)")


def rows_at(
    table: pd.DataFrame, run: Sequence[str], step: str, at: str, directions: Mapping[str, Direction]
) -> tuple[pd.DataFrame, str]:
    """Returns one row of each run, and the sentence that says which.

    - run: the columns that tell runs apart; step: the one that numbers the rows of a run.
    - at: `last`, `best METRIC` or `step N`. directions: those of the metrics that the call names.

    Raises `Invalid`.
    """
    match = _AT.fullmatch(at.strip())
    if match is None:
        raise Invalid("--at", "must be `last`, `best METRIC` or `step N`", at)
    steps = table[step].map(number_in)
    if steps.isna().any():
        place = steps.index[steps.isna()][0]
        raise Invalid(f"{place}: {step}", "must be the number of a step", table.loc[place, step])
    if match["kind"] == "step":
        return _rows_of_step(table, run, steps, match["what"])
    if match["kind"] == "best":
        return _best_rows(table, run, steps, match["what"], directions)
    order = np.argsort(steps.to_numpy(), kind="stable")
    return _first_of_each(table, run, order[::-1]), message("analyse.last_step", step)


def is_at_one_step(at: str) -> bool:
    """Returns whether all runs are compared at one step, however far they went."""
    match = _AT.fullmatch(at.strip())
    return match is not None and match["kind"] == "step"


def _first_of_each(table: pd.DataFrame, run: Sequence[str], order: NDArray[np.intp]) -> pd.DataFrame:
    """Returns the row of each run that comes first in an order of rows, as the table has them."""
    is_first = ~table.iloc[order].duplicated(list(run)).to_numpy()
    return table.iloc[sorted(order[is_first])]


def _rows_of_step(
    table: pd.DataFrame, run: Sequence[str], steps: pd.Series, asked: str
) -> tuple[pd.DataFrame, str]:
    """Returns the rows of one step. Raises `Invalid` where a run lacks it."""
    kept = table[steps == number_in(asked)]
    num_runs = len(table.drop_duplicates(list(run)))
    if len(kept.drop_duplicates(list(run))) < num_runs:
        steps_of_runs = table[[*run]].assign(_step=steps).drop_duplicates()["_step"]
        common = sorted(steps_of_runs[steps_of_runs.map(steps_of_runs.value_counts()) >= num_runs].unique())
        raise Invalid(
            "--at", "must be a step of every run", asked, listed(f"{each:g}" for each in common) or "none"
        )
    return kept, message("analyse.at_step", asked)


def _best_rows(
    table: pd.DataFrame,
    run: Sequence[str],
    steps: pd.Series,
    metric: str,
    directions: Mapping[str, Direction],
) -> tuple[pd.DataFrame, str]:
    """Returns the row of each run at which a metric is best, the earliest of several. Raises `Invalid`."""
    if metric not in table:
        raise Invalid(
            "--at", "names no column", metric, listed(table.columns), nearest(metric, table.columns)
        )
    direction = directions.get(metric) or usual_direction(metric)
    if direction is None:
        raise Invalid(
            "--at", f"does not say which {metric} is better", "", "--also METRIC max, --also METRIC min"
        )
    values = table[metric].map(number_in)
    worst = -np.inf if direction == "max" else np.inf
    goodness = values.fillna(worst).to_numpy() * (-1 if direction == "max" else 1)
    order = np.lexsort((steps.to_numpy(), goodness))
    return _first_of_each(table, run, order), message("analyse.best_step", metric)
