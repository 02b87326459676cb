"""The row of each run that counts, where a table has a row for each step: the last, the best, or one step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ablate.base.errors import Invalid, listed, nearest
from ablate.core.directions import usual_direction
from ablate.core.metric import Direction
from ablate.report.words import message
from ablate.runs.cells import number_in
from ablate.runs.histories import ROW, Steps
from ablate.runs.times import seconds_of

LAST = "last"
STEP = "step"
"""What the lengths of runs are counted in of which a format tells only the last step."""
_AT = re.compile(r"last|(?P<kind>best|step)\s+(?P<what>\S.*)")


@dataclass(frozen=True)
class ChosenRows:
    """One row of each run, and the sentences that say which."""

    table: pd.DataFrame
    notes: Sequence[str]


def rows_at(
    table: pd.DataFrame,
    steps: Steps,
    at: str,
    directions: Mapping[str, Direction],
    metrics: Sequence[str],
    has_result: pd.Series,
) -> ChosenRows:
    """Returns one row of each run, in which a metric has the value that was measured last until then.

    - at: `last`, `best METRIC` or `step N`. directions: those of the metrics that the call names.
    - metrics: the measured columns. has_result: whether the run of a row has come to its end, as far as is known.

    Raises `Invalid`.
    """
    match = _AT.fullmatch(at.strip())
    if match is None:
        raise Invalid("--at", "must be `last`, `best METRIC` or `step N`", at)
    numbers = _numbers_of(table, steps)
    if numbers.isna().any():
        place = numbers.index[numbers.isna()][0]
        raise Invalid(
            f"{place}: {steps.column}", "must be the number of a step", table.loc[place, steps.column]
        )
    if match["kind"] == "best":
        metrics = [*dict.fromkeys([*metrics, match["what"]])]
    history = _carried_forward(table, steps, numbers, metrics)
    if match["kind"] == "step":
        kept = _rows_of_step(history, steps, match["what"], has_result)
        sentence = message("analyse.at_step", match["what"])
    elif match["kind"] == "best":
        kept, sentence = _best_rows(history.table, steps, history.numbers, match["what"], directions)
    else:
        kept = _first_of_each(history.table, steps.run_columns, np.arange(len(history.table))[::-1])
        sentence = message("analyse.last_step", steps.column)
    notes = [sentence, *_carried_in_words(history, kept, steps, directions)]
    if len(history.table) < len(table):
        notes.append(message("analyse.steps_twice", len(table) - len(history.table), steps.column))
    places = table.index[table.index.isin(kept.index)]
    return ChosenRows(kept.loc[places], notes)


def _numbers_of(table: pd.DataFrame, steps: Steps) -> pd.Series:
    """Returns the step of each row: a number, a time in seconds, or the place of the row in its run."""
    if steps.are_times:
        return seconds_of(table[steps.column])
    if steps.column == ROW and ROW not in table:
        return table.groupby([*steps.run_columns], sort=False).cumcount().add(1).astype(float)
    return table[steps.column].map(number_in)


@dataclass(frozen=True)
class _History:
    """The rows of runs by their steps, each step of a run once."""

    table: pd.DataFrame
    numbers: pd.Series
    """The step of each row."""
    measured_at: pd.DataFrame
    """Metric → the step at which the value of each row was measured; NaN where none was until then."""


def _carried_forward(
    table: pd.DataFrame, steps: Steps, numbers: pd.Series, metrics: Sequence[str]
) -> _History:
    """Returns the rows in the order of their steps, in which a blank metric has the value before it of its run.

    Of several rows of one step the last counts, with the values of those before it that it does not have.
    """
    order = np.argsort(numbers.to_numpy(), kind="stable")
    ordered = table.iloc[order]
    of_rows = numbers.iloc[order]
    runs = ordered.groupby([*steps.run_columns], sort=False).ngroup()
    measured_at = pd.DataFrame(index=ordered.index)
    for name in metrics:
        if name not in ordered:
            continue
        is_blank = ordered[name] == ""
        values = ordered[name].mask(is_blank).groupby(runs).ffill()
        measured_at[name] = of_rows.mask(is_blank).groupby(runs).ffill()
        ordered = ordered.assign(**{name: values.fillna("")})
    is_last = ~pd.DataFrame({"run": runs, "step": of_rows}).duplicated(keep="last")
    return _History(ordered[is_last], of_rows[is_last], measured_at[is_last])


def _carried_in_words(
    history: _History, kept: pd.DataFrame, steps: Steps, directions: Mapping[str, Direction]
) -> Iterator[str]:
    """Yields a sentence on each metric of the call whose value was measured before the step that counts."""
    at = history.numbers.loc[kept.index]
    for name in directions:
        if name not in history.measured_at:
            continue
        measured_at = history.measured_at.loc[kept.index, name]
        earlier = measured_at[measured_at < at]
        if earlier.empty:
            continue
        runs = [f"{place} ({step:.15g})" for place, step in earlier.items()]
        yield message("analyse.measured_before", name, steps.column, len(kept), runs)


def is_at_one_step(at: str) -> bool:
    """Returns whether all runs are compared at one step, however far they went."""
    match = _AT.fullmatch(at.strip())
    return match is not None and match["kind"] == "step"


def _first_of_each(table: pd.DataFrame, run: Sequence[str], order: NDArray[np.intp]) -> pd.DataFrame:
    """Returns the row of each run that comes first in an order of rows, as the table has them."""
    is_first = ~table.iloc[order].duplicated(list(run)).to_numpy()
    return table.iloc[sorted(order[is_first])]


def _rows_of_step(history: _History, steps: Steps, asked: str, has_result: pd.Series) -> pd.DataFrame:
    """Returns the rows of one step, and without values those of runs that did not get there, as their status says.

    Raises `Invalid` where another run lacks the step.
    """
    run = [*steps.run_columns]
    table, numbers = history.table, history.numbers
    kept = table[numbers == number_in(asked)]
    last = table[~table.duplicated(run, keep="last")]
    lacking = last[~last[run].agg(tuple, axis=1).isin(kept[run].agg(tuple, axis=1))]
    if has_result[lacking.index].any():
        counts = numbers.map(numbers.value_counts())
        common = sorted(numbers[counts >= len(last)].unique())
        raise Invalid(
            "--at", "must be a step of every run", asked, listed(f"{each:g}" for each in common) or "none"
        )
    blank = dict.fromkeys(history.measured_at, "")
    return pd.concat([kept, lacking.assign(**blank)])


def _best_rows(
    table: pd.DataFrame,
    steps: Steps,
    numbers: pd.Series,
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
    order = np.lexsort((numbers.to_numpy(), goodness))
    return _first_of_each(table, steps.run_columns, order), message("analyse.best_step", metric)
