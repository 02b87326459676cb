"""The loss of every variant at each learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.sensitivity import rate_curves, rates_of
from ablate.report.figures.facets import Facets
from ablate.report.figures.rates import loss_by_rate
from ablate.report.section import Block, Picture, ReportData, Section, by_task
from ablate.report.words import message, paragraph


class Rates(
    Section,
    title="Learning rates",
    inside="the loss of each variant over the grid of learning rates",
):
    """A figure a task."""

    def applies(self, report_data: ReportData) -> bool:
        return bool(rates_of(report_data.facts))

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        path = next(iter(facts.features.get("stress", ())), "")
        every = rate_curves(report_data.evidence)
        facets = Facets.of(facts)
        for task, end, of in by_task(facts):
            data = every[every["task"] == task.name]
            if data.empty:
                continue
            is_broken = data["diverged"].any()
            caption = paragraph(
                message("figures.rates", path),
                message("figures.broken_rates") if is_broken else "",
                facets.left_out(facts),
            )
            yield Picture(
                f"learning-rates{end}",
                f"Loss by learning rate{of}",
                caption,
                message("figures.rates_alt", of, len(facets.members)),
                data,
                loss_by_rate,
                (facets, "learning rate, log scale"),
            )
