"""The metric, its direction and the baseline: as the call names them, or guessed by names and values."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pandas as pd

from ablate.base.errors import Invalid, listed
from ablate.core.directions import usual_direction
from ablate.runs.cells import BLANK, is_number
from ablate.runs.options import AnalysisOptions
from ablate.runs.settings import PREFIXES, data_rank, is_outcome

_BASELINES = ("baseline", "base", "control", "reference", "vanilla")


def with_metric(
    options: AnalysisOptions, table: pd.DataFrame, taken: set[str], guessed: list[str]
) -> AnalysisOptions:
    """Returns the options with metric and direction; adds each that the call does not name to `guessed`."""
    metric = options.metric
    if not metric:
        metric = _only_outcome(table, taken)
        guessed.append(f"--metric {shlex.quote(metric)}")
    elif metric not in table:
        meant = [str(name) for name in table if is_spelled_alike(str(name), metric)]
        if len(meant) == 1:
            metric = meant[0]
            guessed.append(f"--metric {shlex.quote(metric)}")
    direction = options.direction
    if direction is None:
        direction = usual_direction(metric)
        if direction is None:
            raise Invalid(
                "--direction", f"is needed: the name {metric!r} does not say which is better", "", "max, min"
            )
        guessed.append(f"--direction {direction}")
    return replace(options, metric=metric, direction=direction)


def with_baseline(
    options: AnalysisOptions, variants: pd.Series, guessed: list[str], *, is_stream: bool
) -> AnalysisOptions:
    """Returns the options with the baseline: the variant that is called so. Raises `Invalid` where none is.

    It is the first of a stream of tries, which a loop has kept or discarded, and where all pairs are compared.
    """
    names = [name for name in variants.unique() if name]
    called = [name for name in names if name.lower() in _BASELINES]
    if options.compare or is_stream:
        called = names[:1]
    if len(called) != 1:
        raise Invalid(
            "--baseline", "is needed: name the variant that the others are compared with", "", listed(names)
        )
    guessed.append(f"--baseline {shlex.quote(called[0])}")
    return replace(options, baseline=called[0])


def _only_outcome(table: pd.DataFrame, taken: set[str]) -> str:
    """Returns the only column that holds numbers and has the name of an outcome.

    One on test data goes before those on validation data, and these before others. Raises `Invalid` for several.
    """
    outcomes = [str(name) for name in table if name not in taken and is_measured(table, str(name))]
    ranks = {name: data_rank(name) for name in outcomes}
    first = [name for name in outcomes if ranks[name] == min(ranks.values())]
    if len(first) != 1:
        raise Invalid(
            "--metric",
            "is needed: name the column that is judged",
            "",
            listed(outcomes or map(str, table.columns)),
        )
    return first[0]


def is_measured(table: pd.DataFrame, name: str) -> bool:
    """Returns whether a column holds numbers that say how a run came out; those of settings do not."""
    if str(name).lower().startswith(PREFIXES):
        return False
    present = table[name][~table[name].isin(BLANK)]
    return is_outcome(str(name)) and bool(present.map(is_number).all())


def is_spelled_alike(name: str, metric: str) -> bool:
    """Returns whether two names differ in signs and capitals alone, or one is the end of the other's dotted name."""
    spelled = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    asked = re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_")
    return spelled == asked or name.lower().endswith((f".{metric.lower()}", f"/{metric.lower()}"))
