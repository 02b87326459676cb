"""The contract of readers: each knows one format by its content, and turns it into a tidy table of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ablate.core.ending import Ending
from ablate.runs.mean_columns import MeanColumns
from ablate.runs.options import AnalysisOptions


@dataclass(frozen=True)
class RunsFound:
    """Runs as a format has them: what a reader returns.

    - table: a row a run, or a step or an example of a run. Cells are text, empty where there is no value, and `n/a`
      where a row says itself that a metric has none; a setting of
      a run has the name `config.NAME`, a measured number its own name. The index says where each row was read, and no
      two rows have the same place.
    - kind: what was read, in words: `a W&B runs export`.
    - roles: role (variant, seed, task, example, status, step) → the columns that have it, as far as the format says.
    - metrics: the columns that are measured, as far as the format says.
    - notes: what the reader was not sure of, in sentences without full stops.
    - endings: place of a row → how its run ended, as far as the format keeps that beside the table; of what stands in
      a column, `roles` names it under `status`.
    - content: a digest of each run or row, the same whatever the call asks; empty where the rows of the table are.
    - declared: options of the call as the runs declare them, by name; they hold where the call does not say otherwise.
    - rows_are_runs: whether the format says that each row is a run, whatever its columns are called.
    - last_steps: place of a row → the last step of its run, as far as the format says it; empty where the column of
      steps has all.
    - means: the metrics that have spreads beside their values, so that a row may be the mean of several runs.
    - parts: the columns that tell rows of one run apart which are no steps of it, such as the split of the data.
    """

    table: pd.DataFrame
    kind: str
    roles: dict[str, list[str]] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    endings: Mapping[str, Ending] = field(default_factory=dict)
    content: Sequence[str] = ()
    rows_are_runs: bool = False
    last_steps: Mapping[str, float] = field(default_factory=dict)
    means: Sequence[MeanColumns] = ()
    parts: Sequence[str] = ()
    declared: Mapping[str, Any] = field(default_factory=dict)


class Reader(ABC):
    """Reads one format."""

    looks_for: ClassVar[str]
    """What it looks for, in words, for the message on a path that no reader knows."""

    @abstractmethod
    def knows(self, path: Path, options: AnalysisOptions) -> bool:
        """Returns whether a path, which exists, has this format, by its content."""

    @abstractmethod
    def read(self, path: Path, options: AnalysisOptions) -> RunsFound:
        """Returns the runs of a path that it knows. Raises `AblateError` for what cannot be read."""
