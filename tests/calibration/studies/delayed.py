"""ReLU that takes longer than it needs."""

import time

from pydantic import PositiveFloat
from torch import Tensor

from ablate import PartConfig, register
from ablate.components.activations import ReLU
from ablate.components.sizes import Sizes


@register("activation", "delayed")
class Delayed(ReLU):
    """max(0, x), after a wait."""

    class Config(PartConfig):
        """How long it waits."""

        seconds: PositiveFloat = 1e-4
        "Of each call."

    def __init__(self, config: Config, sizes: Sizes) -> None:
        super().__init__(config, sizes)
        self.seconds = config.seconds

    def forward(self, x: Tensor, gate: Tensor | None = None) -> Tensor:
        """See `Activation.forward`."""
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            pass
        return super().forward(x, gate)
