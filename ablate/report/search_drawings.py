"""Which figures a sweep has, with what is said about them."""

from __future__ import annotations

import functools

import pandas as pd

from ablate.base import wording
from ablate.core.search_table import Objective, SearchTable
from ablate.report import search_data, search_figures, search_maps
from ablate.report.drawings import Drawing

SECTION = "The sweep"
BAND = "In the grey band: settings without a value, or far worse than the rest."


def search_drawings(searched: SearchTable, importances: pd.DataFrame | None) -> list[Drawing]:
    """The figures that the table of a sweep has the data for; those of a second objective end in -2, and so on."""
    if not len(searched.trials):
        return []
    result = []
    objectives = [
        (objective, f"-{i + 1}" if i else "") for i, objective in enumerate(searched.facts.objectives)
    ]
    # What a setting costs is known without a search.
    sought = [(o, end) for o, end in objectives if o.source != "cost" or not end]
    for objective, end in sought:
        result += _history(searched, objective, end)
    result += _pareto(searched)
    for objective, end in objectives:
        result += _importances(searched, importances, objective, end)
    for objective, end in sought:
        result += _slices(searched, objective, end)
    return [*result, *_parallel(searched), *_contour(searched, importances)]


def _of(searched: SearchTable, objective: Objective) -> str:
    return f" of {search_data.named(objective)}" if len(searched.facts.objectives) > 1 else ""


def _history(searched: SearchTable, objective: Objective, end: str) -> list[Drawing]:
    data = search_data.history(searched, objective)
    if data["value"].isna().all():
        return []
    words = search_data.named(objective)
    counts = wording.joined([f"{n} {status}" for status, n in data["status"].value_counts().items()])
    seeds = wording.counted(len(searched.facts.seeds), "tuning seed")
    what = "" if objective.source == "cost" else f", the mean over {seeds},"
    caption = f"The {words} of each setting{what} in the order in which they were chosen. {BAND}"
    alt = f"The {words} of {len(data)} settings by number, and the best so far: {counts}."
    draw = functools.partial(search_figures.history, data, objective)
    return [Drawing(f"sweep-history{end}", f"History{_of(searched, objective)}", caption, alt, draw, SECTION)]


def _pareto(searched: SearchTable) -> list[Drawing]:
    result = []
    for i, (upright, across) in enumerate(search_data.trades(searched)):
        data = search_data.pareto(searched, upright, across)
        if len(data) < 2:
            continue
        names = search_data.named(upright), search_data.named(across)
        front = int(data["front"].sum())
        more = " Fronts of three objectives and more hold settings that are on none of two."
        caption = (
            f"Every setting with a value. The line is the front, {wording.counted(front, 'setting')}: no other is as "
            f"good as one of them in both and better in one.{more if len(searched.facts.objectives) > 2 else ''} "
            "Means on the tuning seeds, on which the best look better than they are."
        )
        alt = f"The {names[0]} of {len(data)} settings against {names[1]}, {front} of them on the front."
        draw = functools.partial(search_figures.pareto, data, upright, across)
        title = f"{names[0][0].upper()}{names[0][1:]} against {names[1]}"
        result.append(Drawing(f"sweep-front{f'-{i + 1}' if i else ''}", title, caption, alt, draw, SECTION))
    return result


def _importances(
    searched: SearchTable, importances: pd.DataFrame | None, objective: Objective, end: str
) -> list[Drawing]:
    data = search_data.ranked(importances, objective.name)
    if data.empty:
        return []
    words = search_data.named(objective)
    lost = search_data.left_out(searched, objective.name)
    left_out = f" Left out: {wording.counted(lost, 'setting')} without a finite value." if lost else ""
    missing = search_data.unjudged(searched, importances, objective.name)
    caption = (
        f"fANOVA: the share of the variance of {words} over the whole space that a path explains alone. PED-ANOVA: how "
        "much the best settings differ from all in it. Each adds up to 100 % over the paths that are judged "
        f"together.{_resting(data)} Lines: the 5th to the 95th percentile over resampled settings.{left_out}"
        f"{f' {missing}' if missing else ''}"
    )
    first = data.iloc[0]
    alt = (
        f"Importances of {data['parameter'].nunique()} paths for {words}, by fANOVA and PED-ANOVA; by fANOVA "
        f"{first['parameter']} is first with {100 * first['importance']:.0f} %."
    )
    draw = functools.partial(search_figures.importances, data)
    title = f"Importances for {words}" if len(searched.facts.objectives) > 1 else "Importances"
    return [Drawing(f"sweep-importances{end}", title, caption, alt, draw, SECTION)]


def _resting(data: pd.DataFrame) -> str:
    """On how many settings the importances rest."""
    paths = data.drop_duplicates("parameter")
    most = int(paths["trials"].max())
    fewer = [
        f"{row['parameter']} on the {row['trials']} with {row['condition'] or 'it'}"
        for row in paths[paths["trials"] < most].to_dict("records")
    ]
    return f" They rest on {most} settings{f', {wording.joined(fewer)}' if fewer else ''}."


def _slices(searched: SearchTable, objective: Objective, end: str) -> list[Drawing]:
    data = search_data.slices(searched, objective)
    if data["value"].isna().all():
        return []
    scales = {p.path: search_data.scale_of(searched, p) for p in searched.facts.parameters}
    words = search_data.named(objective)
    caption = (
        f"The {words} of every setting against each path that it has; the others vary as well. Points of one choice "
        f"are spread sideways. {BAND}"
    )
    alt = f"The {words} of the settings against each of {len(scales)} paths."
    draw = functools.partial(search_figures.slices, data, scales, objective)
    return [Drawing(f"sweep-slices{end}", f"Slices{_of(searched, objective)}", caption, alt, draw, SECTION)]


def _parallel(searched: SearchTable) -> list[Drawing]:
    objective = searched.facts.objectives[0]
    data = search_data.parallel(searched, objective)
    if len(data) < 2:
        return []
    scales = {p.path: search_data.scale_of(searched, p) for p in searched.facts.parameters}
    words = search_data.named(objective)
    none = (
        " A line that passes at “none” does not have the path."
        if data[list(scales)].isna().any(axis=None)
        else ""
    )
    caption = (
        f"A line a setting, from its value on each path down to its {words}. In colour: the best "
        f"{int(data['best'].sum())} of {len(data)}.{none}"
    )
    alt = f"Parallel coordinates of {len(data)} settings over {len(scales)} paths and {words}."
    draw = functools.partial(search_maps.parallel, data, scales, objective)
    return [Drawing("sweep-parallel", "Parallel coordinates", caption, alt, draw, SECTION)]


def _contour(searched: SearchTable, importances: pd.DataFrame | None) -> list[Drawing]:
    objective = searched.facts.objectives[0]
    paths = search_data.numerical(searched, importances)[:2]
    if len(paths) < 2:
        return []
    data = search_data.plane(searched, objective, *paths)
    if not len(data):
        return []
    scales = [search_data.scale_of(searched, path) for path in paths]
    found = search_data.triangles(data, *scales)
    done = int((data["status"] == "completed").sum())
    between = (
        "Between the points, values are interpolated over the nearest three, beyond them nothing is shown; the other "
        "paths vary as well, so that this is a guide to the eye. The stronger the colour, the better."
        if found
        else f"Nothing is drawn between the points, of which {done} completed: too few, or on one line."
    )
    known = not search_data.ranked(importances, objective.name).empty
    which = "two most important numbers by fANOVA" if known else "first two numbers of the space"
    caption = f"The settings in the plane of the {which}. {between}"
    alt = f"{len(data)} settings in the plane of {paths[0].path} and {paths[1].path}."
    axes = ((paths[0].path, scales[0]), (paths[1].path, scales[1]))
    draw = functools.partial(search_maps.contour, data, axes, objective)
    return [Drawing("sweep-contour", "Contour", caption, alt, draw, SECTION)]
