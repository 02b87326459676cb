"""Runs inside a record: objects below names or in lists of it, each with the metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ablate.base.once import put_once
from ablate.runs.formats.json_documents import value_at
from ablate.runs.formats.level_names import seeds_in
from ablate.runs.options import AnalysisOptions
from ablate.runs.settings import is_seed

_SEED = "seed"


def runs_by_seed(
    record: object, metric: str
) -> tuple[dict[str, Mapping[str, object]], dict[str, object]] | None:
    """Returns seed → the values of its run inside a record, and the rest of the record; None where it has none.

    They stand under a name that speaks of seeds, since numbers may be steps. Raises `TwiceError`.
    """
    if not isinstance(record, dict):
        return None
    within = _first_runs(record, record, metric)
    if within is None:
        return None
    path, runs = within
    of_seeds: dict[str, Mapping[str, object]] = {}
    for label, run in runs:
        if _SEED in run:
            put_once(
                of_seeds,
                str(run[_SEED]),
                {name: value for name, value in run.items() if name != _SEED},
                said=label,
            )
    below = record
    for name in path:
        below = below[name]
    are_marked = isinstance(below, dict) and not any(name.isdecimal() for name in below)
    if len(of_seeds) < len(runs) or not (is_seed(path[-1]) or are_marked or isinstance(below, list)):
        return None
    return of_seeds, _without(record, path)


def runs_within(
    record: object, place: str, options: AnalysisOptions, summaries: dict[str, None]
) -> Iterator[tuple[str, object]]:
    """Yields the place and values of each run that a record has inside; the record itself where it has none.

    Those values of the record that its runs have too are added to the summaries.
    """
    if not isinstance(record, dict):
        yield place, record
        return
    within = _first_runs(record, record, options.metric)
    if within is None:
        yield place, record
        return
    path, runs = within
    rest = _without(record, path)
    for label, run in runs:
        shared = [name for name in rest if name in run and name != _SEED and rest[name] != run[name]]
        summaries |= dict.fromkeys(shared)
        # The seed of a run comes before those of its parts.
        own = {_SEED: run[_SEED]} if _SEED in run else {}
        yield f"{place}, {label}", {**own, **rest, **run}


def _first_runs(
    record: Mapping[str, object], values: Mapping[str, object], metric: str
) -> tuple[tuple[str, ...], list[tuple[str, Mapping[str, object]]]] | None:
    """Returns the names under which a record has runs inside, and these by their labels; None where it has none.

    values: the record, or an object within it. Those of a record with a seed are its steps or parts, and have the
    metric where the record does not.
    """
    has_seed = has_own_seed(record)
    if has_seed and (not metric or value_at(record, metric) is not None):
        return None
    for name, value in values.items():
        by_seed = [] if has_seed else _runs_by_seed(name, value, metric)
        runs = by_seed or _runs_in_list(record, value, metric)
        if runs:
            return (name,), runs
        below = _first_runs(record, value, metric) if isinstance(value, dict) else None
        if below is not None:
            return (name, *below[0]), below[1]
    return None


def _runs_by_seed(name: str, value: object, metric: str) -> list[tuple[str, Mapping[str, object]]]:
    """Returns the runs of an object whose names are seeds: objects with the metric, or its values alone."""
    runs: list[tuple[str, Mapping[str, object]]] = []
    for seed, of_seed in seeds_in(value).items():
        if isinstance(of_seed, dict) and (not metric or value_at(of_seed, metric) is not None):
            run = of_seed
        elif metric and not isinstance(of_seed, dict | list) and (name == metric or is_seed(name)):
            run = {metric: of_seed}
        else:
            return []
        runs.append((f"seed {seed}", {**run, _SEED: seed}))
    return runs


def _runs_in_list(
    record: Mapping[str, object], value: object, metric: str
) -> list[tuple[str, Mapping[str, object]]]:
    """Returns the runs of a list of objects which have the metric, and seeds where the record has the metric too."""
    if not isinstance(value, list) or not metric:
        return []
    runs: list[tuple[str, Mapping[str, object]]] = []
    for number, run in enumerate(value, start=1):
        if isinstance(run, dict):
            runs.append((f"run {number}", run))
    have_metric = [value_at(run, metric) is not None for _, run in runs]
    is_own = value_at(record, metric) is not None and not all(has_own_seed(run) for _, run in runs)
    return runs if runs and len(runs) == len(value) and all(have_metric) and not is_own else []


def has_own_seed(record: Mapping[str, object]) -> bool:
    """Returns whether a record has one seed."""
    return any(is_seed(name) and not isinstance(value, dict | list) for name, value in record.items())


def _without(values: Mapping[str, object], path: Sequence[str]) -> dict[str, object]:
    """Returns nested objects without what stands under the last of the names."""
    name, *below = path
    rest = {key: value for key, value in values.items() if key != name}
    inner = values[name]
    return {**rest, name: _without(inner, below)} if below and isinstance(inner, dict) else rest
