"""Pruners: when a search gives up a setting early. Optuna's, by name, with their own parameters.

A part of the slot `pruner`. What a pruner compares a setting with are the settings of earlier batches, so that it
decides alike whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from ablate.registry import PartConfig, register

if TYPE_CHECKING:
    from optuna.pruners import BasePruner


class Pruner:
    """Base of all pruners."""

    reads: ClassVar[Literal["nothing", "steps", "seeds"]] = "steps"
    """What it decides by: validation results at the steps of the first tuning seed, or results of one seed after the
    other."""

    def __init__(self, config: PartConfig) -> None:
        self.config = config

    def check(self, *, objectives: int, reports: Sequence[int] | None, seeds: int, trials: int) -> None:
        """Raises `Invalid` when it could never prune."""

    def build(self, last_step: int) -> BasePruner:
        """Optuna's pruner, for trials that report for the last time at `last_step`."""
        raise NotImplementedError


@register("pruner", "none")
class NoPruner(Pruner):
    """Every setting is trained to its end, on every seed."""

    reads = "nothing"
