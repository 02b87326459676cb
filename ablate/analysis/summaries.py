"""Means and deviations of runs that nobody has, by variant, task and metric."""

from __future__ import annotations

from collections.abc import Iterator

from ablate.analysis.paired import mean_of, sd_of
from ablate.core.facts import Evidence
from ablate.core.summary import SUMMARIES, Summary


def summaries_of(evidence: Evidence) -> list[Summary]:
    """Returns the summaries of the evidence; none where it has the runs themselves."""
    if evidence.facts.replication.has_runs:
        return []
    if SUMMARIES in evidence.frames:
        return [Summary(**row) for row in evidence.frames[SUMMARIES].to_dict("records")]
    return [*_of_stand_ins(evidence)]


def _of_stand_ins(evidence: Evidence) -> Iterator[Summary]:
    """Yields the summaries of a folder of an older version, which has trials with their means and deviations."""
    completed = evidence.trials[evidence.trials["status"] == "completed"]
    for task in evidence.facts.tasks:
        of_task = completed[completed["task"] == task.name]
        for variant, trials in of_task.groupby("variant", sort=False):
            for metric in task.metrics:
                values = trials[metric].dropna().to_numpy(float)
                if len(values):
                    yield Summary(
                        str(variant), task.name, metric, mean_of(values), sd_of(values), len(values)
                    )
