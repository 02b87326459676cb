"""Over all tasks: on how many a verdict holds, the aggregate in declared units, performance profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ablate.analysis.across import COUNTED, across, profiles
from ablate.base import wording
from ablate.core.facts import Facts
from ablate.core.short_names import short_names
from ablate.report.draw import style
from ablate.report.draw.panels import axes, beside, legend, looks
from ablate.report.entries import Entry, left_out, panels
from ablate.report.section import Block, Material, Picture, Section, Text
from ablate.report.tables import Column, Row, Table, difference, fixed, p_value, rows_of, text


class Across(Section):
    """A row a variant; of studies with several tasks."""

    place = 620
    title = "Over all tasks"
    inside = "on how many tasks a verdict holds, and their mean"

    def applies(self, material: Material) -> bool:
        return len(material.facts.tasks) > 1

    def findings(self, material: Material) -> list[str]:
        rows = across(material.evidence, material.comparisons)
        names = short_names(material.facts)
        shown = [
            f"{names[row.variant]} {count} on {wording.share(int(getattr(row, count)), int(row.tasks))}"
            for row in rows.itertuples()
            for count in ("better", "worse")
            if getattr(row, count)
        ]
        return [f"Tasks on which a difference was shown: {'; '.join(shown)}."] if shown else []

    def blocks(self, material: Material) -> Iterator[Block]:
        facts, rows = material.facts, rows_of(across(material.evidence, material.comparisons))
        if not rows:
            return
        yield Text(_explained(facts))
        yield table(rows, short_names(facts), bool(facts.units))
        data, shown = profiles(material.evidence), panels(facts, material.comparisons)
        if len(data) and shown:
            caption = (
                f"Share of runs that reach a score, 0 at guessing and 1 at the best {facts.metric}, every task "
                f"counting alike; higher is better. A description, without a test.{left_out(facts, shown)}"
            )
            factors = wording.counted(len(shown), "factor")
            alt = f"Performance profiles over {len(facts.tasks)} tasks, in panels of {factors}."
            yield Picture("profiles", "Performance profiles", caption, alt, data, figure, [shown])


def _explained(facts: Facts) -> str:
    verdicts = "The verdicts are those on each task; nothing here adds to them."
    if not facts.units:
        return (
            f"{verdicts} `metric: aggregate:` declares units in which differences can be averaged over tasks."
        )
    units = ", ".join(f"{wording.exact(unit)} on {task}" for task, unit in facts.units.items())
    shared = any(task.sampling.pool == "held_out" for task in facts.tasks)
    on = ", on these examples" if shared else ""
    return (
        f"{verdicts} The mean is over tasks, of the difference of each seed in units that were declared in advance "
        f"({units}), with its interval over seeds{on}; it is exploratory, and holds for these tasks."
    )


def table(rows: Sequence[Row], names: Mapping[str, str], aggregated: bool) -> Table:
    """The rows of `analysis.across` as strings."""
    columns: list[Column] = [
        Column("variant", "Variant"),
        *(Column(verdict, verdict.capitalize(), True) for verdict in COUNTED),
        Column("open", "Undecided", True),
        *([Column("mean", "Mean [95 %]", True), Column("p", "p", True)] if aggregated else []),
        Column("iqm", "Middle half", True),
        Column("iqm_baseline", "of the baseline", True),
    ]
    cells: list[dict[str, Any]] = [
        {
            "variant": names[row["variant"]],
            "variant title": text(row["variant"]),
            **{count: wording.share(int(row[count]), int(row["tasks"])) for count in (*COUNTED, "open")},
            "mean": difference(row["diff"], row["ci_low"], row["ci_high"]),
            "p": p_value(row["p"]),
            "iqm": fixed(row["iqm"], 3),
            "iqm_baseline": fixed(row["iqm_baseline"], 3),
        }
        for row in rows
    ]
    return Table(columns, cells, "Each variant over all tasks, exploratory", "trials.parquet")


def figure(data: pd.DataFrame, shown: Mapping[str, Sequence[Entry]]) -> Figure:
    """In each panel the profiles of one factor's levels; `data` is what `analysis.across.profiles` returns."""
    result, found = axes(shown)
    for title, ax in found.items():
        of = looks(shown[title])
        for variant, look in of.items():
            mine = data[data["variant"] == variant]
            ax.plot(mine["score"], mine["share"], color=look.colour, ls=look.style)
        legend(ax, [look for variant, look in of.items() if variant in set(data["variant"])], beside(found))
        ax.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    result.supxlabel("score, 0 at guessing and 1 at the best", size=style.SMALL)
    result.supylabel("share of runs", size=style.SMALL)
    return result
