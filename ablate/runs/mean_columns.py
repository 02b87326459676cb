"""Columns of means beside their spreads and numbers of runs, as a table writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ablate.base.errors import Problem

Kind = Literal["deviation", "error", "variance", "interval"]


@dataclass(frozen=True)
class MeanColumns:
    """A metric of which a table has means and, beside them, spreads."""

    metric: str
    """The name of the metric: `acc` of `acc_mean` and `acc_std`."""
    mean: str
    """The column with the means."""
    spread: str
    """The column with the spreads; of cells such as `91.0 ± 0.4` that of the means."""
    kind: Kind
    count: str
    """The column with the numbers of runs, or the header that says it; empty where nothing does."""
    spreads: Mapping[str, str]
    """Place of a row → its spread, as it is written; empty text where there is none."""
    counts: Mapping[str, str]
    """Place of a row → over how many runs its mean is, as it is written; of no row where nothing says it."""
    mistake: Problem | None = None
    """Why these means cannot be judged as means of several runs; None where they can."""

    @property
    def is_in_cells(self) -> bool:
        """True where means and spreads stand in one column, as `91.0 ± 0.4`."""
        return self.mean == self.spread

    @property
    def beside(self) -> Sequence[str]:
        """The columns that are no metric: of spreads, and of numbers of runs."""
        return [name for name in (self.spread, self.count) if name != self.mean]
