"""Main effects and interactions of a design that crosses its factors, as description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ablate.analysis.contrast import Contrast
from ablate.analysis.crossings import CROSSING, Crossed, crossings
from ablate.analysis.factors import effects
from ablate.base.wording import counted
from ablate.core.facts import Facts
from ablate.core.short_names import level_name
from ablate.report.draw import style
from ablate.report.draw.hover import short as few
from ablate.report.draw.hover import tell
from ablate.report.palette import DASHES, EXPLORATORY, LEVELS, colour
from ablate.report.section import Block, Heading, Material, Picture, Section, Sentences, Text, by_task
from ablate.report.tables import (
    Column,
    Row,
    Table,
    count,
    difference,
    in_lines,
    p_value,
    rows_of,
    short,
    text,
)

MAX_ROWS = 40
"Contrasts of the table: main effects, then the interactions with the smallest p."
MAX_PAIRS = 6
"Pairs of factors that are drawn."
TOGETHER = {"better": "more together", "worse": "less together"}
"The verdicts on interactions."
DODGE = 0.06
"Between the lines of a panel, so that their intervals do not cover one another."


class Factors(Section):
    """For each task a table and a figure."""

    place = 640
    title = "Main effects and interactions"
    inside = "what each factor does over the others, and whether it depends on them"

    def applies(self, material: Material) -> bool:
        return material.facts.design in CROSSING

    def blocks(self, material: Material) -> Iterator[Block]:
        evidence, facts = material.evidence, material.facts
        found = crossings(evidence)
        if not found:
            return
        contrasts = effects(evidence)
        of_cells = "of the fraction at its level" if found[0].fraction else "that differ in nothing else"
        yield Text(
            "A description: every row is outside the families of planned comparisons and claims, and judged at .05. A "
            f"main effect is the mean over the cells {of_cells}; an interaction is what two levels gain together "
            "beyond what each gains alone.",
            aside=True,
        )
        for task, end, of in by_task(facts):
            crossed = next((one for one in found if one.task == task), None)
            if crossed is None:
                continue
            mine = contrasts[contrasts["task"] == task.name]
            if of:
                yield Heading(f"Effects{of}")
            if len(mine):
                yield _table(mine, facts)
            if crossed.left_out:
                yield Sentences([f"Left out: {'; '.join(crossed.left_out)}."])
            if crossed.fraction and not crossed.estimable:
                continue
            if crossed.fraction:
                yield Sentences(aliases(crossed))
            aliased = crossed.fraction and any(" = " in name for name, _ in crossed.estimable)
            if (data := parting(crossed, mine)) is not None:
                pairs = len(data[["lines", "along"]].drop_duplicates())
                more = len(crossed.factors) * (len(crossed.factors) - 1) // 2 - pairs
                caption = (
                    "What each level of one factor changes, at each level of another, over the rest: the mean paired "
                    f"difference in {facts.metric} from the level at the left, with its 95 % interval; up is better. "
                    "Where two lines part, the factors interact; the table says by how much, and how surely."
                    f"{f' The table has {more} more.' if more else ''}"
                    f"{' A pair shows its aliases as well.' if aliased else ''}"
                )
                alt = f"Interaction plot of {counted(pairs, 'pair')} of factors on {facts.metric}{of}."
                names = _names(facts, crossed)
                yield Picture(
                    f"interactions{end}",
                    f"Interactions{of}",
                    caption,
                    alt,
                    data,
                    figure,
                    (facts.metric, names),
                )


def aliases(crossed: Crossed) -> list[str]:
    """What a fraction cannot tell apart, a sentence a set; or that there is nothing of the kind."""
    ends = short(list(crossed.factors))
    sets = [_ended(name, ends) for name, _ in crossed.estimable if " = " in name]
    return [f"Seen as one, since the fraction cannot tell them apart: {found}." for found in sets] or [
        "The fraction tells all main effects and interactions of two factors apart."
    ]


def parting(crossed: Crossed, contrasts: pd.DataFrame) -> pd.DataFrame | None:
    """One row a point of the interaction plot: along, lines, level, line, place, diff, low, high.

    `along` and `lines` are the paths of the two factors of a panel, `place` counts the levels of `along` from the
    baseline's, from which the differences are. None where no pair of factors can be told apart.
    """
    paired = contrasts[(contrasts["kind"] == "interaction") & contrasts["diff"].notna()]
    by_p = paired.assign(p=paired["p"].fillna(1.0)).sort_values("p", kind="stable")
    pairs = list(dict.fromkeys(tuple(levels) for levels in by_p["levels"]))[:MAX_PAIRS]
    rows = []
    for pair in pairs:
        along, lines = sorted(pair, key=lambda path: -len(crossed.factors[path]))
        first = crossed.factors[along][0]
        for line in crossed.factors[lines]:
            for place, level in enumerate(crossed.factors[along]):
                sides = crossed.sides([{along: level, lines: line}, {along: first, lines: line}])
                if all(sides):
                    d = Contrast.of(sides[0], sides[1], crossed.facts.metric).differences
                    numbers = (d.mean, *d.interval()) if place else (0.0, 0.0, 0.0)
                    rows.append((along, lines, level, line, place, *numbers))
    columns = ["along", "lines", "level", "line", "place", "diff", "low", "high"]
    data = pd.DataFrame(rows, columns=columns)
    return data if data["diff"].ne(0).any() else None


def figure(data: pd.DataFrame, metric: str, names: Mapping[tuple[str, str], str]) -> Figure:
    """A panel for each pair of factors; `data` is what `parting` returns, `names` are those of levels, by path."""
    panels = list(data.groupby(["along", "lines"], sort=False))
    across = min(2, len(panels))
    down = -(-len(panels) // across)
    result = style.new_figure(0.4 + down * (2.6 if across == 1 else 2.2))
    grid = result.subplots(down, across, sharey=True, squeeze=False)
    for ax, (_, rows) in zip(grid.ravel(), panels, strict=False):
        _panel(ax, rows, names, across)
    for ax in grid.ravel()[len(panels) :]:
        ax.remove()
    result.supylabel(f"difference in {metric}, up is better", size=style.SMALL)
    return result


def _panel(ax: Axes, data: pd.DataFrame, names: Mapping[tuple[str, str], str], across: int) -> None:
    (along,), (lines,) = data["along"].unique(), data["lines"].unique()
    levels = data.drop_duplicates("place").set_index("place")["level"].sort_index()
    of = list(dict.fromkeys(data["line"]))
    ax.axhline(0.0, color=colour("line"), lw=0.8, zorder=0)
    for i, line in enumerate(of):
        rows = data[data["line"] == line].sort_values("place")
        shade = colour(("ink", *LEVELS)[i % (len(LEVELS) + 1)])
        x = rows["place"] + DODGE * (i - (len(of) - 1) / 2)
        dashes = DASHES[i % len(DASHES)]
        ax.plot(
            x, rows["diff"], marker="o", ms=3.5, color=shade, ls=(0, dashes) if dashes else "-",
            label=in_lines(names[lines, line], 34 // across + 8, 2),
        )  # fmt: skip
        ax.vlines(x, rows["low"], rows["high"], color=shade, lw=1.1)
        words = [
            f"{names[along, level]}, {names[lines, line]}\n{few(diff)} [{few(low)}, {few(high)}]"
            for level, diff, low, high in rows[["level", "diff", "low", "high"]].itertuples(index=False)
        ]
        tell(ax, x, rows["diff"], words)
    ax.set_xticks(
        np.arange(len(levels)), [in_lines(level, max(7, 60 // across // len(levels)), 3) for level in levels]
    )
    ax.set_xlabel(along.rpartition(".")[2].replace("_", " "))
    ax.set_xlim(-0.3, len(levels) - 0.7)
    ax.margins(y=0.08)
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=1 if across > 1 else 2, borderaxespad=0.2, borderpad=0
    )


def _names(facts: Facts, crossed: Crossed) -> dict[tuple[str, str], str]:
    """Path and label of a level → its name for readers."""
    return {
        (path, level): facts.labels.get(f"{path}={level}") or level_name(path, level)
        for path, levels in crossed.factors.items()
        for level in levels
    }


def _ended(name: str, ends: Mapping[str, str]) -> str:
    """The name of an effect with the ends of its paths."""
    return " = ".join(
        " × ".join(ends.get(path, path) for path in one.split(" × ")) for one in name.split(" = ")
    )


def _table(contrasts: pd.DataFrame, facts: Facts) -> Table:
    mains = contrasts[contrasts["kind"] == "main"]
    others = contrasts[contrasts["kind"] != "main"].sort_values("p", kind="stable")
    shown = (
        pd.concat([mains, others.head(max(0, MAX_ROWS - len(mains)))])
        if len(contrasts) > MAX_ROWS
        else contrasts
    )
    ends = short(list(dict.fromkeys(path for levels in contrasts["levels"] for path in levels)))
    columns = [
        Column("effect", "Effect", words=True),
        Column("difference", "Difference [95 %]", True),
        Column("p", "p", True),
        Column("verdict", "Verdict", words=True),
        Column("n", "Seeds", True),
        Column("cells", "Cells", True),
        Column("note", "Note", below=True),
    ]
    left = len(contrasts) - len(shown)
    caption = (
        f"Effects on {facts.metric}{f'; {left} interactions with larger p are left out' if left else ''}"
    )
    return Table(columns, [_cells(row, facts, ends) for row in rows_of(shown)], caption, "trials.parquet")


def _cells(row: Row, facts: Facts, ends: Mapping[str, str]) -> dict[str, str]:
    levels: Mapping[str, str] = row["levels"]
    named = [facts.labels.get(f"{path}={level}") or level_name(path, level) for path, level in levels.items()]
    _, *aliased = str(row["effect"]).split(" = ")
    with_aliases = f" (= {_ended(' = '.join(aliased), ends)})" if aliased else ""
    verdict = text(row["verdict"])
    verdict = TOGETHER.get(verdict, verdict) if row["kind"] == "interaction" else verdict
    return {
        "effect": " × ".join(named) + with_aliases,
        "effect title": ",".join(f"{path}={level}" for path, level in levels.items()),
        "difference": difference(row["diff"], row["ci_low"], row["ci_high"]),
        "p": p_value(row["p"]),
        "verdict": f"{verdict} ({EXPLORATORY})" if verdict else EXPLORATORY,
        "n": count(row["n"]),
        "cells": count(row["cells"]),
        "note": text(row["note"]),
    }
