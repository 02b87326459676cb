"""Runs that nobody has, known by their mean, their standard deviation and their number."""

from dataclasses import dataclass

SUMMARIES = "summaries"
"""The frame of such rows, in place of trials."""


@dataclass(frozen=True)
class Summary:
    """The runs of a variant on one task, by one metric; also a row of the frame `SUMMARIES`."""

    variant: str
    task: str
    metric: str
    mean: float
    sd: float
    """The standard deviation of a sample, with n − 1, in the units of the metric."""
    n: int
