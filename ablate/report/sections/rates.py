"""The loss of every variant at each learning rate."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.sensitivity import rate_curves
from ablate.core.stress_facts import StressFacts
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
        return report_data.facts.of(StressFacts) is not None

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        facts = report_data.facts
        stress = facts.of(StressFacts)
        if stress is None:
            return
        every = rate_curves(report_data.evidence)
        facets = Facets.of(facts)
        for task, end, of in by_task(facts):
            data = every[every["task"] == task.name]
            if data.empty:
                continue
            is_broken = data["diverged"].any()
            caption = paragraph(
                message("figures.rates", stress.path),
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
