"""The runs of `stress:`: every variant on a grid of learning rates, and the loss that it reaches at each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ablate.analysis.paired import Flags, Floats, mean_interval
from ablate.core.evidence import Evidence
from ablate.core.facts import Facts
from ablate.core.record import lost_to_its_variant


@dataclass(frozen=True)
class Grid:
    """Of one variant on one task."""

    reached: Floats
    """The held-out loss of each run, shape (num_seeds, num_rates): infinite where it diverged or was lost to its
    variant, NaN where it has no outcome."""
    initial: Floats
    "The loss before the first step, which is the same at every learning rate; shape (num_seeds,), NaN where unknown."

    @property
    def losses(self) -> Floats:
        """`reached`, at most the initial loss, with which a run that diverged counts."""
        return np.minimum(self.reached, self.initial[:, None])

    @cached_property
    def diverged(self) -> Flags:
        """Whether a run diverged; shape (num_seeds, num_rates)."""
        return np.isinf(self.reached)

    @property
    def untrained(self) -> Flags:
        """Whether every run of a seed has an outcome, and none a loss below the initial one; shape (num_seeds,)."""
        start = np.where(np.isnan(self.initial), np.inf, self.initial)[:, None]
        return np.asarray((self.reached >= start).all(axis=1))


def grids(evidence: Evidence) -> dict[tuple[str, str], Grid]:
    """Variant and task → its runs, seeds in the order of the plan and learning rates in that of the study."""
    facts, rows = evidence.facts, evidence.frame("stress", ())
    rates = {rate: i for i, rate in enumerate(rates_of(facts))}
    seeds = {seed: i for i, seed in enumerate(facts.seeds)}
    found = {
        (variant.name, task.name): Grid(
            np.full((len(seeds), len(rates)), np.nan), np.full(len(seeds), np.nan)
        )
        for variant in facts.variants
        for task in facts.tasks
    }
    for row in rows.to_dict("records"):
        grid, seed, rate = (
            found.get((row["variant"], row["task"])),
            seeds.get(row["seed"]),
            rates.get(row["value"]),
        )
        if grid is None or seed is None or rate is None:
            continue
        status, loss, initial = row["status"], row["test_loss"], row["initial_loss"]
        if status == "diverged" or lost_to_its_variant(status, str(row.get("reason") or "")):
            grid.reached[seed, rate] = math.inf
        elif status == "completed":
            grid.reached[seed, rate] = math.inf if pd.isna(loss) else loss
        if not pd.isna(initial) and math.isfinite(initial):
            grid.initial[seed] = initial
    return found


def rate_curves(evidence: Evidence) -> pd.DataFrame:
    """One row a variant, task and learning rate at which a run has an outcome, in the order of the study.

    Columns: variant, task, value (the learning rate), loss (the mean over seeds, as `Grid.losses`), low, high (its 95 %
    interval; NaN below two seeds), n, diverged (the number of runs that did).
    """
    rates = rates_of(evidence.facts)
    rows = []
    for (variant, task), grid in grids(evidence).items():
        for value, losses, diverged in zip(rates, grid.losses.T, grid.diverged.T, strict=True):
            known = losses[~np.isnan(losses)]
            if len(known):
                mean, (low, high) = mean_interval(known)
                rows.append((variant, task, value, mean, low, high, len(known), int(diverged.sum())))
    return pd.DataFrame(
        rows, columns=["variant", "task", "value", "loss", "low", "high", "n", "diverged"]
    ).sort_values(["task", "value"], kind="stable", ignore_index=True)


def rates_of(facts: Facts) -> Sequence[float]:
    """The learning rates of the grid, rising; none where there is no grid."""
    return next(iter(facts.features.get("stress", {}).values()), [])
