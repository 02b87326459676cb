"""Learning curves: the primary metric and the training loss by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from ablate.core.facts import Evidence
from ablate.core.metric import validated
from ablate.core.spelling import as_sentence, spelled
from ablate.report.figures.curves import learning_curves
from ablate.report.figures.facets import Facets
from ablate.report.section import Block, Picture, ReportData, Section, by_task, slug
from ablate.report.words import message, paragraph

TRAIN_LOSS = "train_loss"
MAX_POINTS = 60
"""The steps that a curve is drawn with; a longer one is averaged over equal windows."""


class Curves(
    Section,
    title="Learning curves",
    inside="the metric and the training loss, by step",
):
    """A figure a task and metric."""

    def inside_of(self, report_data: ReportData) -> str:
        """Returns what is drawn: code that is not ours need not report a training loss."""
        has_loss = TRAIN_LOSS in {*report_data.evidence.curves["metric"]}
        return super().inside_of(report_data) if has_loss else message("figures.curves_inside")

    def blocks(self, report_data: ReportData) -> Iterator[Block]:
        evidence = report_data.evidence
        facts = report_data.facts
        facets = Facets.of(facts)
        for task, end, of in by_task(facts):
            if facts.metric not in task.metrics:
                continue
            for metric in curve_metrics(evidence):
                data = curves(evidence, task.name, metric)
                if data["step"].nunique() < 2:
                    continue  # One point is no curve.
                label = spelled(metric)
                is_broken = (data["status"] != "completed").any()
                caption = paragraph(
                    message("figures.curves", metric),
                    message("figures.broken_curves") if is_broken else "",
                    facets.left_out(facts),
                )
                is_primary = metric in (facts.metric, validated(facts.metric))
                yield Picture(
                    f"{slug(metric)}{end}",
                    f"{as_sentence(label)}{of}",
                    caption,
                    message("figures.curves_alt", metric, of, len(facets.members)),
                    data,
                    learning_curves,
                    (facets, label, task.metrics[facts.metric] if is_primary else None),
                )


def curve_metrics(evidence: Evidence) -> list[str]:
    """Returns the curves to draw: the primary metric (on validation data, if measured there) and the training loss."""
    measured = set(evidence.curves["metric"])
    metric = evidence.facts.metric
    primary = [name for name in (validated(metric), metric) if name in measured]
    return primary[:1] + [name for name in (TRAIN_LOSS,) if name in measured]


def curves(evidence: Evidence, task: str, metric: str) -> pd.DataFrame:
    """Returns a row a trial and step with a finite value: id, variant, seed, status, step, value.

    Of more than `MAX_POINTS` steps, equal windows are averaged.
    """
    trials = evidence.trials.loc[evidence.trials["task"] == task, ["id", "variant", "seed", "status"]]
    points = evidence.curves[evidence.curves["metric"] == metric].drop(columns="metric")
    points = trials.merge(points, on="id")
    points = points[np.isfinite(points["value"].astype(float))]
    steps_a_window = -(-points["step"].nunique() // MAX_POINTS)
    if steps_a_window <= 1:
        return points
    # A window is drawn at its last step, so that no curve begins before it was measured.
    window = (points["step"].rank(method="dense") - 1) // steps_a_window
    points = points.assign(step=points.groupby(window)["step"].transform("max"))
    return points.groupby([*trials.columns, "step"], as_index=False)["value"].mean()
