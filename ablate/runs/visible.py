"""Names and cells of runs without characters that control a terminal or deceive: they are escaped where they enter."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ablate.base.text import printable
from ablate.runs.mean_columns import MeanColumns
from ablate.runs.options import AnalysisOptions
from ablate.runs.reader import RunsFound
from ablate.session.option import as_texts

_ESCAPE = "\x1b"


def visible(text: str) -> str:
    r"""Returns a text with each such character as its escape, such as `\x07`; no two texts become one.

    Colours of a terminal stay, as escapes: without them two names may be the same.
    """
    return printable(text.replace(_ESCAPE, r"\x1b"))


def visible_runs(found: RunsFound) -> RunsFound:
    """Returns runs whose names, cells and notes hold no such character."""
    table = found.table.map(_visible_cell)
    table.columns = pd.Index([_visible_cell(name) for name in table.columns], dtype=object)
    table.index = pd.Index([_visible_cell(place) for place in table.index], dtype=object)
    return replace(
        found,
        table=table,
        kind=visible(found.kind),
        roles={role: [visible(name) for name in names] for role, names in found.roles.items()},
        metrics=[visible(name) for name in found.metrics],
        notes=[visible(note) for note in found.notes],
        means=[_visible_means(each) for each in found.means],
    )


def _visible_means(means: MeanColumns) -> MeanColumns:
    """Returns the columns of means by the names, places and cells that they have in the table."""
    return replace(
        means,
        metric=visible(means.metric),
        mean=visible(means.mean),
        spread=visible(means.spread),
        count=visible(means.count),
        spreads={visible(place): visible(cell) for place, cell in means.spreads.items()},
        counts={visible(place): visible(cell) for place, cell in means.counts.items()},
    )


def visible_options(options: AnalysisOptions) -> AnalysisOptions:
    """Returns options whose names are those that the columns and cells of `visible_runs` have."""
    return replace(
        options,
        baseline=visible(options.baseline),
        metric=visible(options.metric),
        seed=visible(options.seed),
        at=visible(options.at),
        scale=visible(options.scale),
        along=visible(options.along),
        claim=[visible(claim) for claim in options.claim],
        where=[visible(condition) for condition in options.where],
        also={visible(name): direction for name, direction in options.also.items()},
        variant=[visible(name) for name in options.variant],
        column={role: [visible(name) for name in as_texts(names)] for role, names in options.column.items()},
        made_with={what: visible(value) for what, value in options.made_with.items()},
    )


def _visible_cell(cell: object) -> object:
    """Returns a text without such characters, and anything else as it is."""
    return visible(cell) if isinstance(cell, str) and not cell.isprintable() else cell
