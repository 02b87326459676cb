"""AdamW that takes longer than it needs."""

import time

from pydantic import PositiveFloat

from ablate import register
from ablate.training.optimizers import AdamW


@register("optimizer", "delayed")
class Delayed(AdamW):
    """AdamW, after a wait."""

    class Config(AdamW.Config):
        """How long it waits."""

        seconds: PositiveFloat = 1e-4
        "Of each step."

    config: Config

    def step(self, lr: float) -> None:
        """See `Optimizer.step`."""
        end = time.perf_counter() + self.config.seconds
        while time.perf_counter() < end:
            pass
        super().step(lr)
