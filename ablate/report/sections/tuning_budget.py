"""The best setting of each variant against the number of settings tried: how much of its budget it needed."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ablate.analysis.tuning import LAST, budget_curves, exhaustive, independent
from ablate.base import wording
from ablate.base.errors import listed
from ablate.core.facts import BASELINE
from ablate.core.metric import Metric
from ablate.report import searches
from ablate.report.draw import style
from ablate.report.draw.marks import padded, references
from ablate.report.draw.panels import axes, beside, legend, lines, looks
from ablate.report.entries import Entry, panels
from ablate.report.section import Block, Material, Picture, Section, by_task
from ablate.report.sections.tuning_given import MAX_NAMES, budgets
from ablate.report.tables import rows_of

EXPECTED = (
    "The {} that the best of n random settings is expected to have (Tang et al. 2020, without bias). Band: one "
    "standard deviation of the best of n from one search to the next (Dodge et al. 2019), within the values found. A "
    "setting that found nothing counts as the worst. A line that still rises at the end says that the budget was small "
    "for that variant."
)
SO_FAR = (
    "The best {} among the first n settings, in the order in which they were tried: what this search found, not what "
    "another would be expected to find. A line that still rises at the end says that the budget may have been small "
    "for that variant."
)


class TuningBudget(searches.OfTuning, Section):
    """A figure for each task whose variants were tuned."""

    place = 420
    title = "Best against budget"
    inside = "what more settings would have been worth"

    def applies(self, material: Material) -> bool:
        """A grid has no order in which a best could rise."""
        return super().applies(material) and not exhaustive(searches.table(material))

    def blocks(self, material: Material) -> Iterator[Block]:
        searched, facts = searches.table(material), material.facts
        label = searches.named(searched.facts.objectives[0])
        caption = (EXPECTED if independent(searched) else SO_FAR).format(label)
        curves = budget_curves(searched, facts)
        for task, end, of in by_task(facts):
            data = curves[curves["task"] == task.name]
            if data.empty:
                continue
            variants = set(data["variant"])
            alt = f"The best {label} against the number of settings tried{of}, of {len(variants)} variants."
            # A level keeps the colour that it has in the learning curves.
            shown = {
                title: rows
                for title, rows in panels(facts, material.comparisons).items()
                if {e.variant for e in rows} & variants
            }
            known = task.metrics.get(searched.facts.objectives[0].name)
            options = shown or {BASELINE: []}, label, known
            yield Picture(f"budget{end}", f"{self.title}{of}", caption, alt, data, figure, options)

    def findings(self, material: Material) -> list[str]:
        spent = budgets(material)
        rows = spent[spent["rising"].astype(bool)]
        words = [
            f"{name} (+{wording.number(row['gain'], wording.decimals(row['gain']))} over the last "
            f"{math.ceil(row['settings'] * LAST)} of {row['settings']} settings)"
            for name, row in zip(searches.places(rows, spent), rows_of(rows), strict=True)
        ]
        small = "The budget may be too small, the best was still rising by more than the margin when it ended"
        return [f"{small}: {listed(words, MAX_NAMES)}."] if words else []


def figure(
    data: pd.DataFrame, shown: dict[str, list[Entry]], label: str, known: Metric | None = None
) -> Figure:
    """In each panel the baseline and the levels of one factor.

    `data` is `analysis.tuning.budget_curves` of one task. An expected best is a line, the best of the first n a step.
    """
    result, found = axes(shown)
    limits = padded(data[["best", "low"]].min(axis=None), data[["best", "high"]].max(axis=None), known=known)
    for title, ax in found.items():
        of = looks(shown[title])
        lines(ax, data, of, "n", "best", drawstyle="steps-post" if data["low"].isna().all() else "default")
        ax.set(ylim=limits)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        legend(ax, [look for variant, look in of.items() if variant in set(data["variant"])], beside(found))
        if known:
            references(ax, known, "y")
    result.supxlabel("settings tried", size=style.SMALL)
    result.supylabel(label, size=style.SMALL)
    return result
