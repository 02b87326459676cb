"""The contract of engines: where trials run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ablate.core.events import Hear
from ablate.core.trial import Trial


class Engine(Protocol):
    """Runs trials for the driver. A supervisor outside it handles attempts and time limits."""

    def run(self, trials: Sequence[Trial], hear: Hear) -> None:
        """Runs all `trials`, in order, as workers become free, and returns when each is `Ended` or `Lost`.

        Every event goes through `hear`, in the order of each trial's steps; a prunable trial waits at each report for
        the answer. An exception of `hear` ends the call.
        """

    def stop(self, trial_id: str, why: str) -> None:
        """Ends a running trial by force, where that is possible: it is `Lost`, with `why` as its fate."""

    def close(self) -> None:
        """Ends all work at once."""
