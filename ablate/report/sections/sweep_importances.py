"""Which searched paths mattered, by two evaluators."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import seaborn
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ablate.base import wording
from ablate.core.search_table import Objective, SearchTable
from ablate.report import searches
from ablate.report.draw import settings, style
from ablate.report.palette import colour
from ablate.report.section import Block, Material, Picture, Section, Text
from ablate.report.tables import short, wrapped

EVALUATORS = {"fanova": ("fANOVA", "blue"), "ped_anova": ("PED-ANOVA", "orange")}
"Name in the frame → name and colour in the figure."


class SweepImportances(searches.OfSweep, Section):
    """A figure for each objective that has importances, or why it has none. What a setting costs is known and is not
    judged.
    """

    place = 540
    title = "Importances"
    inside = "how much of the variance each searched path explains"

    def blocks(self, material: Material) -> Iterator[Block]:
        searched = searches.table(material)
        reasons = []
        for i, objective in enumerate(searched.facts.objectives):
            data = searches.ranked(material.importances, objective.name)
            missing = unjudged(searched, material.importances, objective.name)
            if len(data):
                yield _picture(searched, objective, data, f"-{i + 1}" if i else "", missing)
            elif objective.source != "cost":
                several = len(searched.facts.objectives) > 1 and material.importances is not None
                reasons.append(f"{searches.named(objective)}: {missing}" if several else missing)
        yield from (Text(reason, aside=True) for reason in dict.fromkeys(reasons))


def _picture(
    searched: SearchTable, objective: Objective, data: pd.DataFrame, end: str, missing: str
) -> Picture:
    words = searches.named(objective)
    ended = searched.trials["status"].isin(["completed", "diverged"]).sum()
    lost = int(ended) - len(searches.judged(searched, objective.name))
    left_out = f" Left out: {wording.counted(lost, 'setting')} without a finite value." if lost else ""
    first = data.iloc[0]
    return Picture(
        f"sweep-importances{end}",
        f"Importances for {words}" if len(searched.facts.objectives) > 1 else "Importances",
        f"fANOVA: the share of the variance of {words} over the whole space that a path explains alone. PED-ANOVA: "
        "how much the best settings differ from all in it. Each adds up to 100 % over the paths that are judged "
        f"together.{_resting(data)} Lines: the 5th to the 95th percentile over resampled settings.{left_out} "
        f"{missing}".rstrip(),
        f"Importances of {data['parameter'].nunique()} paths for {words}, by fANOVA and PED-ANOVA; by fANOVA "
        f"{first['parameter']} is first with {100 * first['importance']:.0f} %.",
        data,
        draw,
    )


def _resting(data: pd.DataFrame) -> str:
    """The number of settings that the importances rest on, in a sentence."""
    paths = data.drop_duplicates("parameter")
    most = int(paths["trials"].max())
    fewer = [
        f"{row['parameter']} on the {row['trials']} with {row['condition'] or 'it'}"
        for row in paths[paths["trials"] < most].to_dict("records")
    ]
    return f" They rest on {most} settings{f', {wording.joined(fewer)}' if fewer else ''}."


def unjudged(searched: SearchTable, importances: pd.DataFrame | None, objective: str) -> str:
    """Why importances are missing, in a sentence; empty where none is."""
    if importances is None:
        return "Importances have not been computed; ablate sweep does that when it ends."
    known = set(searches.ranked(importances, objective)["parameter"])
    found = searches.judged(searched, objective)
    count = wording.counted(len(found), "setting")
    if found[objective].nunique() == 1:
        return f"No importances: all {count} with a value have the same."
    if not known:
        return f"No importances: {count} with a value are too few."
    missing = [f"{path} ({found[path].notna().sum()})" for path in searched.paths if path not in known]
    few = "Not judged, as too few settings have it or all have the same value"
    return f"{few}: {wording.joined(missing)}." if missing else ""


def draw(data: pd.DataFrame) -> Figure:
    """Bars by path and evaluator. `data` is `searches.ranked`."""
    paths = list(dict.fromkeys(data["parameter"]))
    fig = style.new_figure(0.8 + 0.36 * len(paths))
    ax = fig.subplots()
    shown = data.assign(evaluator=data["evaluator"].map({key: name for key, (name, _) in EVALUATORS.items()}))
    palette = {name: colour(shade) for name, shade in EVALUATORS.values()}
    seaborn.barplot(
        shown,
        y="parameter",
        x="importance",
        hue="evaluator",
        palette=palette,
        saturation=1,
        width=0.7,
        errorbar=None,
        ax=ax,
    )
    of = data.set_index(["evaluator", "parameter"])
    for key, bars in zip(EVALUATORS, ax.containers, strict=True):
        for path, bar in zip(paths, bars, strict=True):
            found, y = of.loc[(key, path)], bar.get_y() + bar.get_height() / 2
            ax.plot([found["low"], found["high"]], [y, y], color=colour("ink"), linewidth=0.9)
            percent = f"{100 * found['importance']:.0f} %"
            ax.text(1.01, y, percent, transform=ax.get_yaxis_transform(), va="center", size=style.SMALL - 1)
    ax.plot([], [], color=colour("ink"), linewidth=0.9, label="5th to 95th percentile")
    ends = short(paths)
    ax.set_yticks(range(len(paths)), ["\n".join(wrapped(ends[path], 24)) for path in paths])
    ax.set(xlabel="importance", ylabel="", xlim=(0, 1))
    ax.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    settings.legend(fig, ax)
    return fig
