"""Tasks that ask for a number."""

from collections.abc import Mapping

from torch import Tensor
from torch.nn import functional

from ablate.core.metric import Metric
from ablate.tasks.task import Batch, Task, Topology


class Regression(Task):
    """A task that asks for one number, `num_outputs: 1`: logits (B, 1), targets (B), float32."""

    topologies: tuple[Topology, ...] = ("encoder", "decoder")

    def set_spread(self, variance: float, least: float = 0.0, solved: float | None = None) -> None:
        """Sets `metrics` (`r2`, `loss`) and `chance_loss`, from the variance of the targets and the least error
        that is possible.

        variance: the variance of the targets, which is the mean squared error of always answering their mean.
        least: the mean squared error of the best answer that there is.
        solved: the share of the variance at which the task counts as learned.
        """
        self.chance_loss = variance
        self.metrics = {
            "r2": Metric("max", floor=0.0, ceiling=1 - least / variance, solved=solved),
            "loss": Metric("min", floor=variance, ceiling=least),
        }

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Returns the mean squared error of a batch, a scalar, from logits (B, 1)."""
        return functional.mse_loss(logits.squeeze(-1), batch.targets)

    def measure(self, logits: Tensor, batch: Batch) -> Mapping[str, Tensor]:
        """Returns metrics by name, each (B): `loss` is the squared error; `r2` is 1 − squared error / variance of the
        targets (`chance_loss`).

        `r2` is the share of the variance that is explained. An example's share may be far below 0; the mean of many is
        between 0 and 1 wherever something was learned.
        """
        errors = (logits.squeeze(-1) - batch.targets).square()
        return {"r2": 1 - errors / self.chance_loss, "loss": errors}
