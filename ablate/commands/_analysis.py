"""Runs that exist, judged in Python, which is no command: `ablate.analyse(frame, …)`."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ablate.base.errors import Invalid, listed, nearest
from ablate.base.extras import needed_by
from ablate.base.numerals import FINITE, NOT_NEGATIVE, POSITIVE
from ablate.base.scratch import scratch
from ablate.base.text import safe
from ablate.commands._results import Results, load, refuse_unknown
from ablate.core.metric import Direction
from ablate.records.folder import StudyFolder
from ablate.runs.options import AnalysisOptions

if TYPE_CHECKING:
    import pandas as pd

    from ablate.runs.reading import RunTable

ROLES = ("variant", "task", "seed", "example", "source", "status")
"""The roles that a column may have."""


def analyse(
    runs: pd.DataFrame | str | Path,
    *,
    baseline: object = "",
    metric: object = "",
    direction: Direction | None = None,
    margin: float | None = None,
    claim: str | Sequence[str] = (),
    floor: float | None = None,
    ceiling: float | None = None,
    resolution: float = 0.0,
    all_or_nothing: float | None = None,
    also: Mapping[str, Direction] | None = None,
    column: Mapping[str, str | Sequence[str]] | None = None,
    variant: str | Sequence[str] = (),
    seed: str = "",
    where: str | Sequence[str] = (),
    at: str = "",
    compare: Literal["all_pairs"] | None = None,
    read: Mapping[str, str] | None = None,
    experiment: str = "",
    replicates: bool = False,
    tracking_uri: str | None = None,
    known_noise: str | Path | None = None,
    made_with: Mapping[str, str] | None = None,
    name: str | None = None,
    results: str | Path | None = None,
    **unknown: object,
) -> Results:
    """Judges runs that exist, as `ablate analyse` does, and returns the results. Raises `AblateError`.

    runs: a DataFrame with a row a run, in which NaN is a missing value; or what RUNS may be on the command line.
    baseline: the variant that the others are compared with.
    metric: the column that is judged; also: further ones, which claims may use, with their directions.
    direction: `max` where more is better, else `min`; None: as the name of the metric says.
    margin: variants are equivalent within it.
    claim: `A beats B on METRIC` and the like.
    floor, ceiling, resolution: the value of guessing, the best possible one, the smallest possible difference.
    all_or_nothing: compare how often runs solve the task, which they do at this value or a better one.
    column: role (variant, task, seed, example, source, status) → its column; variant, seed: the same for these.
    where: conditions on rows, `COLUMN=VALUE` or a query of pandas.
    at: the row of a run that counts, where it has one for each step: `last`, `best METRIC` or `step N`.
    compare: `all_pairs`: each variant with each other.
    read: names of metrics → the patterns that find them in the lines of logs.
    experiment, tracking_uri: of MLflow.
    replicates: take rows of a variant as replicates although other columns differ.
    known_noise, made_with: see `ablate guide analyse`.
    name, results: write the report, with its page, to `results/NAME`, or beside it where a call that differs has
        reported there; without both it is in a temporary folder, which goes with what is returned, and is drawn when
        it is asked for. The answer names earlier calls on the same runs: of that folder, or else of this process.
    """
    refuse_unknown(analyse, unknown)
    with_metrics = dict(also or {})
    options = AnalysisOptions(
        baseline=str(baseline),
        metric=str(metric),
        direction=direction,
        margin=margin,
        claim=_texts(claim),
        floor=floor,
        ceiling=ceiling,
        resolution=resolution,
        all_or_nothing=all_or_nothing,
        also=[*with_metrics.items()],
        column=_columns({"variant": variant, **(column or {})}),
        seed=str(seed or ""),
        where=_texts(where),
        at=at,
        compare=compare,
        read=[*(read or {}).items()],
        experiment=experiment,
        replicates=replicates,
        tracking_uri=tracking_uri,
        known_noise=None if known_noise is None else Path(known_noise),
        made_with=[*(made_with or {}).items()],
        name=name,
    )
    _check(options)
    with needed_by("`ablate.analyse`"):
        table = _table(runs, options)
    source = str(runs) if isinstance(runs, str | os.PathLike) else ""
    if name is None and results is None:
        return _judged_for_now(table, source)

    from ablate.runs.report import folder_for, judge

    folder = folder_for(Path(results or "results"), name, source or "runs")
    folder = judge(folder, table, source, _print, lambda warning: _print(f"warning: {warning}"))
    return load(folder.path)


def _print(text: str) -> None:
    """Prints a line beside the results of a call."""
    print(safe(text), file=sys.stderr)


def _table(runs: object, options: AnalysisOptions) -> RunTable:
    """Returns the rows of runs by their roles, beside noise that is known. Raises `AblateError`."""
    import pandas as pd

    from ablate.runs.frames import runs_of
    from ablate.runs.noise import beside_noise
    from ablate.runs.reading import by_roles
    from ablate.runs.sources import find_runs

    if isinstance(runs, pd.DataFrame):
        table = by_roles(runs_of(runs, options), options)
    elif isinstance(runs, str | os.PathLike) and str(runs):
        table = by_roles(find_runs(str(runs), options), options)
    else:
        raise Invalid("runs", "must be a DataFrame, or the path of runs", type(runs).__name__)
    if options.known_noise is None:
        return table
    return beside_noise(table, table.options, options.known_noise)


def _judged_for_now(table: RunTable, source: str) -> Results:
    """Returns results in a temporary folder that goes with them. Raises `AblateError`."""
    from ablate.runs.report import judge_without_page

    with ExitStack() as stack:
        folder = StudyFolder(Path(stack.enter_context(scratch("analysis"))), "runs")
        judge_without_page(folder, table, source)
        results = load(folder.path)
        weakref.finalize(results, stack.pop_all().close)
    return results


def _texts(given: str | Sequence[str]) -> Sequence[str]:
    """Returns one text, or several, as a list."""
    return [given] if isinstance(given, str) else [*given]


def _columns(given: Mapping[str, str | Sequence[str]]) -> list[tuple[str, str]]:
    """Returns roles with their columns, a pair each. Raises `Invalid`."""
    pairs: list[tuple[str, str]] = []
    for role, names in given.items():
        if role not in ROLES:
            raise Invalid("column", "has no role of this name", role, listed(ROLES), nearest(role, ROLES))
        pairs += [(role, name) for name in _texts(names) if name]
    return pairs


def _check(options: AnalysisOptions) -> None:
    """Raises `Invalid` for what the command line would not take."""
    domains = {
        "margin": (POSITIVE, options.margin),
        "floor": (FINITE, options.floor),
        "ceiling": (FINITE, options.ceiling),
        "resolution": (NOT_NEGATIVE, options.resolution),
        "all_or_nothing": (FINITE, options.all_or_nothing),
    }
    for place, (domain, number) in domains.items():
        if number is not None:
            domain.check(place, number)
    directions: Iterable[object] = [options.direction, *(direction for _, direction in options.also)]
    for direction in directions:
        if direction not in (None, "max", "min"):
            raise Invalid("direction", "must be one of these", direction, "max, min")
    if options.compare not in (None, "all_pairs"):
        raise Invalid("compare", "must be one of these", options.compare, "all_pairs")
